package fill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// directCall is a text with an INSERT that is executed without being prepared.
type directCall struct {
	conn  *Conn
	query string
	args  []driver.NamedValue
	by    session.Route
	batch *Batch // that the text is one of; nil where it is sent alone

	parts []string // the statements of the text, where it is decided to execute each alone
}

// exec executes the text, and again where its table's name has turned out to mean
// another table.
func (d *directCall) exec(ctx context.Context) (driver.Result, error) {
	return decided(&d.conn.connection, func() (driver.Result, error) { return d.execOnce(ctx) })
}

// execOnce executes the text.
func (d *directCall) execOnce(ctx context.Context) (driver.Result, error) {
	c := d.conn
	x, e, err := d.decide(ctx)
	switch {
	case err != nil:
		return nil, err
	case d.parts != nil:
		return d.execParts(ctx)
	case x == nil:
		c.attempt.noteOther(d.query)
		res, err := c.ExecContext(ctx, d.query, d.args)
		c.DB.stats.note(ctx, d.query, e, err)
		return res, err
	case x.prepares():
		c.parked.park(x)
		return nil, driver.ErrSkip
	}
	res, err := executorOf(x).exec(ctx, direct{&c.connection})
	if err == driver.ErrSkip {
		c.parked.park(x)
		return nil, err
	}
	res, err = x.executed(ctx, res, err)
	x.release(err)
	return res, err
}

// queryRows is exec where the text gives rows.
func (d *directCall) queryRows(ctx context.Context) (driver.Rows, error) {
	return decided(&d.conn.connection, func() (driver.Rows, error) { return d.queryOnce(ctx) })
}

// queryOnce executes the text where it gives rows.
func (d *directCall) queryOnce(ctx context.Context) (driver.Rows, error) {
	c := d.conn
	x, e, err := d.decide(ctx)
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		c.attempt.noteOther(d.query)
		rows, err := c.QueryContext(ctx, d.query, d.args)
		c.DB.stats.note(ctx, d.query, e, err)
		return rows, err
	case x.prepares():
		c.parked.park(x)
		return nil, driver.ErrSkip
	}
	rows, err := executorOf(x).query(ctx, direct{&c.connection})
	if err == driver.ErrSkip {
		c.parked.park(x)
		return nil, err
	}
	return x.queried(ctx, rows, err)
}

// decide decides the text and draws its keys. The execution is nil when the text goes
// out as it came, or in parts; the event is what to count then, once the driver has taken it.
func (d *directCall) decide(ctx context.Context) (*execution, event, error) {
	c, db := d.conn, d.conn.DB
	p, e, err := c.decide(ctx, d.query, false)
	if err == nil && e.worked != nil && len(d.args) > 0 && isOption(d.args[0].Value) {
		e, err = db.stats.refusal(ctx, d.query, e.worked.Refused(rewrite.ErrOption))
	}
	if p == nil || err != nil {
		return nil, e, err
	}
	switch {
	case p.Load:
		e, err := loadDirectly(ctx, d.query, &db.stats, p)
		return nil, e, err
	case p.Action == rewrite.Keep && !p.AtExecution:
		return d.keep(ctx, p, rewrite.Holes{}, e)
	}
	inline := p.TooMany() || p.Placeholders() == 0 && len(d.args) == 0 &&
		!(d.by == session.ByQuery && db.Driver.CachesQueries)
	c.brings.note(p, d.query, d.args)
	if !inline && (!c.Can(d.by) || len(d.args) > 0 && p.Statements == 1 && c.Skips[d.by].IsExpected()) {
		// Keys are drawn when database/sql comes back with the prepared
		// statement. Several statements are tried each time: a driver that takes
		// them may not prepare them.
		return nil, event{}, driver.ErrSkip
	}
	h, err := holesOf(p, d.args)
	if db.Driver.Family && errors.Is(err, rewrite.ErrArguments) {
		// go-sql-driver leaves the counting to database/sql, which does it
		// when it has prepared the statement.
		return nil, event{}, driver.ErrSkip
	}
	if err == nil && h.Any() && !p.NeedsParts() {
		if reason := unsuited(db.Tables, p, d.query); reason != "" {
			err = p.Refused(reason)
		}
	}
	if err != nil {
		e, err := db.stats.refusal(ctx, d.query, err)
		return nil, e, err
	}
	e, fills := settle(db.Tables, p, h)
	switch {
	case !fills:
		return d.keep(ctx, p, h, e)
	case p.NeedsParts():
		return d.divide(ctx, p)
	case p.Parts != nil && d.by == session.ByExec && c.Can(d.by) && unsuitedParts(db.Tables, p) == nil:
		d.parts = p.Parts
		return nil, event{}, nil
	case c.waits(p, h, d.by, len(d.args)):
		return nil, event{}, driver.ErrSkip
	}
	return d.fill(ctx, p, h, inline)
}

