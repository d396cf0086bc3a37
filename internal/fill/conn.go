package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// BeginTx begins a transaction. If the context has an [execution.Attempt], the
// transaction is recorded in it.
func (c *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	a := execution.AttemptOf(ctx)
	if a == nil {
		return c.Conn.BeginTx(ctx, opts)
	}
	a.DB, a.Other = c.DB, c.DB.Detached // Other is true in a test without a database: there the keys do not prove which rows are stored
	if !a.Other {
		at, err := c.PlaceNow(ctx)
		if a.Other = err != nil; err == nil {
			a.Place = at.Answer
			c.DB.Numbered.Ask(ctx, &c.Conn)
		}
	}
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err == nil {
		c.Attempt, a.Ends = a, c.Ends
		a.Saved = c.DB.Dialect().Transactions.Probe != "" && !c.DB.Detached && c.ExecSavepoint(ctx, c.DB.Dialect().Transactions.Set, execution.AttemptSavepoint) == nil
	}
	return tx, err
}

// Conn is a connection of keyfill, below the interceptor of the driver's calls.
type Conn struct{ execution.Conn }

// Begin begins a transaction for a caller without a context.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// Close closes the connection, and counts the rows that the caller has not closed.
func (c *Conn) Close() error {
	for len(c.Unread) > 0 {
		outcome.CountUnread(c.Unread[0], func(*plans.Insert) outcome.Verdict { return outcome.Verdict{Cause: report.CauseUnended} })
	}
	return c.Conn.Close()
}

// ResetSession is called before the pool gives the connection to another caller. It
// discards parked executions (kept after the driver answered driver.ErrSkip), which
// belong to the last caller.
func (c *Conn) ResetSession(ctx context.Context) error {
	c.Parked.Clear()
	c.Recorded.Clear()
	if c.Numbers.Last != nil {
		c.Numbers.Last.Pooled = true
	}
	return c.Conn.ResetSession(ctx)
}
