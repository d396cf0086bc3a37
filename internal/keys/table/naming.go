package table

import (
	"maps"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Naming determines which configured table a name in a text means.
type Naming struct {
	Lookup plans.Lookup

	// Key separates plans of this naming from others in a cache; it is empty if the text
	// alone determines what names mean.
	Key string

	// Now holds the schemas of tables, by name, in a transaction that has changed tables,
	// as far as they were queried.
	Now map[string]string
}

// KeyOfNow returns a part of a cache key that separates plans by the schemas which
// tables have in a transaction.
func KeyOfNow(now map[string]string) string {
	var b strings.Builder
	b.WriteString("now\x00")
	for _, name := range slices.Sorted(maps.Keys(now)) {
		b.WriteString(name + "\x00" + now[name] + "\x00")
	}
	return b.String()
}

// anyTable is the target (a table with its keys) of every name that is configured in some
// schema.
var anyTable = &plans.Target{Table: "?", Keys: []plans.Key{{Column: "?"}}}

// MayMean reports whether a text that is passed unchanged may insert into a configured
// table if the session has another schema.
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

// Passes reports whether a query is passed unchanged whatever the settings and the
// schema of the session are.
func (e *Engine) Passes(query string) bool {
	p := e.Plan(query)
	return p.Action == plans.Pass && !p.Ambiguous() && !(e.Policy.HasDefaultSchema() && e.MayMean(p, query))
}

// CaseMatters reports whether the names of a plan may mean other tables on a server
// that distinguishes upper and lower case.
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

// PassesAtSight reports whether the first words of a query show that it is passed
// unchanged. If it returns false, ask Passes.
func (e *Engine) PassesAtSight(query string) bool {
	name, ok := words.SoleTable(e.Dialect, query)
	if !ok {
		return false
	}
	name = e.Dialect.FoldTable(name, false)
	return e.Policy.Match("", name) == nil && !(e.Policy.HasDefaultSchema() && e.Policy.Anywhere(name))
}
