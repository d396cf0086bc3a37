package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// A program that is told of a deadlock, or of a serialization that has failed, rolls its
// transaction back and sends all of it again. What was sent under a recorder in a
// transaction that has surely stored nothing waits for that, as what has failed does.

// ongoing are the executions under recorders that were sent in the transaction that is
// open on a connection, in their order.
type ongoing struct {
	executions []*execution
	ends       uint64 // session.Conn.Ends since the first of them
	whole      bool   // no event but the Commit or Rollback of now can have stored them
}

// noteSent keeps an execution that was sent, with the driver's answer, for the retry of
// its transaction.
func (x *execution) noteSent(err error) {
	c := x.conn
	c.attempt.note(x, err)
	if x.recording.recorder == nil || c.Tx != session.Inside || !x.isRepeatable() || err != nil && !(ending{x, err}).isUndone() {
		return
	}
	o := &c.ongoing
	if o.ends != c.Ends {
		o.clear()
		o.ends = c.Ends
	}
	if len(o.executions) < maxLost && !slices.Contains(o.executions, x) {
		x.args = ownArgs(x.args)
		o.executions = append(o.executions, x)
	}
}

func (o *ongoing) clear() {
	clear(o.executions)
	o.executions = o.executions[:0]
}

// transactionEnd is told of the end of each transaction of BeginTx on a connection.
type transactionEnd struct{ conn *connection }

// Connect opens c by the driver, and asks it what has to be known before it is used.
func Connect(ctx context.Context, c *connection, db *database, parent driver.Connector) error {
	err := c.connect(ctx, db, parent)
	c.OnEnd = transactionEnd{c}
	return err
}

// BeforeEnd is called before a transaction of BeginTx gets its Commit or Rollback.
func (e transactionEnd) BeforeEnd(ctx context.Context, commits bool) error {
	c, o := e.conn, &e.conn.ongoing
	c.Drawn.BeforeCommit(&c.Conn)
	if a := c.attempt; a != nil {
		a.beforeEnd(ctx, c)
		if commits {
			if err := a.beforeCommit(ctx, c); err != nil {
				return err
			}
		}
	}
	if len(o.executions) == 0 {
		return nil
	}
	o.whole = o.ends == c.Ends && c.Tx == session.Inside
	if o.whole && !commits {
		ctx, cancel := aside(ctx)
		defer cancel()
		if !c.IsProvenOpen(ctx) {
			dropStored(ctx, c, o)
		}
	}
	return nil
}

// dropStored drops what may be stored, where the engine has ended the transaction before:
// it has undone what was sent until then, and has committed by itself what came behind.
func dropStored(ctx context.Context, c *connection, o *ongoing) {
	asks := c.Tx == session.Outside && !c.DB.Detached
	o.executions = slices.DeleteFunc(o.executions, func(x *execution) bool {
		if !asks {
			return true
		}
		q, ok := newKeyInquiry(ctx, x, c)
		if !ok || q.plain(ctx, true) != nil {
			return true
		}
		return slices.ContainsFunc(q.found, func(o outcome) bool { return o != outcomeNotStored })
	})
}

// AfterEnd is called with the driver's answer to the Commit or Rollback. Where the
// transaction has stored nothing, its executions wait for their retry.
func (e transactionEnd) AfterEnd(ctx context.Context, commits bool, err error) {
	c, o := e.conn, &e.conn.ongoing
	c.Drawn.AfterCommit(commits && err == nil)
	c.numbers.last = nil // a trigger that was deferred may have drawn a number
	if a := c.attempt; a != nil {
		c.attempt = nil
		a.afterEnd(ctx, c, commits, err)
	}
	undone := err == nil || !sqlcode.Answered(err) // a connection that is lost has sent no COMMIT
	if commits {
		undone = c.DB.IsUndone(err)
	}
	if o.whole && undone {
		for _, x := range o.executions {
			x.recording.recorder.lose(x)
		}
	}
	o.whole = false
	o.clear()
}
