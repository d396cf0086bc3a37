//lint:file-ignore SA1019 drivers may have the interfaces of before contexts only

package fill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// prepare prepares a statement. One that gets no keys is the driver's own.
func (db *Database) prepare(ctx context.Context, g *Conn, query string) (driver.Stmt, error) {
	p, as, err := db.decide(ctx, g, query)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return db.prepareAsIs(ctx, g, query, as)
	}
	if p.Load {
		return db.prepareLoad(ctx, g, query, p)
	}
	if p.Action == rewrite.Keep && !p.AtExecution {
		return db.prepareKept(ctx, g, query, p, as)
	}
	s := &statement{conn: g, plan: p, query: query}
	if e := db.AnyEngine(); e.Dialect.Place.Moves && db.PlaceMatters(e, query, p) {
		s.at = g.Place.At
	}
	t := keys.TableOf(&p.Inserts[0])
	switch mode := db.cautious(p); mode {
	case policy.ModeOff:
		return db.prepareAsIs(ctx, g, query, event{counts: true, table: t.Table, action: p.Action, mode: mode, withheld: true})
	case policy.ModeDryRun:
		s.dry = true
		s.Stmt, err = g.PrepareContext(ctx, query)
		return s.orError(err)
	}
	if x := g.parkedInline(query, p); x != nil {
		s.literal, s.text, s.once, s.session = true, x.text, x, x.session
		s.Stmt, err = g.PrepareContext(ctx, x.text)
		if isBadConn(err) {
			x.lose()
		}
		return s.orError(err)
	}
	if reason := p.Unbound(); reason != "" {
		as, err := db.refusal(p.Refused(reason))
		if err != nil {
			return nil, err
		}
		return db.prepareAsIs(ctx, g, query, as)
	}
	if reason := db.unsuited(p, query); p.Action == rewrite.Fill && reason != "" {
		as, err := db.refusal(p.Refused(reason))
		if err != nil {
			return nil, err
		}
		return db.prepareAsIs(ctx, g, query, as)
	}
	if s.session, err = db.session(ctx, g, p); err != nil {
		return nil, err
	}
	s.plain = db.newPlain(p)
	s.Stmt, err = g.PrepareContext(ctx, p.ProvenText(s.session))
	if isBadConn(err) {
		g.loseParked(query, recorderOf(ctx))
	}
	if err != nil && !isBadConn(err) {
		if old := db.unlessOld(ctx, g, p, err); old != err {
			as, err := db.refusal(old)
			if err != nil {
				return nil, err
			}
			return db.prepareAsIs(ctx, g, query, as)
		}
	}
	return s.orError(setRefused(p, err))
}

// prepareKept prepares a statement whose text may bring keys that are followed.
func (db *Database) prepareKept(ctx context.Context, g *Conn, query string, p *rewrite.Plan, as event) (driver.Stmt, error) {
	brought, err := db.brings(ctx, g, p, nil, rewrite.Holes{})
	if err != nil {
		return nil, err
	}
	if len(brought) == 0 {
		return db.prepareAsIs(ctx, g, query, as)
	}
	s := &statement{conn: g, plan: p, query: query, kept: true}
	s.Stmt, err = g.PrepareContext(ctx, query)
	return s.orError(err)
}

// prepareAsIs prepares the application's own text.
func (db *Database) prepareAsIs(ctx context.Context, g *Conn, query string, as event) (driver.Stmt, error) {
	stmt, err := g.PrepareContext(ctx, query)
	if err == nil {
		db.note(ctx, as)
	}
	return stmt, err
}

