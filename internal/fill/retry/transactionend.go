package retry

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// transactionEnd is called before and after the end of each transaction that BeginTx
// has begun on a connection.
type transactionEnd struct{ conn *execution.Conn }

// Connect opens c with the driver, and queries the facts that its use needs.
func Connect(ctx context.Context, c *execution.Conn, db *execution.Database, parent driver.Connector) error {
	err := c.Connect(ctx, db, parent)
	c.OnEnd = transactionEnd{c}
	return err
}

// BeforeEnd is called before the Commit or Rollback of a transaction.
func (e transactionEnd) BeforeEnd(ctx context.Context, commits bool) error {
	c, o := e.conn, &e.conn.Recorded
	c.Drawn.BeforeCommit(&c.Session)
	if a := c.Attempt; a != nil {
		a.BeforeEnd(ctx, c)
		if commits {
			if err := beforeCommit(ctx, a, c); err != nil {
				return err
			}
		}
	}
	if len(o.Executions) == 0 {
		return nil
	}
	o.Whole = o.Ends == c.Ends && c.Tx == session.Inside
	if o.Whole && !commits {
		ctx, cancel := execution.Aside(ctx)
		defer cancel()
		if !c.IsProvenOpen(ctx) {
			dropStored(ctx, c, o)
		}
	}
	return nil
}

// dropStored removes executions that may be stored from o, if the engine has ended the
// transaction before: it has rolled back what was sent until then, and has committed
// each later statement.
func dropStored(ctx context.Context, c *execution.Conn, o *execution.Recorded) {
	asks := c.Tx == session.Outside && !c.DB.Detached
	o.Executions = slices.DeleteFunc(o.Executions, func(x *execution.Execution) bool {
		if !asks {
			return true
		}
		q, ok := newKeyInquiry(ctx, x, c)
		if !ok || q.Plain(ctx, true) != nil {
			return true
		}
		return slices.ContainsFunc(q.Found, func(o execution.Outcome) bool { return o != execution.OutcomeNotStored })
	})
}

// AfterEnd is called with the driver's answer to the Commit or Rollback. If the
// transaction has stored nothing, its executions are kept, so that a repetition gets
// their keys.
func (e transactionEnd) AfterEnd(ctx context.Context, commits bool, err error) {
	c, o := e.conn, &e.conn.Recorded
	c.Drawn.AfterCommit(commits && err == nil)
	c.Numbers.Last = nil // a deferred trigger may have drawn a number, which the session now remembers instead
	if a := c.Attempt; a != nil {
		c.Attempt = nil
		a.AfterEnd(ctx, c, commits, err)
	}
	undone := err == nil || !sqlcode.Answered(err) // a lost connection has sent no COMMIT, so that the transaction has stored nothing
	if commits {
		undone = c.DB.IsUndone(err)
	}
	if o.Whole && undone {
		for _, x := range o.Executions {
			x.Recording.Recorder.Lose(x)
		}
	}
	o.Whole = false
	o.Clear()
}
