package table

import (
	"maps"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Naming says which configured table a name of a text means.
type Naming struct {
	Lookup plans.Lookup

	// Key separates plans of this naming from others in a cache; empty if the text alone says
	// what names mean.
	Key string

	// Now is the schemas of tables in a transaction that has changed some, by name, as
	// far as they were asked for.
	Now map[string]string
}

// KeyOfNow returns a part of a cache key that separates plans by the schemas that tables have
// in a transaction.
func KeyOfNow(now map[string]string) string {
	var b strings.Builder
	b.WriteString("now\x00")
	for _, name := range slices.Sorted(maps.Keys(now)) {
		b.WriteString(name + "\x00" + now[name] + "\x00")
	}
	return b.String()
}

// anyTable stands for a table that is configured in some schema.
var anyTable = &plans.Target{Table: "?", Keys: []plans.Key{{Column: "?"}}}

// MayMean reports whether a text that is passed may insert into a configured table in
// another place.
func (e *Engine) MayMean(p *plans.Plan, query string) bool {
	key := string(rune(p.Dialect.Settings)) + "\x00any\x00" + query
	any, ok := e.ListedPlans.Get(key)
	if !ok {
		any = compile.Query(p.Dialect, func(schema, name string) *plans.Target {
			if schema == "" && e.Policy.Anywhere(name) {
				return anyTable
			}
			return nil
		}, query)
		e.ListedPlans.Put(key, any)
	}
	return any.Action != plans.Pass
}

// Passes reports whether a query is passed whatever the settings of the session and
// its place are.
func (e *Engine) Passes(query string) bool {
	p := e.Plan(query)
	return p.Action == plans.Pass && !p.Ambiguous() && !(e.Policy.HasDefaultSchema() && e.MayMean(p, query))
}

// CaseMatters reports whether the names of a plan may mean other tables where their case
// counts.
func (e *Engine) CaseMatters(p *plans.Plan) bool {
	if p.Action == plans.Pass {
		return false
	}
	if e.Policy.Cased() {
		return true
	}
	for i := range p.Inserts {
		if p.Inserts[i].Name.Cased {
			return true
		}
	}
	return false
}

// PassesAtSight reports whether the first words of a query show that it is passed. If they do
// not, ask Passes.
func (e *Engine) PassesAtSight(query string) bool {
	name, ok := words.SoleTable(e.Dialect, query)
	if !ok {
		return false
	}
	name = e.Dialect.FoldTable(name, false)
	return e.Policy.Match("", name) == nil && !(e.Policy.HasDefaultSchema() && e.Policy.Anywhere(name))
}
