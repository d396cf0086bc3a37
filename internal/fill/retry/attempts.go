package retry

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// ErrCommitUnknown is wrapped in the error of a transaction that may be stored. Package
// keyfill describes it under the same name.
var ErrCommitUnknown = anchor.New("commit-unknown", "keyfill: the COMMIT got no answer, and the transaction may be stored: look for its rows before you run it again")

// ErrNotOurs is returned for a database that was not opened through keyfill.
var ErrNotOurs = anchor.Last("mount", "keyfill: the database was not opened through keyfill, or is wrapped again: take the Mount from Mounts, or the Connector")

// RunTx calls f in a transaction and commits it. After a transient error it does that
// again, at most attempts times in all.
func RunTx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, attempts int, f func(*sql.Tx) error) error {
	var a *execution.Attempt
	for tries := 1; ; tries++ {
		a = execution.NextAttempt(a)
		again, err := run(ctx, a, db, opts, f)
		if !again || tries == attempts || !session.Pause(ctx, tries-1) {
			return err
		}
	}
}

// run makes one attempt. again reports that the attempt has certainly stored nothing and
// may succeed when it is repeated.
func run(ctx context.Context, a *execution.Attempt, db *sql.DB, opts *sql.TxOptions, f func(*sql.Tx) error) (again bool, err error) {
	tx, err := db.BeginTx(context.WithValue(ctx, execution.AttemptKey{}, a), opts)
	if err != nil {
		return a.DB != nil && a.IsTransient(err), err
	}
	ends := false
	defer func() {
		if !ends { // f panics
			_ = tx.Rollback()
		}
	}()
	if a.DB == nil {
		return false, ErrNotOurs
	}
	err = f(tx)
	ends = true
	if err != nil {
		rolledBack := tx.Rollback()
		return ctx.Err() == nil && a.State.Load() == execution.AttemptRolledBack && !a.Parts && isOver(a, err, rolledBack), err
	}
	return commit(ctx, a, tx)
}

// commit commits the attempt. If the engine does not answer, commit finds out whether
// the transaction was stored.
func commit(ctx context.Context, a *execution.Attempt, tx *sql.Tx) (again bool, err error) {
	err = tx.Commit()
	switch a.State.Load() {
	case execution.AttemptCommitted: // f itself may have committed the transaction
		return false, nil
	case execution.AttemptCommitting:
	default:
		// No COMMIT was sent: the context has ended, f has rolled back the transaction, or
		// its connection was lost.
		return ctx.Err() == nil && !a.Parts && isLost(err, err), err
	}
	if a.IsUndone(err) {
		return a.IsTransient(err), err
	}
	switch fateOfCommit(ctx, a) {
	case commitStored:
		return false, nil
	case commitUndone:
		return ctx.Err() == nil, err
	}
	return false, anchor.Lastf("commit-unknown", "%w: %w", ErrCommitUnknown, err)
}

// isOver reports whether a transaction whose function has failed stores nothing and may
// succeed when it is repeated. rolledBack is the error of its Rollback.
func isOver(a *execution.Attempt, err, rolledBack error) bool {
	if a.DB.IsUndone(err) {
		return true // some engines have ended the transaction themselves, and refuse the ROLLBACK
	}
	ended := rolledBack == nil || errors.Is(rolledBack, sql.ErrTxDone)
	return ended && a.IsTransient(err) || isLost(err, rolledBack)
}

// isLost reports whether err means that the connection of a transaction was lost. end
// is the error of the transaction's end: if the server has answered it, the connection
// was not lost.
func isLost(err, end error) bool {
	if end == nil || sqlcode.Answered(end) || errors.Is(end, sql.ErrTxDone) {
		return false
	}
	code, _ := sqlcode.Of(err)
	return code.Lost || sqlcode.IsNetwork(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, end) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
