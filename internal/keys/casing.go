package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Cased returns the plan of a query, and the engine that it is of from now on.
func (db *Tables) Cased(ctx context.Context, g *Conn, e *Engine, query string) (*Engine, *rewrite.Plan, error) {
	p := e.Plan(query)
	if db.Casing.Load() != session.CasingUnknown || db.Exact == nil || db.StandIn != nil || policy.Mode(db.Mode.Load()) == policy.ModeOff || !e.IsTouched(p) {
		return e, p, nil
	}
	if p.Reads()&rewrite.ReadsCount != 0 && p.Action != rewrite.Refuse {
		return e, p.Withheld(rewrite.ErrPlace), nil // the question would change what it reads
	}
	exact, err := catalog.Exact(ctx, catalog.Conn(g.Raw))
	switch {
	case err != nil:
		return nil, nil, err
	case !exact:
		db.Casing.Store(session.CasingFolds)
		return e, p, nil
	}
	for i, folding := range db.MayBe {
		if folding == e {
			e = db.Exact[i]
		}
	}
	db.Spoken.Store(e.Dialect)
	db.Engine.Store(e)
	db.Casing.Store(session.CasingExact)
	return e, e.Plan(query), nil
}