// orError returns the statement, or the error that its preparation ended in.
func (s *statement) orError(err error) (driver.Stmt, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// statement is a prepared statement whose executions get keys.
type statement struct {
	driver.Stmt // the driver's, of the changed text
	conn        *Conn
	plan        *rewrite.Plan
	query       string
	session     bool // the first key goes as LAST_INSERT_ID(key)

	// literal says that the text has the keys of one execution as literals,
	// because database/sql prepares what the driver would not execute directly;
	// text is that text, and once is that execution until it has run.
	literal bool
	text    string
	once    *execution

	// plain executes it where its key needs nothing of the transaction; nil elsewhere.
	plain *plain

	// at is where names were looked for when the plan was made, where that may be
	// another table when it is executed; nil elsewhere.
	at *session.Location

	// unproven is the driver's of the text without the proof that a transaction is
	// open, for executions that draw no key of theirs; nil until there is one.
	unproven driver.Stmt

	// kept says that the text is the application's own, which brings keys that are
	// followed.
	kept bool

	// dry says that the text is the application's own: what would become of an
	// execution is decided and counted, no more.
	dry bool
}

var (
	_ driver.Stmt              = (*statement)(nil)
	_ driver.StmtExecContext   = (*statement)(nil)
	_ driver.StmtQueryContext  = (*statement)(nil)
	_ driver.NamedValueChecker = (*statement)(nil)
	_ driver.ColumnConverter   = (*statement)(nil)
)

// NumInput returns the number of the caller's arguments, so that database/sql
// counts them as without us.
func (s *statement) NumInput() int {
	n := s.Stmt.NumInput()
	if n < 0 || s.literal || s.dry || s.kept {
		return n
	}
	return n - s.plan.Added()
}

// begin makes the execution of the statement with these arguments: the one that
// was parked for it, or a new one.
func (s *statement) begin(ctx context.Context, args []driver.NamedValue) (*execution, error) {
	g := s.conn
	if err := s.move(ctx); err != nil {
		return nil, err
	}
	if s.kept {
		return s.beginKept(ctx, args)
	}
	if s.literal {
		x := s.once
		s.once = nil
		if x != nil && equalArgs(x.args, args) && x.resume(ctx, args) {
			return x, nil
		}
		// Another caller of the same transaction prepared the text in between,
		// or executes it again: its keys may go out once.
		if s.plan.TooMany() {
			return s.again(ctx, args)
		}
		if err := s.replace(ctx, s.plan.ProvenText(s.session)); err != nil {
			return nil, err
		}
		s.literal = false
	}
	h, err := holesOf(s.plan, args)
	if err != nil {
		return nil, g.DB.refuseBound(err)
	}
	if reason := g.DB.unsuited(s.plan, s.query); h.Any() && reason != "" {
		return nil, g.DB.refuseBound(s.plan.Refused(reason))
	}
	if x := g.unpark(s, args, valuesFor(ctx, s.plan)); x != nil && x.resume(ctx, args) {
		return x, nil
	}
	x := s.execution(ctx, args, h)
	if x.brought, err = g.DB.brings(ctx, g, s.plan, args, h); err != nil {
		return nil, err
	}
	return s.fill(ctx, x)
}

// beginKept is begin for a text that brings keys which are followed.
func (s *statement) beginKept(ctx context.Context, args []driver.NamedValue) (*execution, error) {
	x := s.execution(ctx, args, rewrite.Holes{})
	x.kept = true
	var err error
	if x.brought, err = s.conn.DB.brings(ctx, s.conn, s.plan, args, x.holes); err != nil {
		return nil, err
	}
	return s.fill(ctx, x)
}

// fill gives an execution its keys, and raises what those follow that it brings. One
// that brings all of its keys, and is refused, is sent without that where the policy
// lets it go out as it came.
func (s *statement) fill(ctx context.Context, x *execution) (*execution, error) {
	err := x.fill(ctx)
	switch {
	case err == nil:
		return x, nil
	case x.holes.Any():
		return nil, s.conn.DB.refuseBound(err)
	}
	as, err := s.conn.DB.refusal(err)
	if err != nil {
		return nil, err
	}
	kept := x.kept
	x = s.execution(ctx, x.args, x.holes)
	x.kept, x.refused, x.keys = kept, &as, make([][]driver.Value, len(s.plan.Draws))
	x.place()
	return x, nil
}

// move makes the plan anew where the session has gone to another place since it was
// made, and the engine takes the table from there.
func (s *statement) move(ctx context.Context) error {
	if s.at == nil {
		return nil
	}
	g := s.conn
	at, err := g.PlaceNow(ctx)
	if err != nil || at == s.at {
		return err
	}
	p, _, err := g.DB.decide(ctx, g, s.query)
	if err != nil {
		return err
	}
	if p == nil || s.literal {
		return g.DB.refuseBound(s.plan.Refused(rewrite.ErrPlace))
	}
	session, err := g.DB.session(ctx, g, p)
	if err != nil {
		return err
	}
	if text := p.BoundText(session); text != s.plan.BoundText(s.session) {
		if err := s.replace(ctx, text); err != nil {
			return err
		}
	}
	s.at, s.plan, s.session, s.plain = at, p, session, g.DB.newPlain(p)
	return nil
}

func (s *statement) execution(ctx context.Context, args []driver.NamedValue, h rewrite.Holes) *execution {
	x := s.conn.execution()
	*x = execution{
		conn: s.conn, plan: s.plan, query: s.query, args: args, holes: h, session: s.session, rec: recorderOf(ctx),
		values: valuesFor(ctx, s.plan),
	}
	return x
}

// resume takes up a parked execution for the same call, or for another one with
// equal arguments: what was decided is decided again, since the caller's []byte
// may have changed in between, and the arguments sent are this caller's.
func (x *execution) resume(ctx context.Context, args []driver.NamedValue) bool {
	h, err := x.plan.Holes(args)
	if err != nil || !x.holes.Equal(h) || x.values != valuesFor(ctx, x.plan) {
		return false
	}
	x.args, x.rec = args, recorderOf(ctx)
	x.place()
	return true
}

// again draws keys for one more execution of a text that has room for literals
// only, and prepares it with them.
func (s *statement) again(ctx context.Context, args []driver.NamedValue) (*execution, error) {
	h, err := holesOf(s.plan, args)
	if err != nil {
		return nil, s.conn.DB.refuseBound(err)
	}
	x := s.execution(ctx, args, h)
	x.inline = true
	if x.brought, err = s.conn.DB.brings(ctx, s.conn, s.plan, args, h); err != nil {
		return nil, err
	}
	if err := x.fill(ctx); err != nil {
		return nil, s.conn.DB.refuseBound(err)
	}
	if err := s.replace(ctx, x.text); err != nil {
		return nil, x.leave(ctx, err)
	}
	return x, nil
}

// replace prepares another text in the place of the statement's.
func (s *statement) replace(ctx context.Context, text string) error {
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	old := s.Stmt
	s.Stmt, s.text = stmt, text
	return old.Close()
}

// of returns the driver's statement for an execution. One whose keys are literals is
// prepared anew where it has got others than it was prepared with. Where every key is
// the caller's own, no transaction has to be open.
func (s *statement) of(ctx context.Context, x *execution) (driver.Stmt, error) {
	switch {
	case s.literal && x.text != s.text:
		err := s.replace(ctx, x.text)
		return s.Stmt, err
	case s.literal, s.kept, x.joining.any, !s.plan.Proves():
		return s.Stmt, nil
	case s.unproven == nil:
		stmt, err := s.conn.PrepareContext(ctx, s.plan.BoundText(s.session))
		if err != nil {
			return nil, err
		}
		s.unproven = stmt
	}
	return s.unproven, nil
}

// Close closes the driver's statements.
func (s *statement) Close() error {
	err := s.Stmt.Close()
	if s.unproven != nil {
		if failed := s.unproven.Close(); err == nil {
			err = failed
		}
	}
	return err
}

// refuseBound counts and returns the refusal of an execution whose text is
// changed already, so that it cannot go out as it came.
func (db *Database) refuseBound(err error) error {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return err
	}
	db.Tally.Of(r.Table, nil).Refuse(r.Reason)
	return refused(r)
}

