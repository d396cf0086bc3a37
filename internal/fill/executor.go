package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// executor sends the statement of an execution that has its keys, and ends what was
// begun for them. There are five: autonomous, skipping, insertSelect, engineNumbered and transactional. A prepared
// statement sends through the same ones. A [plain] INSERT and a [bulkLoad] need none.
type executor interface {
	// exec executes the statement through the sender, once or again.
	exec(ctx context.Context, via sender) (driver.Result, error)

	// query is exec for a statement that gives rows.
	query(ctx context.Context, via sender) (driver.Rows, error)
}

// sender sends the text and the arguments that an execution has now: a [direct] sends them
// to the driver's connection, a [statement] to the driver's statement.
type sender interface {
	sendExec(ctx context.Context, x *execution) (driver.Result, error)
	sendQuery(ctx context.Context, x *execution) (driver.Rows, error)
}

// direct sends executions to the driver's connection.
type direct struct{ conn *connection }

func (d direct) sendExec(ctx context.Context, x *execution) (driver.Result, error) {
	c := d.conn
	res, err := c.ExecContext(ctx, x.text, x.sent)
	if err != nil {
		res, err = sentAgain(ctx, c, x.plan, err, func() (driver.Result, error) { return c.ExecContext(ctx, x.text, x.sent) })
	}
	return res, err
}

func (d direct) sendQuery(ctx context.Context, x *execution) (driver.Rows, error) {
	c := d.conn
	rows, err := c.QueryContext(ctx, x.text, x.sent)
	if err != nil {
		rows, err = sentAgain(ctx, c, x.plan, err, func() (driver.Rows, error) { return c.QueryContext(ctx, x.text, x.sent) })
	}
	return rows, err
}

// sentAgain returns the answer to the text of a plan that has failed with err, and that is
// sent again while SQLite refuses it for the reservation of a connection which shares its
// cache: without keyfill, each INSERT is one step, and meets no open transaction of another
// one. A text of several statements is not sent again, since SQLite has committed those in
// front of the one that it refuses.
func sentAgain[T any](ctx context.Context, c *connection, p *rewrite.Plan, err error, send func() (T, error)) (answer T, _ error) {
	if p.Statements != 1 {
		return answer, err
	}
	for again := (session.Again{}); err != nil && session.SendsAgain(ctx, &c.Conn.Conn, &again, err); {
		answer, err = send()
	}
	return answer, err
}

// choose draws the keys of the execution, and gives it the executor that its plan and
// its keys need.
func (x *execution) choose(ctx context.Context) error {
	if countsInTransaction(x.plan) {
		needs := joiningOf(x.conn.DB.Tables, x.plan, x.holes)
		return (&transactional{x: x, needs: needs, within: &countedWithin{x: x, stored: -1}}).choose(ctx)
	}
	var counted *insertSelect
	if err := countsKeys(ctx, x.conn, x.plan); err != nil {
		return err
	}
	if x.plan.Counts() {
		byEngine, err := numberedByEngine(ctx, x)
		if err != nil {
			return err
		}
		if byEngine {
			n := &engineNumbered{x: x}
			x.how, x.fromFirst = n, true
			if err := n.fill(ctx); !sqlcode.Is(err, noSavepoints) {
				return err
			}
			x.fromFirst = false // ROW_NUMBER needs no savepoint
		}
		counted = &insertSelect{x: x}
		if err := counted.countRows(ctx); err != nil {
			return err
		}
		x.how = counted
	}
	if x.conn.DB.Detached {
		if r := unfitStandIn(x); r != nil {
			return r
		}
	}
	needs := joiningOf(x.conn.DB.Tables, x.plan, x.holes)
	if x.follows.isBefore(x.plan) {
		if x.kept && x.follows.isUntold() {
			return chooseUntold(ctx, x)
		}
		needs.any, needs.gapFree = true, true
	}
	if !needs.any {
		drawn, err := x.draw(ctx)
		if err != nil {
			return counted.giveUp(ctx, err)
		}
		x.keys = drawn
		if s, skips := newSkipping(x); skips && counted == nil {
			x.how = s
		}
		return nil
	}
	return counted.giveUp(ctx, (&transactional{x: x, needs: needs, counted: counted}).choose(ctx))
}

// unfitStandIn returns the refusal that an execution gets where its keys belong to a
// transaction, and there is no database.
func unfitStandIn(x *execution) *rewrite.Refusal {
	t := &transactional{x: x, needs: joiningByPolicy(x.plan, x.holes)}
	if !t.needs.any {
		return nil
	}
	return t.unfit(x.conn.Tx != session.Outside)
}

// chooseUntold raises the numberings of the transaction above the keys of an INSERT that
// brings all of them. Where that is not possible, the INSERT goes out as it came, since
// the policy has not asked for it.
func chooseUntold(ctx context.Context, x *execution) error {
	c, inside := x.conn, x.conn.Tx != session.Outside
	err := (&transactional{x: x, needs: joining{any: true, gapFree: true}, yields: true}).choose(ctx)
	switch {
	case err == nil:
		return nil
	case inside && c.DB.IsUndone(err):
		if tx := &x.plan.Dialect().Transactions; x.plan.Dialect().ErrorsAbort {
			_ = c.ExecSavepoint(ctx, tx.Undo, noSavepoint) // such an error leaves nothing to commit
		}
		return err
	case ctx.Err() != nil, err == driver.ErrSkip, isBadConn(err):
		return err
	}
	x.how, x.joined = nil, false
	x.follows.leaveJoined()
	t := keys.TableOf(&x.plan.Inserts[0])
	c.DB.Log.Write(ctx, keys.MessageNotRaised, t.Table, t.KeyColumns[0].Name)
	return nil
}

// choose draws the keys in the execution's transaction.
func (t *transactional) choose(ctx context.Context) error {
	x := t.x
	x.how, x.joined = t, true
	x.follows.split(x.conn, x.plan)
	if t.within != nil {
		takes, err := takesFirst(ctx, x)
		if err != nil {
			return err
		}
		x.fromFirst = takes
		// A count fixes what a transaction under REPEATABLE READ sees.
		if err := x.conn.OpenState(ctx, keys.TableOf(&x.plan.Inserts[0]), x.plan.Draws[0].Key); err != nil {
			return err
		}
	}
	return t.take(ctx)
}

// executorOf returns the executor of an execution that has its keys.
func executorOf(x *execution) executor {
	if x.how == nil {
		return autonomous{x}
	}
	return x.how
}

// leave ends what was begun for the keys of an execution whose statement is not sent
// because of err, and returns err.
func (x *execution) leave(ctx context.Context, err error) error {
	switch how := x.how.(type) {
	case *transactional:
		return how.leave(ctx, err)
	case *engineNumbered:
		return how.leave(ctx, err)
	}
	return err
}

// autonomous executes statements whose keys need nothing of the transaction, and whose
// rows are counted in their text.
type autonomous struct{ x *execution }

func (a autonomous) exec(ctx context.Context, via sender) (driver.Result, error) {
	return via.sendExec(ctx, a.x)
}

func (a autonomous) query(ctx context.Context, via sender) (driver.Rows, error) {
	rows, err := via.sendQuery(ctx, a.x)
	return a.x.follows.raiseBehindRows(ctx, rows, err)
}
