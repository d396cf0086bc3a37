package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/session"
)

// preparePlain prepares a text that has a fast path ([execution.Plain]). done is false
// if the treatment of the text has to be decided; then nothing was done.
func preparePlain(ctx context.Context, c *execution.Conn, s *execution.SeenText) (stmt driver.Stmt, done bool, err error) {
	p := plainOn(ctx, s, c, session.ConvertsPrepared)
	if p == nil || c.Parked.Any() && c.Parked.AnyInline() || s.Plain.Load().Home != nil && s.Engine.Dialect.Place.Tables != "" {
		return nil, false, nil // there is no fast path, or the text has to prove at each execution what its table's name means
	}
	c.AlteredTables.Created = nil
	b, asSession := textFor(p, execution.FactsOf(c, p.Table))
	own := &statement{conn: c, plan: p.Plan, query: s.Query, session: asSession, sends: asSession, plain: p}
	if f := s.Plain.Load(); f.Home != nil && s.Engine.Dialect.Place.Moves {
		own.found = foundIn(c, f.Home)
	}
	if b.Leaves {
		own.Stmt, err = c.PrepareQuiet(ctx, b.Text)
	} else {
		own.Stmt, err = c.PrepareContext(ctx, b.Text)
	}
	if err != nil {
		if execution.IsBadConn(err) {
			c.Parked.Lose(s.Query, nil)
		}
		return nil, true, outcome.SetRefused(p.Plan, err)
	}
	return own, true, nil
}

// run returns a run of the fast path for a prepared statement. suits is false if the
// execution has to begin in another way; then nothing was done.
func (s *statement) run(ctx context.Context, args []driver.NamedValue) (r plainRun, suits bool, err error) {
	if s.plain == nil || s.plain.Joined || !isAsPrepared(ctx, s) {
		return r, false, nil
	}
	r = plainRun{Plain: s.plain, conn: s.conn, query: s.query, args: args, facts: execution.FactsOf(s.conn, s.plain.Table), session: s.session}
	suits, err = r.draw(ctx)
	return r, suits, err
}

// isAsPrepared reports whether a statement with a fast path still means what it meant when
// it was prepared. It returns false while executions are parked (kept after the driver
// answered driver.ErrSkip), which have to be executed first.
func isAsPrepared(ctx context.Context, s *statement) bool {
	c := s.conn
	return !c.Parked.Any() && (s.found.at == nil || c.Place.Asked && !isElsewhere(s, c.Place.At)) && s.plain.Suits(ctx, c, session.ConvertsPrepared)
}

// beginJoined returns the execution of a statement whose only key is drawn in the
// transaction, with its key. suits is false if statement.begin has to make the execution.
func beginJoined(ctx context.Context, s *statement, args []driver.NamedValue) (x *execution.Execution, suits bool, err error) {
	if s.plain == nil || !s.plain.Joined || !isAsPrepared(ctx, s) {
		return nil, false, nil
	}
	h, err := holesOf(s.plan, args)
	if err != nil {
		return nil, true, s.conn.DB.Stats.RefuseBound(ctx, s.query, err)
	}
	x = s.conn.EmptyExecution()
	x.Conn, x.Plan, x.Query, x.Args, x.Holes, x.Form.Session = s.conn, s.plan, s.query, args, h, s.sends && h.Any()
	if err := executor.FillJoined(ctx, x); err != nil {
		outcome.Account{X: x}.CountNoKey(err)
		return nil, true, s.conn.DB.Stats.RefuseBound(ctx, s.query, err)
	}
	return x, true, nil
}
