package fill

import (
	"context"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// cased returns the plan of a query, and the engine that it is of from now on.
func (db *keyTables) cased(ctx context.Context, g *keysConn, e *engine, query string) (*engine, *rewrite.Plan, error) {
	p := e.plan(query)
	if db.Casing.Load() != session.CasingUnknown || db.exact == nil || db.standIn != nil || policy.Mode(db.Mode.Load()) == policy.ModeOff || !e.isTouched(p) {
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
	for i, folding := range db.either {
		if folding == e {
			e = db.exact[i]
		}
	}
	db.Spoken.Store(e.dialect)
	db.engine.Store(e)
	db.Casing.Store(session.CasingExact)
	return e, e.plan(query), nil
}
