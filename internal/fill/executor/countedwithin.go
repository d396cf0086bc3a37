package executor

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// countedWithin counts the rows of an INSERT … SELECT in the transaction to which its keys
// belong, just before the keys are drawn. Its counter has no gaps: as many rows must be
// stored as keys were drawn, or the rows and the draw are rolled back, and the INSERT is
// sent again.
type countedWithin struct {
	x      *execution.Execution
	counts int   // how often the rows were counted
	stored int64 // how many rows the last INSERT that was rolled back had stored; -1 if none was rolled back

	read []resultSet // the rows that an Exec returned, if they are read to count them

	sendsAgain bool // the stored rows are being rolled back, to be sent again

	reason error // errMiscounted or errRule, once it is known which is true
}

func (c *countedWithin) isSentAgain() bool { return c != nil && c.sendsAgain }

// errMiscounted is returned if the number of stored rows is not the number that was
// counted.
var errMiscounted = anchor.New("rows", "the INSERT's query had more or fewer rows than keyfill counted, three times, and nothing is stored: send the INSERT while no other session changes those rows, or again")

// CountsInTransaction reports whether the rows of an INSERT … SELECT are counted in the
// transaction in which its keys are drawn. It returns false in a test without a
// database.
func CountsInTransaction(p *plans.Plan) bool {
	return countsJoined(p) && table.Of(&p.Inserts[0]).KeyColumns[p.Draws[0].Key].InTransaction
}

// countsJoined reports whether the policy says that a key of the counted rows belongs
// to their transaction.
func countsJoined(p *plans.Plan) bool {
	return len(p.Inserts) == 1 && p.Counts() && table.Of(&p.Inserts[0]).KeyColumns[p.Draws[0].Key].Rule.Joined
}

// isCountable reports whether the rows of the plan's query can be counted in the
// transaction of its keys, and the INSERT skips none of them.
func isCountable(p *plans.Plan) bool {
	in := &p.Inserts[0]
	switch p.Dialect.Family {
	case dialect.FamilyMySQL, dialect.FamilyPostgreSQL, dialect.FamilySQLite:
	default:
		return false // not supported, since it could not be tested
	}
	return countsJoined(p) && p.Statements == 1 && len(p.Draws) == 1 && in.Upsert.Conflict == plans.ConflictError
}

// count counts the rows.
func (c *countedWithin) count(ctx context.Context) error {
	if !c.x.Form.FromFirst {
		if err := KeepsValues(ctx, c.x); err != nil {
			return err
		}
	}
	n := c.stored
	if n < 0 {
		conn := c.x.Conn
		if err := conn.DB.LockBeforeRead(ctx, &conn.Session, table.Of(&c.x.Plan.Inserts[0]), c.x.Plan.Draws[0].Key); err != nil {
			return err
		}
		row, err := c.ask(ctx)
		if err != nil {
			return UnlessOld(ctx, c.x.Conn, c.x.Plan, err)
		}
		if !c.x.Form.FromFirst {
			if reason := Unnumbered(c.x.Plan.Dialect, row[1:]); reason != "" {
				return c.x.Plan.Refused(reason)
			}
			if err := KeepsViews(ctx, c.x, row[1:]); err != nil {
				return err
			}
		}
		var ok bool
		if n, ok = session.IntegerOf(row[0]); !ok {
			return session.ErrNoNumber
		}
		if c.counts > 0 && c.x.Plan.Dialect.Family == dialect.FamilyMySQL {
			// Under REPEATABLE READ the count sees only the rows of the transaction's snapshot,
			// and the INSERT also rows that were committed since. With enough numbers the INSERT
			// shows how many rows there are; it is then rolled back and sent again with that
			// many.
			n += n + 1000
		}
	}
	c.counts++
	c.stored = -1
	c.x.Drawn.Rows, c.x.Drawn.Keys = map[int]int64{0: n}, nil
	return nil
}

