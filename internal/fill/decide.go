package fill

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// decide returns the plan of a statement that may get keys, or may bring some that are
// followed. It is nil when the statement goes out as it came, which is then to count as
// the event. prepares says that the plan is one of a prepared statement.
func (c *connection) decide(ctx context.Context, query string, prepares bool) (*rewrite.Plan, event, error) {
	db := c.DB
	engine := db.Engine.Load()
	if engine == nil {
		if policy.Mode(db.Mode.Load()) == policy.ModeOff {
			// Off asks the server nothing.
			return nil, event{}, nil
		}
		var err error
		if engine, err = c.AskEngine(ctx); err != nil {
			if isIndifferent(db.Candidates, query) {
				return nil, event{}, nil
			}
			return nil, event{}, keys.Stopped(err)
		}
	}
	p, err := planOn(ctx, c, engine, query, prepares)
	switch {
	case err != nil:
		return nil, event{}, keys.Stopped(err)
	case p.Action == rewrite.Pass:
		return nil, event{counts: true}, nil
	case p.Action == rewrite.Refuse:
		e, err := db.stats.refusal(ctx, query, p.Refusal)
		return nil, e, err
	case p.Action == rewrite.Keep && !p.AtExecution:
		e := event{counts: true, table: p.Inserts[0].Target.Table, owner: keys.TableOf(&p.Inserts[0]), action: rewrite.Keep}
		if slices.ContainsFunc(p.Inserts, func(in rewrite.Insert) bool { return in.Worked }) {
			e.worked = p
		}
		if p.Follows() && !p.Load {
			return p, e, nil
		}
		return nil, e, nil
	}
	return p, event{}, nil
}

// isIndifferent reports whether a query goes out as it came whichever of the engines it
// is.
func isIndifferent(engines []*keys.Engine, query string) bool {
	for _, e := range engines {
		p := e.Plan(query)
		if p.Ambiguous() || p.Action != rewrite.Pass && (p.Action != rewrite.Keep || p.AtExecution) {
			return false
		}
	}
	return true
}

// settle says whether a statement whose holes are known is filled; if not, what
// it counts as: kept because no place takes a key, or withheld because of the
// mode.
func settle(tables *keys.Tables, p *rewrite.Plan, h rewrite.Holes) (e event, fills bool) {
	mode := cautious(tables, p)
	if mode == policy.ModeFill && (h.Any() || p.ByFunction()) {
		return event{}, true
	}
	return withheld(p, h, mode), false
}
