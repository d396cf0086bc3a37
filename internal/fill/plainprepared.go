package fill

import (
	"context"
	"database/sql/driver"
)

// preparePlain prepares a text that has a plain executor. It reports false where the
// text is to be decided; nothing was done then.
func (c *connection) preparePlain(ctx context.Context, s *seenText) (stmt driver.Stmt, done bool, err error) {
	p := s.plainOn(ctx, c)
	if p == nil || c.parked.anyInline() || s.plain.Load().home != nil && s.engine.Dialect.Place.Tables != "" {
		return nil, false, nil // or the text is to prove what it means whenever it is executed
	}
	c.AlteredTables.Created = nil
	asSession := p.isSession(factsOf(c, p.table))
	own := &statement{conn: c, plan: p.plan, query: s.query, session: asSession, sends: asSession, plain: p}
	if f := s.plain.Load(); f.home != nil && s.engine.Dialect.Place.Moves {
		own.found = foundIn(c, f.home)
	}
	if b := p.textFor(asSession); b.leaves {
		own.Stmt, err = c.PrepareQuiet(ctx, b.text)
	} else {
		own.Stmt, err = c.PrepareContext(ctx, b.text)
	}
	if isBadConn(err) {
		c.parked.lose(s.query, nil)
	}
	stmt, err = own.orError(setRefused(p.plan, err))
	return stmt, true, err
}

// run returns a run of a prepared statement, and false where the execution is to be
// decided; nothing was done then. What was parked for the statement is executed first.
func (s *statement) run(ctx context.Context, args []driver.NamedValue) (r plainRun, suits bool, err error) {
	c := s.conn
	if s.plain == nil || c.parked.any() || s.found.at != nil && (!c.Place.Asked || isElsewhere(s, c.Place.At)) || !s.plain.suits(ctx, c) {
		return r, false, nil
	}
	r = plainRun{plain: s.plain, conn: c, query: s.query, args: args, facts: factsOf(c, s.plain.table), session: s.session}
	suits, err = r.draw(ctx)
	return r, suits, err
}
