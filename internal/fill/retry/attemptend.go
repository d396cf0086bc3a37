package retry

import (
	"context"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// errAttemptEnded is returned if the engine has ended the transaction of an attempt at
// an error that the caller's function has not returned: a part of the transaction is
// gone, and another part may be stored.
var errAttemptEnded = anchor.Last("transaction-ended", "keyfill: an error had ended the transaction before its COMMIT: look what was stored since, and return such errors")

// beforeCommit proves that the transaction is open, if the engine may have ended it
// silently, and queries its number, if the engine can later report the outcome of a
// transaction by its number. If it returns an error, nothing must be committed: the
// transaction has ended, or its connection was lost.
func beforeCommit(ctx context.Context, a *execution.Attempt, c *execution.Conn) error {
	d := c.DB.Dialect()
	if a.Saved && !a.Parts {
		err := c.ExecSavepoint(ctx, d.Transactions.Probe, execution.AttemptSavepoint)
		switch {
		case err == nil:
		case sqlcode.Is(err, d.Transactions.Ended):
			a.Parts = true
			return errAttemptEnded
		case !sqlcode.Answered(err):
			return err
		}
	}
	a.Other = a.Other || c.Ends != a.Ends || c.Tx != session.Inside
	if !a.Other && len(a.Keyed) > 0 && c.DB.Numbered.IsTold() {
		row, err := c.QueryRow(ctx, d.Transactions.Number, nil)
		switch {
		case err == nil:
			a.Number = session.TextOf(row[0])
		case !sqlcode.Answered(err):
			return err
		}
	}
	a.State.Store(execution.AttemptCommitting)
	return nil
}
