package fill

import (
	"context"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// PostgreSQL applies the rules of a table to the text of an INSERT before it runs. A rule
// that reads NEW gets the INSERT's query, which runs again after its rows are
// stored, or the expressions of the only row of VALUES, which may not be sets there.

// besideRules returns the plan of a query: p, unless a row of VALUES would be filled as a
// query and a rule would write something else for that, or a row constructor of the row
// would lose the type of its column. An error is the driver's own.
func (on *planner) besideRules(ctx context.Context, p *rewrite.Plan) (*rewrite.Plan, error) {
	if p.Action != rewrite.Fill || on.conn.DB.Detached {
		return p, nil
	}
	for i := range p.Inserts {
		in := &p.Inserts[i]
		if in.Query == nil || !in.Query.SetRow || in.Explained {
			continue
		}
		t := keys.TableOf(in)
		mode := on.conn.DB.ModeOf(t)
		if mode == policy.ModeOff {
			continue
		}
		reason, detail, err := on.setRefused(ctx, t, in.Query)
		switch {
		case err != nil && mode == policy.ModeDryRun:
			return p, nil // the engine says itself what is wrong
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

// setRefused returns why the only row of VALUES cannot be filled as the query that is
// given, and what is in its way; "" where it can.
func (on *planner) setRefused(ctx context.Context, t *keys.Table, q *rewrite.Query) (reason rewrite.Reason, detail string, err error) {
	if err := on.conn.DB.LockBeforeRead(ctx, &on.conn.Conn, t, 0); err != nil {
		return "", "", err
	}
	ask := catalog.Conn(on.conn.Own())
	rule, err := catalog.InsertRule(ctx, ask, q.Table.Schema, q.Table.Table)
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

// errRule is returned in the place of errRowsGrew and its like where the table has a rule.
var errRule = anchor.New("rows", "its query gave another number of rows than was counted, as it does where a rule of the table runs it again after the rows are stored, or stores them elsewhere: write the rule as a trigger, select from a copy of the rows, or name the key column and select its values")

// miscounted returns why the rows of an INSERT … SELECT were not as many as were counted:
// the reason that is given, or the rule of its table where it has one. Where the engine
// cannot be asked, as in a transaction that an error has ended, it is the reason.
func miscounted(ctx context.Context, x *execution, insert int, reason error) error {
	in := &x.plan.Inserts[insert]
	if x.plan.Dialect().Family != dialect.FamilyPostgreSQL || in.Query == nil {
		return reason
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	rule, err := catalog.InsertRule(ctx, catalog.Conn(x.conn.Own()), in.Query.Table.Schema, in.Query.Table.Table)
	if err != nil || rule == (catalog.Rule{}) {
		return reason
	}
	return fmt.Errorf("%w: %s", errRule, rule)
}

// grewError returns the error of an INSERT … SELECT for a reason of keyfill's and the
// engine's error.
func grewError(x *execution, insert int, reason, err error) error {
	t := keys.TableOf(&x.plan.Inserts[insert])
	return t.NewError(t.Table, t.KeyColumns[0].Name, -1, fmt.Errorf("%w: %w", reason, err))
}
