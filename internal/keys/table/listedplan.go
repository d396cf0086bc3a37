package table

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// SameColumns reports whether two plans of one query have the same dialect, the same
// tables and the same column lists, so that the arguments of one plan fit the text of
// the other.
func SameColumns(a, b *plans.Plan) bool {
	return a == b || a.Dialect == b.Dialect && slices.EqualFunc(a.Inserts, b.Inserts, func(a, b plans.Insert) bool {
		return a.Target.Owner == b.Target.Owner && slices.Equal(a.Target.Columns, b.Target.Columns)
	})
}

// ListedPlan returns the plan of a query for a table that has these columns, in the
// engine's dialect with the settings of a session.
func (e *Engine) ListedPlan(n Naming, d *dialect.Dialect, query string, target *plans.Target, columns []string) *plans.Plan {
	// The parts are separated by NULs: no name contains a NUL, and no name is empty.
	key := n.Key + string(rune(d.Settings)) + strings.Join(columns, "\x00") + "\x00\x00" + query
	if p, ok := e.ListedPlans.Get(key); ok {
		return p
	}
	known := *target
	known.Columns = columns
	return e.planFor(key, n, d, query, &known)
}

// SolePlan returns the plan of a query for a table whose only unique index is on key k
// alone.
func (e *Engine) SolePlan(n Naming, d *dialect.Dialect, query string, target *plans.Target, k int) *plans.Plan {
	// The NUL before the columns distinguishes the key from one of ListedPlan: no column
	// list begins with a NUL.
	key := n.Key + string(rune(d.Settings)) + "\x00" + strings.Join(target.Columns, "\x00") + "\x00\x00" + query
	if p, ok := e.ListedPlans.Get(key); ok {
		return p
	}
	known := *target
	known.Keys = slices.Clone(target.Keys)
	known.Keys[k].Sole = true
	return e.planFor(key, n, d, query, &known)
}

// planFor makes and caches the plan of a query for a table about which more is known
// than the policy says.
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
