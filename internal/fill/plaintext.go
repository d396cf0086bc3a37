package fill

import (
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// newPlain returns the fast path for a plan, nil if the plan needs another executor.
// The result depends only on the plan and the policy. A plan whose key is drawn in the
// transaction has the part of the path that prepares: see [execution.Plain].Joined.
func newPlain(tables *relation.Tables, p *plans.Plan) *execution.Plain {
	if p.Action != plans.Fill || p.AtExecution || p.Load || p.Ambiguous() || p.TooMany() || p.Placeholders() == 0 ||
		p.Statements != 1 || len(p.Inserts) != 1 || len(p.Draws) != 1 || !p.Alone() || p.Counts() || p.ByFunction() {
		return nil
	}
	in := &p.Inserts[0]
	t := table.Of(in)
	i := p.Draws[0].Key
	k := &t.KeyColumns[i]
	if in.Query != nil || in.Explained || in.Rows < 1 || in.Target.Keys[i].Scope != nil || len(k.StateValues()) > 0 || t.Mode != policy.ModeFill {
		return nil
	}
	for j := range t.KeyColumns {
		if bind.ExplicitKeys(p, nil, bind.Holes{}, 0, j).Any() {
			return nil // the text may contain explicit keys, above which a counter has to be raised
		}
	}
	switch {
	case k.Rule.Joined:
		if tables.Detached || bindsBytes(p) || in.Upsert.Conflict != plans.ConflictError || executor.Unsuited(tables, p, p.Changes.Query) != "" {
			return nil
		}
	case p.ProvesOpen(), executor.Miscounts(tables, p), k.Source == nil && executor.MayLeaveOut(p):
		return nil
	}
	return &execution.Plain{Plan: p, Bytes: bindsBytes(p), Joined: k.Rule.Joined, In: in, Table: t, Key: i, Session: p.Session, Sets: p.Dialect.Grammar.ValueSets,
		IsOne: in.Rows == 1 && in.Upsert.Conflict == plans.ConflictError}
}

// newPlainText returns the fast path for a text. If its field Plain is nil, the text
// has none. known is false if that cannot be decided yet.
func newPlainText(tables *relation.Tables, e *table.Engine, query string) (f *execution.PlainText, known bool) {
	p := e.Plan(query)
	if tables.Casing.Load() == session.CasingUnknown && tables.ExactCandidates != nil && e.CaseMatters(p) {
		return nil, false
	}
	if e != tables.Engine.Load() {
		return nil, false // e is out of date: it was just found out whether the server distinguishes the case of names
	}
	one := newPlain(tables, p)
	if one == nil {
		return new(execution.PlainText), true
	}
	f = &execution.PlainText{Plain: one}
	for i, asSession := range []bool{false, true} {
		text := bind.Text(p, asSession)
		if one.Joined {
			text = bind.ProvenText(p, asSession)
		}
		f.Bound[i] = execution.BoundText{Text: text, Leaves: session.IsQuiet(p.Dialect, text)}
	}
	t := one.Table
	if !e.AsksPlace {
		return f, true
	}
	switch {
	case one.In.Name.Database != "", e.Policy.Schemas(), relation.StateNeedsSchema(t):
		return new(execution.PlainText), true // there is no fast path, since the plan depends on the session's schema or search path
	case !e.UsesPlace || !t.AsksCatalog:
		return f, true
	}
	if f.Home = knownHome(tables); f.Home == nil {
		return nil, false
	}
	return f, true
}

// knownHome returns the place (the schema or search path) in which the database was
// opened, nil if it was not queried yet.
func knownHome(tables *relation.Tables) *session.Location {
	if tables.StatesOnConnection() {
		return tables.Places.Of("")
	}
	return tables.Places.Home.Load()
}
