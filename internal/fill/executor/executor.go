package executor

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Direct sends executions to the driver's connection.
type Direct struct{ Conn *execution.Conn }

// SendExec sends a statement that returns no rows.
func (d Direct) SendExec(ctx context.Context, x *execution.Execution) (driver.Result, error) {
	c := d.Conn
	res, err := c.ExecContext(ctx, x.Outgoing.Text, x.Outgoing.Sent)
	if err != nil {
		res, err = SentAgain(ctx, c, x.Plan, err, func() (driver.Result, error) { return c.ExecContext(ctx, x.Outgoing.Text, x.Outgoing.Sent) })
	}
	return res, err
}

// SendQuery sends a statement that returns rows.
func (d Direct) SendQuery(ctx context.Context, x *execution.Execution) (driver.Rows, error) {
	c := d.Conn
	rows, err := c.QueryContext(ctx, x.Outgoing.Text, x.Outgoing.Sent)
	if err != nil {
		rows, err = SentAgain(ctx, c, x.Plan, err, func() (driver.Rows, error) { return c.QueryContext(ctx, x.Outgoing.Text, x.Outgoing.Sent) })
	}
	return rows, err
}

// SentAgain sends the text of a plan again while SQLite refuses it because another
// connection that shares its cache is reserving keys, and returns the answer: without
// keyfill, each INSERT is one step, and meets no open transaction of another
// connection. err is the error of the first attempt. A text of several statements is
// not sent again, since SQLite has committed the statements before the one that it
// refuses.
func SentAgain[T any](ctx context.Context, c *execution.Conn, p *plans.Plan, err error, send func() (T, error)) (answer T, _ error) {
	if p.Statements != 1 {
		return answer, err
	}
	for again := (session.Again{}); err != nil && session.SendsAgain(ctx, &c.Conn.Conn, &again, err); {
		answer, err = send()
	}
	return answer, err
}

// choose draws the keys of the execution, and sets the executor that its plan and its
// keys need.
func choose(ctx context.Context, x *execution.Execution) error {
	if CountsInTransaction(x.Plan) {
		needs := JoiningOf(x.Conn.DB.Tables, x.Plan, x.Holes)
		return (&Transactional{X: x, Needs: needs, within: &countedWithin{x: x, stored: -1}}).choose(ctx)
	}
	var counted *InsertSelect
	if err := CountsKeys(ctx, x.Conn, x.Plan); err != nil {
		return err
	}
	if x.Plan.Counts() {
		byEngine, err := NumberedByEngine(ctx, x)
		if err != nil {
			return err
		}
		if byEngine {
			n := &engineNumbered{x: x}
			x.How, x.Form.FromFirst = n, true
			if err := n.fill(ctx); !sqlcode.Is(err, noSavepoints) {
				return err
			}
			x.Form.FromFirst = false // the rows are numbered with ROW_NUMBER instead, which needs no savepoint
		}
		counted = &InsertSelect{X: x}
		if err := counted.countRows(ctx); err != nil {
			return err
		}
		x.How = counted
	}
	if x.Conn.DB.Detached {
		if r := unfitStandIn(x); r != nil {
			return r
		}
	}
	needs := JoiningOf(x.Conn.DB.Tables, x.Plan, x.Holes)
	if x.Follows.IsBefore(x.Plan) {
		if x.Form.Kept && x.Follows.IsUntold() {
			return chooseUntold(ctx, x)
		}
		needs.Any, needs.gapFree = true, true
	}
	if !needs.Any {
		drawn, err := draw(ctx, x)
		if err != nil {
			return counted.giveUp(ctx, err)
		}
		x.Drawn.Keys = drawn
		if s, skips := newSkipping(x); skips && counted == nil {
			x.How = s
		}
		return nil
	}
	return counted.giveUp(ctx, (&Transactional{X: x, Needs: needs, counted: counted}).choose(ctx))
}

// unfitStandIn returns the refusal of an execution whose keys belong to a transaction, in
// a test without a database. It returns nil for any other execution.
func unfitStandIn(x *execution.Execution) *plans.Refusal {
	t := &Transactional{X: x, Needs: joiningByPolicy(x.Plan, x.Holes)}
	if !t.Needs.Any {
		return nil
	}
	return t.Unfit(x.Conn.Tx != session.Outside)
}

// chooseUntold raises the counters of the transaction above the keys of an INSERT that
// contains all of its keys. If that is not possible, the INSERT is sent unchanged,
// since the policy has not asked for the raise.
func chooseUntold(ctx context.Context, x *execution.Execution) error {
	c, inside := x.Conn, x.Conn.Tx != session.Outside
	err := (&Transactional{X: x, Needs: Joining{Any: true, gapFree: true}, yields: true}).choose(ctx)
	switch {
	case err == nil:
		return nil
	case inside && c.DB.IsUndone(err):
		if tx := &x.Plan.Dialect.Transactions; x.Plan.Dialect.ErrorsAbort {
			_ = c.ExecSavepoint(ctx, tx.Undo, noSavepoint) // fails on purpose, so that the transaction is aborted and cannot commit
		}
		return err
	case ctx.Err() != nil, err == driver.ErrSkip, execution.IsBadConn(err):
		return err
	}
	x.How, x.Form.Joined = nil, false
	x.Follows.LeaveJoined()
	t := table.Of(&x.Plan.Inserts[0])
	c.DB.Log.Write(ctx, report.MessageNotRaised, t.Table, t.KeyColumns[0].Name)
	return nil
}

// choose draws the keys in the execution's transaction.
func (t *Transactional) choose(ctx context.Context) error {
	x := t.X
	x.How, x.Form.Joined = t, true
	split(&x.Follows, x.Conn, x.Plan)
	if t.within != nil {
		takes, err := TakesFirst(ctx, x)
		if err != nil {
			return err
		}
		x.Form.FromFirst = takes
		// Open the row first: a count fixes the snapshot of a transaction under REPEATABLE
		// READ.
		if err := x.Conn.OpenState(ctx, table.Of(&x.Plan.Inserts[0]), x.Plan.Draws[0].Key); err != nil {
			return err
		}
	}
	return t.take(ctx)
}

// Of returns the executor of an execution that has its keys.
func Of(x *execution.Execution) execution.Executor {
	if x.How == nil {
		return autonomous{x}
	}
	return x.How
}

// Leave ends the transaction of an execution's keys if its statement is not sent
// because of err, and returns err.
func Leave(ctx context.Context, x *execution.Execution, err error) error {
	switch how := x.How.(type) {
	case *Transactional:
		return how.Leave(ctx, err)
	case *engineNumbered:
		return how.leave(ctx, err)
	}
	return err
}

// autonomous executes statements whose keys need nothing of the transaction, and the
// number of whose rows is in their text.
type autonomous struct{ x *execution.Execution }

func (a autonomous) Exec(ctx context.Context, via execution.Sender) (driver.Result, error) {
	return via.SendExec(ctx, a.x)
}

func (a autonomous) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	rows, err := via.SendQuery(ctx, a.x)
	return raiseAfterRows(ctx, &a.x.Follows, rows, err)
}
