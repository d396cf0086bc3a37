package table

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// SameColumns reports whether two plans of one query read it alike, of the same tables,
// and write the same column lists, so that the arguments of one fit the text of the
// other.
func SameColumns(a, b *plans.Plan) bool {
	return a == b || a.Dialect == b.Dialect && slices.EqualFunc(a.Inserts, b.Inserts, func(a, b plans.Insert) bool {
		return a.Target.Owner == b.Target.Owner && slices.Equal(a.Target.Columns, b.Target.Columns)
	})
}

// ListedPlan returns the plan of a query for a table with these columns, in the
// engine's dialect under the settings of a session.
func (e *Engine) ListedPlan(n Naming, d *dialect.Dialect, query string, target *plans.Target, columns []string) *plans.Plan {
	// No name has a NUL in it, and none is empty.
	key := n.Key + string(rune(d.Settings)) + strings.Join(columns, "\x00") + "\x00\x00" + query
	if p, ok := e.ListedPlans.Get(key); ok {
		return p
	}
	known := *target
	known.Columns = columns
	return e.planFor(key, n, d, query, &known)
}

// SolePlan returns the plan of a query for a table that has no unique index but on a key
// alone.
func (e *Engine) SolePlan(n Naming, d *dialect.Dialect, query string, target *plans.Target, k int) *plans.Plan {
	// No column list begins with a NUL.
	key := n.Key + string(rune(d.Settings)) + "\x00" + strings.Join(target.Columns, "\x00") + "\x00\x00" + query
	if p, ok := e.ListedPlans.Get(key); ok {
		return p
	}
	known := *target
	known.Keys = slices.Clone(target.Keys)
	known.Keys[k].Sole = true
	return e.planFor(key, n, d, query, &known)
}

// planFor makes the plan of a query for a table of which more is known than the policy says,
// and keeps it.
func (e *Engine) planFor(key string, n Naming, d *dialect.Dialect, query string, known *plans.Target) *plans.Plan {
	p := compile.Query(d, func(schema, name string) *plans.Target {
		found := n.Lookup(schema, name)
		if found != nil && found.Owner == known.Owner {
			return known
		}
		return found
	}, query)
	e.ListedPlans.Put(key, p)
	return p
}
