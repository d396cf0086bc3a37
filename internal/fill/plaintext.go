package fill

import (
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// newPlain returns the plain executor of a plan, nil where another one is needed. The
// answer depends on the plan and the policy alone.
func newPlain(tables *keys.Tables, p *rewrite.Plan) *plain {
	if p.Action != rewrite.Fill || p.AtExecution || p.Load || p.Ambiguous() || p.TooMany() || p.Placeholders() == 0 ||
		p.Statements != 1 || len(p.Inserts) != 1 || len(p.Draws) != 1 || !p.Alone() || p.Counts() || p.ProvesOpen() || p.ByFunction() {
		return nil
	}
	in := &p.Inserts[0]
	t := keys.TableOf(in)
	i := p.Draws[0].Key
	k := &t.KeyColumns[i]
	if in.Query != nil || in.Explained || in.Rows < 1 || in.Target.Keys[i].Scope != nil || k.Rule.Joined || len(k.StateValues()) > 0 || t.Mode != policy.ModeFill {
		return nil
	}
	for j := range t.KeyColumns {
		if p.Explicit(nil, rewrite.Holes{}, 0, j).Any() {
			return nil // which may raise a numbering
		}
	}
	if miscounts(tables, p) || k.Source == nil && mayLeaveOut(p) {
		return nil
	}
	return &plain{plan: p, in: in, table: t, key: i, session: p.Session(), sets: p.Dialect().Grammar.ValueSets,
		isOne: in.Rows == 1 && in.Conflict == rewrite.ConflictError}
}

// plainText is the plain executor of a text that comes again, for as long as its
// connection knows nothing that gives the text another meaning.
type plainText struct {
	*plain
	home *session.Location // where the session has to be; nil where its place does not matter
}

// newPlainText returns the plain executor of a text. One without plain means that the
// text has none. known is false while this cannot be decided yet.
func newPlainText(tables *keys.Tables, e *keys.Engine, query string) (f *plainText, known bool) {
	p := e.Plan(query)
	if tables.Casing.Load() == session.CasingUnknown && tables.ExactCandidates != nil && e.CaseMatters(p) {
		return nil, false
	}
	if e != tables.Engine.Load() {
		return nil, false // it has just been found out how the case of names counts
	}
	one := newPlain(tables, p)
	if one == nil {
		return new(plainText), true
	}
	f = &plainText{plain: one}
	for i, asSession := range []bool{false, true} {
		text := p.BoundText(asSession)
		f.bound[i] = boundText{text, session.IsQuiet(p.Dialect(), text)}
	}
	t := one.table
	if !e.AsksPlace {
		return f, true
	}
	switch {
	case one.in.Database != "", e.Policy.Schemas(), keys.StateNeedsSchema(t):
		return new(plainText), true // its plan depends on the place
	case !e.UsesPlace || !t.AsksCatalog:
		return f, true
	}
	if f.home = knownHome(tables); f.home == nil {
		return nil, false
	}
	return f, true
}

// knownHome returns the place that the database is opened in, nil before it was asked.
func knownHome(tables *keys.Tables) *session.Location {
	if tables.StatesOnConnection() {
		return tables.Places.Of("")
	}
	return tables.Places.Home.Load()
}
