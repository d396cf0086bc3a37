package compile

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Readings returns the plan for a query on a connection whose settings are not known. The
// plan holds under the dialect's own settings. It is [plans.Plan.Ambiguous] if the engine
// may run the text under other settings that give another plan.
//
// Not every text with a quote or a backslash is ambiguous: another setting has to change
// both the tokens and the plan. A setting under which the engine can only refuse the text
// does not count: added keys have paired quotes, so an unclosed string, or a backslash
// outside of strings, stays an error.
func Readings(d *dialect.Dialect, lookup plans.Lookup, query string) *plans.Plan {
	p := Query(d, lookup, query)
	for _, s := range effects.OtherSettings(d, query) {
		o := Query(d.With(s), lookup, p.Changes.Query)
		if !o.StringTarget() && !p.Same(o) {
			p.Readings = append(p.Readings, plans.Reading{Settings: s, Plan: o})
		}
	}
	return p
}
