package relation

import (
	"context"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// PlanByCase returns the plan of a query. If the plan depends on whether the server
// distinguishes upper and lower case in table names, PlanByCase asks the server once,
// and returns the engine to use from then on.
func (g *Session) PlanByCase(ctx context.Context, e *table.Engine, query string) (*table.Engine, *plans.Plan, error) {
	p := e.Plan(query)
	if g.Tables.Casing.Load() != session.CasingUnknown || g.Tables.ExactCandidates == nil || policy.Mode(g.Tables.Mode.Load()) == policy.ModeOff || !e.CaseMatters(p) {
		return e, p, nil
	}
	if p.Reads()&effects.ReadsCount != 0 && p.Action != plans.Refuse {
		return e, p.Withheld(rewrite.ErrPlace), nil // asking the server would change what the query reads
	}
	exact, err := catalog.Exact(ctx, catalog.Conn(g.Own()))
	switch {
	case err != nil:
		return nil, nil, err
	case !exact:
		g.Tables.Casing.Store(session.CasingFolds)
		return e, p, nil
	}
	for i, folding := range g.Tables.Candidates {
		if folding == e {
			e = g.Tables.ExactCandidates[i]
		}
	}
	g.Tables.KnownDialect.Store(e.Dialect)
	g.Tables.Engine.Store(e)
	g.Tables.Casing.Store(session.CasingExact)
	return e, e.Plan(query), nil
}
