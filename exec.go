package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// execution is one logical execution of a statement that gets keys: they are
// drawn once for it, whatever detour database/sql takes.
type execution struct {
	guard  *guard
	plan   *rewrite.Plan
	query  string              // as the application sent it
	args   []driver.NamedValue // as the application sent them
	holes  rewrite.Holes
	keys   [][]driver.Value
	inline bool // keys are literals in the text
	rec    *Recorder

	text string // what is sent
	sent []driver.NamedValue
}

// route is how a statement reaches the driver.
type route uint8

const (
	byExec route = iota
	byQuery
)

// exec executes a statement that is not prepared.
func (m *Mount) exec(ctx context.Context, g *guard, query string, args []driver.NamedValue) (driver.Result, error) {
	x, err := m.direct(ctx, g, query, args, byExec)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return g.ExecContext(ctx, query, args)
	}
	res, err := g.ExecContext(ctx, x.text, x.sent)
	if err == driver.ErrSkip {
		g.park(x)
		return nil, err
	}
	return x.executed(res, err)
}

// query executes a statement that gives rows and is not prepared.
func (m *Mount) query(ctx context.Context, g *guard, query string, args []driver.NamedValue) (driver.Rows, error) {
	x, err := m.direct(ctx, g, query, args, byQuery)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return g.QueryContext(ctx, query, args)
	}
	rows, err := g.QueryContext(ctx, x.text, x.sent)
	if err == driver.ErrSkip {
		g.park(x)
		return nil, err
	}
	return x.queried(rows, err)
}

// direct decides a statement that is not prepared and draws its keys. The
// execution is nil when the statement goes out as it came.
func (m *Mount) direct(ctx context.Context, g *guard, query string, args []driver.NamedValue, by route) (*execution, error) {
	p, err := m.decide(ctx, g, query)
	if p == nil || err != nil {
		return nil, err
	}
	inline := p.TooMany() || p.Placeholders() == 0 && len(args) == 0 &&
		!(by == byQuery && m.facts.cachesQueries)
	if !inline && !g.can(by) {
		// Keys are drawn when database/sql comes back with the prepared
		// statement.
		return nil, driver.ErrSkip
	}
	h, err := p.Holes(args)
	if err != nil {
		return nil, m.refusal(ctx, err)
	}
	if withheld, err := m.settle(ctx, p, h); withheld || err != nil {
		return nil, err
	}
	x := &execution{guard: g, plan: p, query: query, args: args, holes: h, inline: inline, rec: recorderOf(ctx)}
	if x.keys, err = draw(ctx, p, h); err != nil {
		return nil, err
	}
	x.place()
	return x, nil
}

// place puts the keys where they travel.
func (x *execution) place() {
	if x.inline {
		x.text, x.sent = x.plan.Inline(x.args, x.holes, x.keys)
		return
	}
	x.text, x.sent = x.plan.BoundText(), x.plan.Bind(x.args, x.holes, x.keys)
}

// decide returns the plan of a statement that may get keys; nil when it goes
// out as it came.
func (m *Mount) decide(ctx context.Context, g *guard, query string) (*rewrite.Plan, error) {
	e := m.engine.Load()
	if e == nil {
		if policy.Mode(m.mode.Load()) == policy.ModeOff {
			// Off asks the server nothing.
			return nil, nil
		}
		var err error
		if e, err = m.know(ctx, g); err != nil {
			return nil, err
		}
	}
	p := e.plan(query)
	switch {
	case p.Action == rewrite.Pass:
		m.counters.count(event{action: rewrite.Pass})
		return nil, nil
	case p.Action == rewrite.Refuse:
		return nil, m.refusal(ctx, p.Refusal)
	case p.Action == rewrite.Keep && !p.AtExecution:
		m.counters.count(event{table: p.Inserts[0].Target.Table, action: rewrite.Keep})
		return nil, nil
	}
	return p, nil
}

