package fill

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// ErrCommitUnknown is in the error of a transaction that may be stored: package keyfill
// describes it under the same name.
var ErrCommitUnknown = anchor.New("commit-unknown", "keyfill: the COMMIT got no answer, and the transaction may be stored: look for its rows before you run it again")

// ErrNotOurs is returned for a database that was not opened through keyfill.
var ErrNotOurs = anchor.Last("mount", "keyfill: the database was not opened through keyfill, or another wrapper is around it: take the Mount from Mounts by the name, or keep the Mount of the Connector")

// RunTx runs a function in a transaction and commits it, and makes that again after an
// error that says that the transaction may succeed then, so many times at most.
func RunTx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, attempts int, f func(*sql.Tx) error) error {
	var a *attempt
	for tries := 1; ; tries++ {
		a = nextAttempt(a)
		again, err := a.run(ctx, db, opts, f)
		if !again || tries == attempts || !session.Pause(ctx, tries-1) {
			return err
		}
	}
}

// run makes the attempt once, and reports whether it has surely stored nothing and may
// succeed when it is made again.
func (a *attempt) run(ctx context.Context, db *sql.DB, opts *sql.TxOptions, f func(*sql.Tx) error) (again bool, err error) {
	tx, err := db.BeginTx(context.WithValue(ctx, attemptKey{}, a), opts)
	if err != nil {
		return a.db != nil && a.isTransient(err), err
	}
	ends := false
	defer func() {
		if !ends { // f panics
			_ = tx.Rollback()
		}
	}()
	if a.db == nil {
		return false, ErrNotOurs
	}
	err = f(tx)
	ends = true
	if err != nil {
		rolledBack := tx.Rollback()
		return ctx.Err() == nil && a.state.Load() == attemptRolledBack && !a.parts && a.isOver(err, rolledBack), err
	}
	return a.commit(ctx, tx)
}

// commit commits the attempt, and answers for the engine where no answer comes.
func (a *attempt) commit(ctx context.Context, tx *sql.Tx) (again bool, err error) {
	err = tx.Commit()
	switch a.state.Load() {
	case attemptCommitted: // if need be by f
		return false, nil
	case attemptCommitting:
	default:
		// The context has ended, or f has rolled it back, or its connection was lost.
		return ctx.Err() == nil && !a.parts && isLost(err, err), err
	}
	if a.isUndone(err) {
		return a.isTransient(err), err
	}
	switch a.fate(ctx) {
	case commitStored:
		return false, nil
	case commitUndone:
		return ctx.Err() == nil, err
	}
	return false, anchor.Lastf("commit-unknown", "%w: %w", ErrCommitUnknown, err)
}

// isTransient reports whether a transaction that met an error of the engine may succeed
// when it is made again.
func (a *attempt) isTransient(err error) bool {
	return sqlcode.ClassOf(a.db.Dialect(), err).Transient()
}

// isOver reports whether a transaction whose function has failed stores nothing, and may
// succeed when it is made again. rolledBack is the error of its Rollback.
func (a *attempt) isOver(err, rolledBack error) bool {
	if a.db.IsUndone(err) {
		return true // some engines have ended it themselves, and refuse the ROLLBACK
	}
	ended := rolledBack == nil || errors.Is(rolledBack, sql.ErrTxDone)
	return ended && a.isTransient(err) || isLost(err, rolledBack)
}

// isLost reports whether an error says that the connection of a transaction was lost,
// given the error of its end: a connection that answers is there.
func isLost(err, end error) bool {
	if end == nil || sqlcode.Answered(end) || errors.Is(end, sql.ErrTxDone) {
		return false
	}
	code, _ := sqlcode.Of(err)
	return code.Lost || sqlcode.IsNetwork(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, end) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