func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.dry {
		s.dryRun(ctx, args)
		return session.ExecStmt(ctx, s.Stmt, args)
	}
	if r, suits, err := s.run(ctx, args); suits {
		if err != nil {
			return nil, err
		}
		res, err := session.ExecStmt(ctx, s.Stmt, r.sent)
		return r.executed(ctx, res, err)
	}
	x, err := s.begin(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := within(ctx, x, true, func() (driver.Result, error) {
		stmt, err := s.of(ctx, x)
		if err != nil {
			return nil, err
		}
		return session.ExecStmt(ctx, stmt, x.sent)
	})
	res, err = x.executed(ctx, res, err)
	s.conn.release(x, err)
	return res, err
}

func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if s.dry {
		s.dryRun(ctx, args)
		return session.QueryStmt(ctx, s.Stmt, args)
	}
	if r, suits, err := s.run(ctx, args); suits {
		if err != nil {
			return nil, err
		}
		rows, err := session.QueryStmt(ctx, s.Stmt, r.sent)
		return r.queried(ctx, rows, err)
	}
	x, err := s.begin(ctx, args)
	if err != nil {
		return nil, err
	}
	rows, err := within(ctx, x, false, func() (driver.Rows, error) {
		stmt, err := s.of(ctx, x)
		if err != nil {
			return nil, err
		}
		return session.QueryStmt(ctx, stmt, x.sent)
	})
	return x.queried(ctx, rows, err)
}

// dryRun counts and reports what would become of an execution.
func (s *statement) dryRun(ctx context.Context, args []driver.NamedValue) {
	db := s.conn.DB
	h, err := holesOf(s.plan, args)
	if err == nil {
		db.note(ctx, withheld(s.plan, h, policy.ModeDryRun))
		return
	}
	var r *rewrite.Refusal
	if errors.As(err, &r) {
		db.note(ctx, event{counts: true, table: r.Table, action: rewrite.Refuse, reason: r.Reason,
			offset: r.Offset, mode: policy.ModeDryRun, withheld: true})
	}
}

// Exec is for drivers' users of before contexts.
func (s *statement) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), session.NamedValues(args))
}

// Query is for drivers' users of before contexts.
func (s *statement) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), session.NamedValues(args))
}

// CheckNamedValue asks whom database/sql would ask: the driver's statement,
// else its connection. Behind driver.ErrSkip it goes on with ColumnConverter.
func (s *statement) CheckNamedValue(nv *driver.NamedValue) error {
	c, ok := s.Stmt.(driver.NamedValueChecker)
	if !ok {
		return s.conn.CheckNamedValue(nv)
	}
	own := nv.Ordinal
	nv.Ordinal = s.final(own-1) + 1
	err := c.CheckNamedValue(nv)
	nv.Ordinal = own
	return err
}

// ColumnConverter is asked by the caller's index of an argument, the driver's
// statement by the index that it travels at.
func (s *statement) ColumnConverter(index int) driver.ValueConverter {
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return c.ColumnConverter(s.final(index))
	}
	return driver.DefaultParameterConverter
}

// final returns the index at which the caller's argument travels.
func (s *statement) final(index int) int {
	if s.literal || s.dry || s.kept {
		return index
	}
	return s.plan.Final(index)
}
