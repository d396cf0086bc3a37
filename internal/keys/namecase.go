package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// PlanByCase returns the plan of a query. Where the plan depends on whether the case of
// tables' names counts, it asks the server once, and returns the engine to use from then
// on.
func (g *Session) PlanByCase(ctx context.Context, e *Engine, query string) (*Engine, *rewrite.Plan, error) {
	p := e.Plan(query)
	if g.tables.Casing.Load() != session.CasingUnknown || g.tables.ExactCandidates == nil || policy.Mode(g.tables.Mode.Load()) == policy.ModeOff || !e.CaseMatters(p) {
		return e, p, nil
	}
	if p.Reads()&rewrite.ReadsCount != 0 && p.Action != rewrite.Refuse {
		return e, p.Withheld(rewrite.ErrPlace), nil // the question would change what it reads
	}
	exact, err := catalog.Exact(ctx, catalog.Conn(g.Own()))
	switch {
	case err != nil:
		return nil, nil, err
	case !exact:
		g.tables.Casing.Store(session.CasingFolds)
		return e, p, nil
	}
	for i, folding := range g.tables.Candidates {
		if folding == e {
			e = g.tables.ExactCandidates[i]
		}
	}
	g.tables.KnownDialect.Store(e.Dialect)
	g.tables.Engine.Store(e)
	g.tables.Casing.Store(session.CasingExact)
	return e, e.Plan(query), nil
}