// refusal counts an INSERT that cannot be filled and returns its error, or nil
// where the policy or the mode lets it go out as it came.
func (m *Mount) refusal(ctx context.Context, err error) error {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return err
	}
	t := r.Target.Owner.(*table)
	mode := m.effective(t)
	ev := event{table: r.Table, action: rewrite.Refuse, reason: r.Reason}
	ev.withheld = mode != policy.ModeFill || t.rule.Unsupported == policy.Unfilled
	m.counters.count(ev)
	if ev.withheld {
		m.report(ctx, mode, ev, r.Offset)
		return nil
	}
	return refused(r)
}

// settle says whether a statement whose holes are known goes out as it came:
// because no place takes a key, or because of the mode.
func (m *Mount) settle(ctx context.Context, p *rewrite.Plan, h rewrite.Holes) (withheld bool, err error) {
	t := tableOf(&p.Inserts[0])
	if !h.Any() {
		m.counters.count(event{table: t.Table, action: rewrite.Keep})
		return true, nil
	}
	mode := m.effective(t)
	if mode == policy.ModeFill {
		return false, nil
	}
	ev := event{table: t.Table, action: rewrite.Fill, withheld: true}
	m.counters.count(ev)
	if mode == policy.ModeDryRun {
		m.report(ctx, mode, ev, 0)
	}
	return true, nil
}

// count notes that the execution's statement is sent.
func (x *execution) count() {
	ev := event{table: x.plan.Inserts[0].Target.Table, action: rewrite.Keep}
	for _, n := range x.holes.Counts {
		if n > 0 {
			ev.action = rewrite.Fill
			ev.keys += n
		}
	}
	x.guard.mount.counters.count(ev)
}

// executed finishes an Exec.
func (x *execution) executed(res driver.Result, err error) (driver.Result, error) {
	x.count()
	if x.rec != nil {
		x.rec.executed(x, res, err)
	}
	return res, err
}

// queried finishes a Query; what was stored is known when its rows are read.
func (x *execution) queried(rows driver.Rows, err error) (driver.Rows, error) {
	x.count()
	if x.rec == nil {
		return rows, err
	}
	if err != nil {
		x.rec.executed(x, nil, err)
		return nil, err
	}
	return x.rec.observe(x, rows), nil
}

// can reports whether the driver's connection takes the route itself.
func (g *guard) can(by route) bool {
	if by == byQuery {
		return g.queries
	}
	return g.execs
}

// maxParked bounds what a long transaction can leave behind by executions whose
// arguments equal none when they come back.
const maxParked = 64

// park keeps an execution whose driver answered ErrSkip for the Prepare and the
// execution of the same text that database/sql sends next on this connection.
func (g *guard) park(x *execution) {
	if len(g.parked) == maxParked {
		g.parked = slices.Delete(g.parked, 0, 1)
	}
	g.parked = append(g.parked, x)
}

// parkedInline returns the oldest parked execution of a text whose keys are
// literals: they have to be in the text that is prepared.
func (g *guard) parkedInline(query string) *execution {
	for i, x := range g.parked {
		if x.inline && x.query == query {
			g.parked = slices.Delete(g.parked, i, i+1)
			return x
		}
	}
	return nil
}

// unpark returns the oldest parked execution of a text with equal arguments.
func (g *guard) unpark(query string, args []driver.NamedValue) *execution {
	for i, x := range g.parked {
		if !x.inline && x.query == query && equalArgs(x.args, args) {
			g.parked = slices.Delete(g.parked, i, i+1)
			return x
		}
	}
	return nil
}

// equalArgs compares arguments by the driver's basic types, []byte by content.
// A value of any other type equals none.
func equalArgs(a, b []driver.NamedValue) bool {
	return slices.EqualFunc(a, b, func(x, y driver.NamedValue) bool {
		if x.Name != y.Name || x.Ordinal != y.Ordinal {
			return false
		}
		return equalValues(x.Value, y.Value)
	})
}
