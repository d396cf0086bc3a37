package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// executor sends the statement of an execution that has its keys, and ends what was
// begun for them. There are four: autonomous, insertSelect, engineNumbered and transactional. A prepared
// statement sends through the same ones. A [plain] INSERT and a [bulkLoad] need none.
type executor interface {
	// exec executes the statement through the sender, once or again.
	exec(ctx context.Context, via sender) (driver.Result, error)

	// query is exec for a statement that gives rows.
	query(ctx context.Context, via sender) (driver.Rows, error)
}

// sender sends the text and the arguments that an execution has now: a [Conn] sends them
// to the driver's connection, a [statement] to the driver's statement.
type sender interface {
	sendExec(ctx context.Context, x *execution) (driver.Result, error)
	sendQuery(ctx context.Context, x *execution) (driver.Rows, error)
}

func (c *Conn) sendExec(ctx context.Context, x *execution) (driver.Result, error) {
	return c.ExecContext(ctx, x.text, x.sent)
}

func (c *Conn) sendQuery(ctx context.Context, x *execution) (driver.Rows, error) {
	return c.QueryContext(ctx, x.text, x.sent)
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
	needs := joiningOf(x.conn.DB.Tables, x.plan, x.holes)
	if x.follows.isBefore(x.plan) {
		needs.any, needs.gapFree = true, true
	}
	if !needs.any {
		drawn, err := x.draw(ctx)
		if err != nil {
			return counted.giveUp(ctx, err)
		}
		x.keys = drawn
		return nil
	}
	return counted.giveUp(ctx, (&transactional{x: x, needs: needs, counted: counted}).choose(ctx))
}

// choose draws the keys in the execution's transaction.
func (t *transactional) choose(ctx context.Context) error {
	x := t.x
	x.how, x.joined = t, true
	x.follows.split(x.plan)
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
