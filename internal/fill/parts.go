package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// The rows of a query cannot be counted before the text that contains it runs, if
// another statement of the text creates its tables or changes them. Nor is it known which
// numbers the engine gives to the rows of an INSERT, above which a later INSERT of the text
// goes on. SQLite compiles one statement at a time, and its drivers loop over the text; the
// servers of MySQL and MariaDB do so too. For such a text keyfill runs that loop itself: it
// plans each statement, and counts each query, just before it executes the statement.
// Transactions and settings change as they do without keyfill, and if a statement fails,
// the effects of the statements before it stay.

// divide decides that the text of a plan is executed in parts, unless a part would be
// refused when sent alone. A part that returns rows, or that has to be prepared, is
// refused, since drivers differ in how much of such a text they execute.
func (d *directCall) divide(ctx context.Context, p *plans.Plan) (*execution.Execution, execution.Event, error) {
	var refusal error
	if d.by != session.ByExec || !d.conn.Can[d.by] {
		refusal = p.Refused(rewrite.ErrSelectSeveral)
	}
	if r := executor.UnsuitedParts(d.conn.DB.Tables, p); r != nil && refusal == nil {
		refusal = r
	}
	if refusal == nil {
		d.parts = p.Parts
		return nil, execution.Event{}, nil
	}
	e, err := d.conn.DB.Stats.Refusal(ctx, d.query, refusal)
	return nil, e, err
}

// execParts executes each statement of the text separately. It returns the result of
// the last one, as drivers do.
func (d *directCall) execParts(ctx context.Context) (res driver.Result, err error) {
	c := d.conn
	for i, text := range d.parts {
		concern, passes, counts := c.Passes(text)
		if passes {
			res, err = c.ExecPassed(ctx, text, nil)
		} else {
			res, err = c.ExecText(ctx, text, nil, concern)
		}
		if counts {
			c.CountPassed(ctx, err)
		}
		switch {
		case i > 0 && execution.IsBadConn(err):
			// database/sql would send the whole text again.
			return nil, anchor.Lastf("rows", "keyfill: the connection broke after some statements of the text: look for their rows, and send the rest again: %v", err)
		case err != nil:
			return nil, err
		}
	}
	return res, nil
}