// ask returns the answer to the count. Changes that functions of the query make during
// the count are rolled back.
func (c *countedWithin) ask(ctx context.Context) ([]any, error) {
	conn := c.x.Conn
	query, args := rowcount.CountQuery(c.x.Plan, 0, c.x.Args, c.x.Holes, nil)
	if !c.x.Plan.Inserts[0].Query.Unsure {
		return conn.QueryRow(ctx, query, args)
	}
	t := &c.x.Plan.Dialect.Transactions
	if err := conn.ExecSavepoint(ctx, t.Set, rowsSavepoint); err != nil {
		return nil, err
	}
	row, err := conn.QueryRow(ctx, query, args)
	if c.x.Plan.Dialect.ErrorsAbort && sqlcode.Answered(err) {
		return nil, err // the transaction stays aborted, as it would be after the INSERT itself
	}
	for _, text := range []string{t.Undo, t.Release} {
		if undone := conn.ExecSavepoint(context.WithoutCancel(ctx), text, rowsSavepoint); err == nil {
			err = undone
		}
	}
	return row, err
}

// check returns errMiscounted if a statement has stored another number of rows than was
// counted.
func (c *countedWithin) check(ctx context.Context, res driver.Result) error {
	if c.read != nil {
		return c.checkRead(ctx, c.read)
	}
	stored, err := res.RowsAffected()
	if err != nil {
		return err
	}
	var first int64
	if c.x.Form.FromFirst {
		if first, err = res.LastInsertId(); err != nil {
			return err
		}
	}
	return c.judge(stored, first)
}

// checkRead does what check does, for a statement whose rows were read.
func (c *countedWithin) checkRead(ctx context.Context, sets []resultSet) error {
	stored, first := int64(len(sets[0].rows)), int64(0)
	var err error
	switch {
	case c.x.Plan.Dialect.UncountedRows:
		stored, first, err = storedByQuery(ctx, c.x, sets)
	case len(sets[0].columns) == 0:
		stored, err = c.inTable(ctx)
	}
	if err != nil {
		return err
	}
	return c.judge(stored, first)
}

// inTable returns how many of the drawn keys are in the table.
func (c *countedWithin) inTable(ctx context.Context) (int64, error) {
	in := &c.x.Plan.Inserts[0]
	if c.x.Drawn.Rows[0] == 0 {
		return 0, nil
	}
	d := c.x.Plan.Dialect
	column := d.QuoteIdent(table.Of(in).KeyColumns[c.x.Plan.Draws[0].Key].Name)
	first := firstNumber(c.x)
	row, err := c.x.Conn.QueryRow(ctx, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s BETWEEN %d AND %d", in.Name.TableText, column, first, first+c.x.Drawn.Rows[0]-1), nil)
	if err != nil {
		return 0, err
	}
	stored, _ := session.IntegerOf(row[0])
	return stored, nil
}

func (c *countedWithin) judge(stored, first int64) error {
	t := table.Of(&c.x.Plan.Inserts[0])
	switch {
	case stored != c.x.Drawn.Rows[0]:
		c.stored = stored
		return t.KeyError(0, errMiscounted)
	case c.x.Form.FromFirst && stored > 0 && first != firstNumber(c.x):
		return t.KeyError(0, errOtherNumber)
	}
	return nil
}

// again reports whether a statement that has failed with err must be sent again, with
// the rows counted anew.
func (c *countedWithin) again(err error) bool {
	if c.counts >= maxCounts {
		return false
	}
	return errors.Is(err, errMiscounted) || (&InsertSelect{X: c.x}).outgrown(err)
}

// blame finds out why another number of rows was stored than was counted. It does so in
// the last attempt, after which the transaction may have ended.
func (c *countedWithin) blame(ctx context.Context) {
	if c.counts == maxCounts-1 {
		c.reason = miscounted(ctx, c.x, 0, errMiscounted)
	}
}

// told returns the error of a statement as the application gets it.
func (c *countedWithin) told(ctx context.Context, err error) error {
	grew := (&InsertSelect{X: c.x}).outgrown(err)
	if !grew && !errors.Is(err, errMiscounted) {
		return err
	}
	if c.reason == nil {
		c.reason = miscounted(ctx, c.x, 0, errMiscounted)
	}
	if grew {
		return grewError(c.x, 0, c.reason, err)
	}
	return table.Of(&c.x.Plan.Inserts[0]).KeyError(0, c.reason)
}
