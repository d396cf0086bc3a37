package fill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// directCall is a text with an INSERT that is executed without being prepared.
type directCall struct {
	conn  *Conn
	query string
	args  []driver.NamedValue
	by    session.Route
	batch *Batch // the batch to which the text belongs; nil if it is sent alone

	parts []string // the statements of the text, if each of them is executed alone
}

// Exec executes the text, and executes it again if its table's name turns out to mean
// another table.
func (d *directCall) Exec(ctx context.Context) (driver.Result, error) {
	for n := 1; ; n++ {
		res, err := d.execOnce(ctx)
		if err == nil || !decidesAgain(&d.conn.Conn, n, err) {
			return res, err
		}
	}
}

// execOnce executes the text once.
func (d *directCall) execOnce(ctx context.Context) (driver.Result, error) {
	c := d.conn
	x, e, err := d.decide(ctx)
	switch {
	case err != nil:
		return nil, err
	case d.parts != nil:
		return d.execParts(ctx)
	case x == nil:
		c.Attempt.NoteOther(d.query)
		res, err := c.ExecContext(ctx, d.query, d.args)
		c.DB.Stats.Note(ctx, d.query, e, err)
		return res, err
	case x.Prepares():
		c.Parked.Park(x)
		return nil, driver.ErrSkip
	}
	res, err := executor.Of(x).Exec(ctx, executor.Direct{Conn: &c.Conn})
	if err == driver.ErrSkip {
		c.Parked.Park(x)
		return nil, err
	}
	res, err = outcome.Executed(ctx, x, res, err)
	x.Release(err)
	return res, err
}

// queryRows executes the text as Exec does, and returns its rows.
func (d *directCall) queryRows(ctx context.Context) (driver.Rows, error) {
	for n := 1; ; n++ {
		rows, err := d.queryOnce(ctx)
		if err == nil || !decidesAgain(&d.conn.Conn, n, err) {
			return rows, err
		}
	}
}

// queryOnce executes the text once, and returns its rows.
func (d *directCall) queryOnce(ctx context.Context) (driver.Rows, error) {
	c := d.conn
	x, e, err := d.decide(ctx)
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		c.Attempt.NoteOther(d.query)
		rows, err := c.QueryContext(ctx, d.query, d.args)
		c.DB.Stats.Note(ctx, d.query, e, err)
		return rows, err
	case x.Prepares():
		c.Parked.Park(x)
		return nil, driver.ErrSkip
	}
	rows, err := executor.Of(x).Query(ctx, executor.Direct{Conn: &c.Conn})
	if err == driver.ErrSkip {
		c.Parked.Park(x)
		return nil, err
	}
	return outcome.Queried(ctx, x, rows, err)
}

