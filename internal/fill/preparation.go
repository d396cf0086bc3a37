package fill

//row:ways | is prepared | `fill/preparation.go`, `fill/preparedexecution.go`, and the same executors

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// preparation prepares a text that contains an INSERT.
type preparation struct {
	conn  *execution.Conn
	query string
}

// prepare returns the prepared statement; it is the driver's own if it gets no keys.
func (r *preparation) prepare(ctx context.Context) (driver.Stmt, error) {
	for n := 1; ; n++ {
		stmt, err := r.prepareOnce(ctx)
		if err == nil || !decidesAgain(r.conn, n, err) {
			return stmt, err
		}
	}
}

func (r *preparation) prepareOnce(ctx context.Context) (driver.Stmt, error) {
	c, db := r.conn, r.conn.DB
	p, e, err := c.Decide(ctx, r.query, true)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return r.asItIs(ctx, e)
	case p.Load:
		return r.load(ctx, p)
	case p.Action == plans.Keep && !p.AtExecution:
		return r.kept(ctx, p, e)
	}
	s := &statement{conn: c, plan: p, query: r.query}
	if e := db.AnyEngine(); e.Dialect.Place.Moves && db.PlaceMatters(e, r.query, p) {
		s.found = foundIn(c, c.Place.At)
	}
	switch mode := execution.Cautious(db.Tables, p); mode {
	case policy.ModeOff:
		return r.asItIs(ctx, execution.Event{Counts: true, Table: table.Of(&p.Inserts[0]).Table, Owner: table.Of(&p.Inserts[0]), Action: p.Action, Mode: mode, Withheld: true})
	case policy.ModeDryRun:
		s.dry = true
		c.Attempt.NoteOther(r.query)
		s.Stmt, err = c.PrepareContext(ctx, r.query)
		return s.orError(err)
	}
	if x := c.Parked.TakeInline(r.query, p); x != nil {
		s.literal, s.text, s.once, s.session, s.sends = true, x.Outgoing.Text, x, x.Form.Session, x.Form.Session
		s.unsent = len(x.Args) - len(x.Outgoing.Sent)
		s.Stmt, err = c.PrepareContext(ctx, x.Outgoing.Text)
		if execution.IsBadConn(err) {
			x.Recording.Recorder.Lose(x)
		}
		return s.orError(err)
	}
	return r.bound(ctx, s)
}

// bound prepares a statement whose keys are sent as arguments.
func (r *preparation) bound(ctx context.Context, s *statement) (driver.Stmt, error) {
	c, p := r.conn, s.plan
	if p.NeedsParts() {
		return r.refuse(ctx, p.Refused(rewrite.ErrSelectSeveral))
	}
	if reason := p.Unbound(); reason != "" {
		return r.refuse(ctx, p.Refused(reason))
	}
	if reason := executor.Unsuited(c.DB.Tables, p, r.query); p.Action == plans.Fill && reason != "" {
		return r.refuse(ctx, p.Refused(reason))
	}
	var err error
	if s.sends, err = c.SendsLastInsertID(ctx, p); err != nil {
		return nil, err
	}
	s.session = s.sends && c.Brings.Fills(p, r.query)
	s.plain = newPlain(c.DB.Tables, p)
	s.Stmt, err = c.PrepareContext(ctx, preparedText(c, p, s.session))
	switch {
	case err == nil:
	case execution.IsBadConn(err):
		c.Parked.Lose(r.query, execution.RecorderOf(ctx))
	default:
		err = unprepared(c, p, err)
		if old := executor.UnlessOld(ctx, c, p, err); old != err {
			return r.refuse(ctx, old)
		}
	}
	return s.orError(outcome.SetRefused(p, err))
}

// refuse returns the error of a refusal, or prepares the application's own text if the
// policy, or its mode (dry_run or off), lets the text be sent unchanged.
func (r *preparation) refuse(ctx context.Context, refusal error) (driver.Stmt, error) {
	e, err := r.conn.DB.Stats.Refusal(ctx, r.query, refusal)
	if err != nil {
		return nil, err
	}
	return r.asItIs(ctx, e)
}

// kept prepares a statement whose text may contain explicit keys above which a counter
// is raised.
func (r *preparation) kept(ctx context.Context, p *plans.Plan, e execution.Event) (driver.Stmt, error) {
	follows, err := executor.NewFollowing(ctx, r.conn, p, nil, bind.Holes{})
	if err != nil {
		return nil, err
	}
	if !follows.Any() {
		return r.asItIs(ctx, e)
	}
	s := &statement{conn: r.conn, plan: p, query: r.query, kept: true}
	s.Stmt, err = r.conn.PrepareContext(ctx, r.query)
	return s.orError(err)
}

// asItIs prepares the application's own text, unchanged.
func (r *preparation) asItIs(ctx context.Context, e execution.Event) (driver.Stmt, error) {
	r.conn.Numbers.Prepared(r.query)
	r.conn.Attempt.NoteOther(r.query)
	stmt, err := r.conn.PrepareContext(ctx, r.query)
	if err == nil {
		r.conn.DB.Stats.Note(ctx, r.query, e, nil)
	}
	return stmt, err
}

// load prepares a bulk load. If the driver does not accept rows as executions, a load
// without keys is refused.
func (r *preparation) load(ctx context.Context, p *plans.Plan) (driver.Stmt, error) {
	c := r.conn
	c.Numbers.Last = nil
	if !c.DB.Driver.TakesRows() {
		return r.withoutRows(ctx, p)
	}
	mode := execution.Cautious(c.DB.Tables, p)
	if mode == policy.ModeOff {
		return r.asItIs(ctx, execution.Event{Counts: true, Table: p.Inserts[0].Target.Table, Owner: table.Of(&p.Inserts[0]), Action: p.Action, Mode: mode, Withheld: true})
	}
	c.Attempt.NoteOther(r.query)
	l := &bulkLoad{statement: &statement{conn: c, plan: p, query: r.query, dry: mode == policy.ModeDryRun}}
	text := r.query
	if !l.dry {
		if err := l.ask(ctx); err != nil {
			return r.refuse(ctx, err)
		}
		text = bind.Text(l.plan, false)
	}
	stmt, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt.NumInput() >= 0 {
		// The driver has prepared an ordinary statement, which accepts no rows.
		_ = stmt.Close()
		return r.withoutRows(ctx, p)
	}
	l.Stmt = stmt
	return l, nil
}

// withoutRows prepares a bulk load whose rows are not executions. The load is sent
// unchanged if its rows contain their keys, and otherwise refused.
func (r *preparation) withoutRows(ctx context.Context, p *plans.Plan) (driver.Stmt, error) {
	e, err := loadDirectly(ctx, r.query, &r.conn.DB.Stats, p)
	if err != nil {
		return nil, err
	}
	return r.asItIs(ctx, e)
}
