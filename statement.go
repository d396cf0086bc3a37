package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// prepare prepares a statement. One that gets no keys is the driver's own.
func (m *Mount) prepare(ctx context.Context, g *guard, query string) (driver.Stmt, error) {
	p, err := m.decide(ctx, g, query)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return g.PrepareContext(ctx, query)
	}
	t := tableOf(&p.Inserts[0])
	if mode := m.effective(t); mode != policy.ModeFill {
		ev := event{table: t.Table, action: p.Action, withheld: p.Action == rewrite.Fill}
		m.counters.count(ev)
		if mode == policy.ModeDryRun && ev.withheld {
			m.report(ctx, mode, ev, 0)
		}
		return g.PrepareContext(ctx, query)
	}
	s := &statement{guard: g, plan: p, query: query}
	if x := g.parkedInline(query); x != nil {
		s.literal, s.once = true, x
		s.Stmt, err = g.PrepareContext(ctx, x.text)
		return s.orError(err)
	}
	if p.TooMany() {
		if err := m.refusal(ctx, p.Refused(rewrite.ErrTooMany)); err != nil {
			return nil, err
		}
		return g.PrepareContext(ctx, query)
	}
	s.Stmt, err = g.PrepareContext(ctx, p.BoundText())
	return s.orError(err)
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
	guard       *guard
	plan        *rewrite.Plan
	query       string

	// literal says that the text has the keys of one execution as literals,
	// because database/sql prepares what the driver would not execute directly;
	// once is that execution until it has run.
	literal bool
	once    *execution
}

var (
	_ driver.Stmt              = (*statement)(nil)
	_ driver.StmtExecContext   = (*statement)(nil)
	_ driver.StmtQueryContext  = (*statement)(nil)
	_ driver.NamedValueChecker = (*statement)(nil)
	_ driver.ColumnConverter   = (*statement)(nil) //nolint:staticcheck // drivers may have no other
)

// NumInput returns the number of the caller's arguments, so that database/sql
// counts them as without us.
func (s *statement) NumInput() int {
	n := s.Stmt.NumInput()
	if n < 0 || s.literal {
		return n
	}
	return n - s.plan.Added()
}

// begin makes the execution of the statement with these arguments: the one that
// was parked for it, or a new one.
func (s *statement) begin(ctx context.Context, args []driver.NamedValue) (*execution, error) {
	g := s.guard
	if s.literal {
		x := s.once
		s.once = nil
		if x != nil && equalArgs(x.args, args) {
			x.rec = recorderOf(ctx)
			return x, nil
		}
		// Another caller of the same transaction prepared the text in between,
		// or executes it again: its keys may go out once.
		if err := s.rebind(ctx); err != nil {
			return nil, err
		}
	}
	h, err := s.plan.Holes(args)
	if err != nil {
		return nil, g.mount.refuseBound(err)
	}
	if x := g.unpark(s.query, args); x != nil {
		x.rec = recorderOf(ctx)
		return x, nil
	}
	x := &execution{guard: g, plan: s.plan, query: s.query, args: args, holes: h, rec: recorderOf(ctx)}
	if x.keys, err = draw(ctx, s.plan, h); err != nil {
		return nil, err
	}
	x.place()
	return x, nil
}

// rebind replaces a text with literals by the bound one.
func (s *statement) rebind(ctx context.Context) error {
	if s.plan.TooMany() {
		return s.guard.mount.refuseBound(s.plan.Refused(rewrite.ErrTooMany))
	}
	bound, err := s.guard.PrepareContext(ctx, s.plan.BoundText())
	if err != nil {
		return err
	}
	old := s.Stmt
	s.Stmt, s.literal = bound, false
	return old.Close()
}

// refuseBound counts and returns the refusal of an execution whose text is
// changed already, so that it cannot go out as it came.
func (m *Mount) refuseBound(err error) error {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return err
	}
	m.counters.count(event{table: r.Table, action: rewrite.Refuse, reason: r.Reason})
	return refused(r)
}

func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	x, err := s.begin(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := stmtExec(ctx, s.Stmt, x.sent)
	return x.executed(res, err)
}

func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	x, err := s.begin(ctx, args)
	if err != nil {
		return nil, err
	}
	rows, err := stmtQuery(ctx, s.Stmt, x.sent)
	return x.queried(rows, err)
}

// Exec is for drivers' users of before contexts.
func (s *statement) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), namedValues(args))
}

// Query is for drivers' users of before contexts.
func (s *statement) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), namedValues(args))
}

// CheckNamedValue asks whom database/sql would ask: the driver's statement,
// else its connection, else nobody.
func (s *statement) CheckNamedValue(nv *driver.NamedValue) error {
	c, ok := s.Stmt.(driver.NamedValueChecker)
	if !ok {
		return s.guard.CheckNamedValue(nv)
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
	if c, ok := s.Stmt.(driver.ColumnConverter); ok { //nolint:staticcheck // drivers may have no other
		return c.ColumnConverter(s.final(index))
	}
	return driver.DefaultParameterConverter
}

// final returns the index at which the caller's argument travels.
func (s *statement) final(index int) int {
	if s.literal {
		return index
	}
	return s.plan.Final(index)
}

// stmtExec executes a driver's statement as database/sql does.
func stmtExec(ctx context.Context, stmt driver.Stmt, args []driver.NamedValue) (driver.Result, error) {
	if s, ok := stmt.(driver.StmtExecContext); ok {
		return s.ExecContext(ctx, args)
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return stmt.Exec(values) //nolint:staticcheck // drivers may have no other
}

// stmtQuery queries a driver's statement as database/sql does.
func stmtQuery(ctx context.Context, stmt driver.Stmt, args []driver.NamedValue) (driver.Rows, error) {
	if s, ok := stmt.(driver.StmtQueryContext); ok {
		return s.QueryContext(ctx, args)
	}
	values, err := plainValues(ctx, args)
	if err != nil {
		return nil, err
	}
	return stmt.Query(values) //nolint:staticcheck // drivers may have no other
}