// decide decides how the text is treated, and draws its keys. The execution is nil if
// the text is sent unchanged or in parts; the event is what to count when the driver
// has accepted the text.
func (d *directCall) decide(ctx context.Context) (*execution.Execution, execution.Event, error) {
	c, db := d.conn, d.conn.DB
	p, e, err := c.Decide(ctx, d.query, false)
	if err == nil && e.Worked != nil && len(d.args) > 0 && isOption(d.args[0].Value) {
		e, err = db.Stats.Refusal(ctx, d.query, e.Worked.Refused(rewrite.ErrOption))
	}
	if p == nil || err != nil {
		return nil, e, err
	}
	switch {
	case p.Load:
		e, err := loadDirectly(ctx, d.query, &db.Stats, p)
		return nil, e, err
	case p.Action == plans.Keep && !p.AtExecution:
		return d.keep(ctx, p, bind.Holes{}, e)
	}
	inline := p.TooMany() || p.Placeholders() == 0 && len(d.args) == 0 &&
		!(d.by == session.ByQuery && db.Driver.CachesQueries)
	c.Brings.Note(p, d.query, d.args)
	if !inline && (!c.Can[d.by] || len(d.args) > 0 && p.Statements == 1 && c.Skips[d.by].IsExpected()) {
		// Keys are drawn when database/sql comes back with the prepared statement. A text of
		// several statements is tried directly each time, since a driver that accepts such a
		// text may be unable to prepare it.
		return nil, execution.Event{}, driver.ErrSkip
	}
	h, err := holesOf(p, d.args)
	if db.Driver.Family && errors.Is(err, rewrite.ErrArguments) {
		// go-sql-driver/mysql leaves the counting of arguments to database/sql, which does it
		// after it has prepared the statement.
		return nil, execution.Event{}, driver.ErrSkip
	}
	if err == nil && h.Any() && !p.NeedsParts() {
		if reason := executor.Unsuited(db.Tables, p, d.query); reason != "" {
			err = p.Refused(reason)
		}
	}
	if err != nil {
		e, err := db.Stats.Refusal(ctx, d.query, err)
		return nil, e, err
	}
	e, fills := execution.Settle(db.Tables, p, h)
	switch {
	case !fills:
		return d.keep(ctx, p, h, e)
	case p.NeedsParts():
		return d.divide(ctx, p)
	case p.Parts != nil && d.by == session.ByExec && c.Can[d.by] && executor.UnsuitedParts(db.Tables, p) == nil:
		d.parts = p.Parts
		return nil, execution.Event{}, nil
	case executor.Waits(&c.Conn, p, h, d.by, len(d.args)):
		return nil, execution.Event{}, driver.ErrSkip
	}
	if !inline && len(d.args) > 0 {
		if inline, err = changesBytes(ctx, &c.Conn, p, session.ConvertsQuoted); err != nil {
			return nil, execution.Event{}, err
		}
	}
	return d.fill(ctx, p, h, inline)
}

// fill returns the execution of a text that gets keys.
func (d *directCall) fill(ctx context.Context, p *plans.Plan, h bind.Holes, inline bool) (*execution.Execution, execution.Event, error) {
	x := d.conn.NewExecution(ctx, p, d.query, d.args, h)
	x.Form.Inline = inline
	var err error
	if x.Follows, err = executor.NewFollowing(ctx, &d.conn.Conn, p, d.args, h); err != nil {
		return nil, execution.Event{}, err
	}
	if x.Form.Session, err = d.conn.SendsLastInsertID(ctx, p); err != nil {
		outcome.Account{X: x}.CountNoKey(err)
		return nil, execution.Event{}, err
	}
	x.Form.Session = x.Form.Session && h.Any()
	if err = d.batch.admit(ctx, x); err == nil {
		if err = d.conn.Numbers.CheckSteps(ctx, p, d.query); err == nil {
			err = executor.Fill(ctx, x)
		}
	}
	if err != nil {
		outcome.Account{X: x}.CountNoKey(err)
		e, err := d.conn.DB.Stats.Refusal(ctx, d.query, err)
		return nil, e, err
	}
	return x, execution.Event{}, nil
}

// keep returns the execution of a text that gets no keys but contains explicit keys
// above which a counter is raised; nil if it contains none. A text without an execution
// is counted as the event e; a refusal has an event of its own.
func (d *directCall) keep(ctx context.Context, p *plans.Plan, h bind.Holes, e execution.Event) (*execution.Execution, execution.Event, error) {
	x, err := d.kept(ctx, p, h)
	if err != nil {
		e, err = d.conn.DB.Stats.Refusal(ctx, d.query, err)
		return nil, e, err
	}
	return x, e, nil
}

func (d *directCall) kept(ctx context.Context, p *plans.Plan, h bind.Holes) (*execution.Execution, error) {
	follows, err := executor.NewFollowing(ctx, &d.conn.Conn, p, d.args, h)
	if !follows.Any() || err != nil {
		return nil, err
	}
	x := d.conn.NewExecution(ctx, p, d.query, d.args, h)
	x.Form.Kept, x.Follows = true, follows
	if follows.IsBefore(p) && d.conn.PreparesFirst(d.by, len(d.args)) {
		return nil, driver.ErrSkip
	}
	if err := d.batch.admit(ctx, x); err != nil {
		return nil, err
	}
	return x, executor.Fill(ctx, x)
}
