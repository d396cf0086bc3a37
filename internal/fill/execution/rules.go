package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// PostgreSQL applies the rules of a table to the text of an INSERT before it runs. A
// rule that reads NEW gets the query of the INSERT, which runs again after its rows are
// stored, or the expressions of the only row of VALUES, which must not return sets
// there.

// besideRules returns the plan of a query. The plan is p, unless p fills a row of
// VALUES as a query and a rule would then write something else, or a row constructor
// would lose the type of its column. An error is the driver's own.
func (on *planner) besideRules(ctx context.Context, p *plans.Plan) (*plans.Plan, error) {
	if p.Action != plans.Fill || on.conn.DB.Detached {
		return p, nil
	}
	for i := range p.Inserts {
		in := &p.Inserts[i]
		if in.Query == nil || !in.Query.SetRow || in.Explained {
			continue
		}
		t := table.Of(in)
		mode := on.conn.DB.ModeOf(t)
		if mode == policy.ModeOff {
			continue
		}
		reason, detail, err := on.setRefused(ctx, t, in.Query)
		switch {
		case err != nil && mode == policy.ModeDryRun:
			return p, nil // a dry run sends the query, and the engine itself will report the fault
		case err != nil:
			return nil, err
		case reason != "":
			refused := p.Withheld(reason)
			refused.Refusal = p.RefusedAt(i, reason)
			refused.Refusal.Detail = detail
			return refused, nil
		}
	}
	return p, nil
}

// setRefused returns the reason for which the only row of VALUES cannot be filled as
// the query q, and the detail that prevents it; both are empty if it can be filled.
func (on *planner) setRefused(ctx context.Context, t *table.Table, q *plans.Query) (reason rewrite.Reason, detail string, err error) {
	if err := on.conn.DB.LockBeforeRead(ctx, &on.conn.Session, t, 0); err != nil {
		return "", "", err
	}
	ask := catalog.Conn(on.conn.Own())
	rule, err := catalog.InsertRule(ctx, on.conn.DB.Dialect(), ask, q.Table.Schema, q.Table.Table)
	if err != nil || rule != (catalog.Rule{}) {
		return rewrite.ErrSetRule, rule.String(), err
	}
	if q.Constructed == nil {
		return "", "", nil
	}
	composite, err := catalog.Composite(ctx, ask, q.Table.Schema, q.Table.Table)
	for _, column := range q.Constructed {
		if slices.Contains(composite, column) {
			return rewrite.ErrSetRow, fmt.Sprintf("column %q", column), err
		}
	}
	return "", "", err
}