// fill returns the execution of a text that gets keys.
func (d *directCall) fill(ctx context.Context, p *rewrite.Plan, h rewrite.Holes, inline bool) (*execution, event, error) {
	x := d.conn.newExecution(ctx, p, d.query, d.args, h)
	x.inline = inline
	var err error
	if x.follows, err = newFollowing(ctx, &d.conn.connection, p, d.args, h); err != nil {
		return nil, event{}, err
	}
	if x.session, err = d.conn.sendsLastInsertID(ctx, p); err != nil {
		account{x}.countNoKey(err)
		return nil, event{}, err
	}
	x.session = x.session && h.Any()
	if err = d.batch.admit(ctx, x); err == nil {
		if err = d.conn.numbers.checkSteps(ctx, p, d.query); err == nil {
			err = x.fill(ctx)
		}
	}
	if err != nil {
		account{x}.countNoKey(err)
		e, err := d.conn.DB.stats.refusal(ctx, d.query, err)
		return nil, e, err
	}
	return x, event{}, nil
}

// keep returns the execution of a text that gets no keys, and brings keys that are
// followed; nil where there are none. A text without an execution counts as the given
// event; a refusal gets an event of its own.
func (d *directCall) keep(ctx context.Context, p *rewrite.Plan, h rewrite.Holes, e event) (*execution, event, error) {
	x, err := d.kept(ctx, p, h)
	if err != nil {
		e, err = d.conn.DB.stats.refusal(ctx, d.query, err)
		return nil, e, err
	}
	return x, e, nil
}

func (d *directCall) kept(ctx context.Context, p *rewrite.Plan, h rewrite.Holes) (*execution, error) {
	follows, err := newFollowing(ctx, &d.conn.connection, p, d.args, h)
	if !follows.any() || err != nil {
		return nil, err
	}
	x := d.conn.newExecution(ctx, p, d.query, d.args, h)
	x.kept, x.follows = true, follows
	if follows.isBefore(p) && d.conn.preparesFirst(d.by, len(d.args)) {
		return nil, driver.ErrSkip
	}
	if err := d.batch.admit(ctx, x); err != nil {
		return nil, err
	}
	return x, x.fill(ctx)
}

// sendsLastInsertID asks for what has to be known of the tables of a plan, and says
// whether an execution that fills a key has the text with LAST_INSERT_ID(key).
func (c *connection) sendsLastInsertID(ctx context.Context, p *rewrite.Plan) (bool, error) {
	quiet := true
	for i := range p.Inserts {
		t := keys.TableOf(&p.Inserts[i])
		f, err := c.DB.Facts(ctx, &c.Conn, t)
		if err != nil {
			return false, t.KeyError(0, err)
		}
		quiet = quiet && f.LastIDUnread && !f.NumbersOther &&
			(t.LastIDKey < 0 || p.Inserts[i].Rows == 1 || t.KeyColumns[t.LastIDKey].IsAdjacent())
	}
	return p.Session() && quiet, nil
}
