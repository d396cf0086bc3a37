package fill

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// errAttemptEnded is the error of an attempt whose transaction the engine has ended at an
// error that the function has not returned: a part of it is gone, and another part may be
// stored.
var errAttemptEnded = anchor.Last("transaction-ended", "keyfill: the engine has ended the transaction before its COMMIT, at an error such as a deadlock, and what was sent since may be stored: look for it, and return such an error from the function")

// beforeEnd notes whether a text has ended the transaction before. Not each text that may
// have done so has, such as DDL that has failed, and joined keys leave it unknown behind a
// deadlock.
func (a *attempt) beforeEnd(ctx context.Context, c *connection) {
	a.parts = c.Ends != a.ends && c.Tx != session.Unknown
	if a.parts && a.saved {
		ctx, cancel := aside(ctx)
		defer cancel()
		a.saved = false
		a.parts = c.ExecSavepoint(ctx, c.DB.Dialect().Transactions.Probe, attemptSavepoint) != nil
	}
}

// beforeCommit proves that the transaction is open, where the engine may have ended it
// without a word, and asks for its number, where the engine tells by it what became of the
// transaction. After an error nothing may be committed: the transaction has ended, or its
// connection was lost.
func (a *attempt) beforeCommit(ctx context.Context, c *connection) error {
	d := c.DB.Dialect()
	if a.saved && !a.parts {
		err := c.ExecSavepoint(ctx, d.Transactions.Probe, attemptSavepoint)
		switch {
		case err == nil:
		case sqlcode.Is(err, d.Transactions.Ended):
			a.parts = true
			return errAttemptEnded
		case !sqlcode.Answered(err):
			return err
		}
	}
	a.other = a.other || c.Ends != a.ends || c.Tx != session.Inside
	if !a.other && len(a.keyed) > 0 && c.DB.numbered.isTold() {
		row, err := c.QueryRow(ctx, d.Transactions.Number, nil)
		switch {
		case err == nil:
			a.number = session.TextOf(row[0])
		case !sqlcode.Answered(err):
			return err
		}
	}
	a.state.Store(attemptCommitting)
	return nil
}

// afterEnd notes the driver's answer to the Commit or Rollback. A transaction that a Commit
// has left open is rolled back: SQLite leaves it so where the database is busy.
//
// PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which a statement has
// failed, of which drivers make errors of their own. A connection that is in use behind
// such an error has read the answer.
func (a *attempt) afterEnd(ctx context.Context, c *connection, commits bool, err error) {
	aborts := c.DB.Dialect().ErrorsAbort
	switch {
	case !commits:
		a.state.Store(attemptRolledBack)
	case err == nil:
		a.state.Store(attemptCommitted)
	case sqlcode.Answered(err) && !aborts:
		c.EndFailed(ctx, err)
	case aborts && ctx.Err() == nil && !sqlcode.Answered(err) && !isBadConn(err) && !sqlcode.IsNetwork(err) && !c.DB.Detached:
		ctx, cancel := aside(ctx)
		defer cancel()
		_, asked := c.QueryRow(ctx, "SELECT 1", nil)
		a.undone = asked == nil
	}
}

// isUndone reports whether the error of a COMMIT is the engine's word that it has stored
// nothing.
func (a *attempt) isUndone(err error) bool {
	if a.undone {
		return true
	}
	d := a.db.Dialect()
	class := sqlcode.ClassOf(d, err)
	if !sqlcode.Answered(err) || class == dialect.ErrorPassing {
		return false
	}
	return d.ErrorsAbort || class.Transient() || class.Final() || class == dialect.ErrorDuplicate
}
