package execution

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// Decide returns the plan of a statement that may get keys, or may contain explicit
// keys above which a counter is raised. The plan is nil if the statement is sent
// unchanged; it is counted as the event then. prepares reports whether the statement is
// prepared.
func (c *Conn) Decide(ctx context.Context, query string, prepares bool) (*plans.Plan, Event, error) {
	db := c.DB
	engine := db.Engine.Load()
	if engine == nil {
		if policy.Mode(db.Mode.Load()) == policy.ModeOff {
			// With the policy's mode off nothing is filled, so the server is not asked
			// which engine it is.
			return nil, Event{}, nil
		}
		var err error
		if engine, err = c.AskEngine(ctx); err != nil {
			if isIndifferent(db.Candidates, query) {
				return nil, Event{}, nil
			}
			return nil, Event{}, report.Stopped(err)
		}
	}
	p, err := PlanOn(ctx, c, engine, query, prepares)
	switch {
	case err != nil:
		return nil, Event{}, report.Stopped(err)
	case p.Action == plans.Pass:
		return nil, Event{Counts: true}, nil
	case p.Action == plans.Refuse:
		e, err := db.Stats.Refusal(ctx, query, p.Refusal)
		return nil, e, err
	case p.Action == plans.Keep && !p.AtExecution:
		e := Event{Counts: true, Table: p.Inserts[0].Target.Table, Owner: table.Of(&p.Inserts[0]), Action: plans.Keep}
		if slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool { return in.Worked }) {
			e.Worked = p
		}
		if p.Follows() && !p.Load {
			return p, e, nil
		}
		return nil, e, nil
	}
	return p, Event{}, nil
}

// isIndifferent reports whether every candidate engine would pass the query.
func isIndifferent(engines []*table.Engine, query string) bool {
	for _, e := range engines {
		p := e.Plan(query)
		if p.Ambiguous() || p.Action != plans.Pass && (p.Action != plans.Keep || p.AtExecution) {
			return false
		}
	}
	return true
}

// Settle reports whether a statement is filled whose holes (the places for keys) are
// known. If not, it returns the event as which the statement is counted: kept because no
// place needs a key, or sent unchanged because the policy's mode is dry_run or off.
func Settle(tables *relation.Tables, p *plans.Plan, h bind.Holes) (e Event, fills bool) {
	mode := Cautious(tables, p)
	if mode == policy.ModeFill && (h.Any() || p.ByFunction()) {
		return Event{}, true
	}
	return Withheld(p, h, mode), false
}
