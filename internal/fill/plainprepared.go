package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
)

// preparePlain prepares a text that has a fast path ([execution.Plain]). done is false
// if the treatment of the text has to be decided; then nothing was done.
func preparePlain(ctx context.Context, c *execution.Conn, s *execution.SeenText) (stmt driver.Stmt, done bool, err error) {
	p := plainOn(ctx, s, c)
	if p == nil || c.Parked.AnyInline() || s.Plain.Load().Home != nil && s.Engine.Dialect.Place.Tables != "" {
		return nil, false, nil // or the text has to prove what its names mean at each execution
	}
	c.AlteredTables.Created = nil
	asSession := isOfSession(p, execution.FactsOf(c, p.Table))
	own := &statement{conn: c, plan: p.Plan, query: s.Query, session: asSession, sends: asSession}
	if !p.Joined {
		own.plain = p
	}
	if f := s.Plain.Load(); f.Home != nil && s.Engine.Dialect.Place.Moves {
		own.found = foundIn(c, f.Home)
	}
	if b := textFor(p, asSession); b.Leaves {
		own.Stmt, err = c.PrepareQuiet(ctx, b.Text)
	} else {
		own.Stmt, err = c.PrepareContext(ctx, b.Text)
	}
	if execution.IsBadConn(err) {
		c.Parked.Lose(s.Query, nil)
	}
	stmt, err = own.orError(outcome.SetRefused(p.Plan, err))
	return stmt, true, err
}

// run returns a run of the fast path for a prepared statement. suits is false if the
// treatment of the execution has to be decided; then nothing was done. That is the case
// while executions are parked (kept after the driver answered driver.ErrSkip), which
// have to be executed first.
func (s *statement) run(ctx context.Context, args []driver.NamedValue) (r plainRun, suits bool, err error) {
	c := s.conn
	if s.plain == nil || c.Parked.Any() || s.found.at != nil && (!c.Place.Asked || isElsewhere(s, c.Place.At)) || !suitsPlain(ctx, s.plain, c) {
		return r, false, nil
	}
	r = plainRun{Plain: s.plain, conn: c, query: s.query, args: args, facts: execution.FactsOf(c, s.plain.Table), session: s.session}
	suits, err = r.draw(ctx)
	return r, suits, err
}
