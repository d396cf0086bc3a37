package counter

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// newScoped makes the counter of a numbering within parents, or in periods. row is the row
// of the stored counter itself, which gives no number: it records which column is numbered,
// and within which columns and periods.
func (dr Making) newScoped(ctx context.Context, row sequence.Sequence, facts *table.Facts, c *Counter) (*Counter, error) {
	texts := dr.Key.Texts()
	switch {
	case dr.Key.Rule.Shared:
		return nil, numbering.ErrShared
	case c.Unseen != nil:
		return nil, fmt.Errorf("%w: its keys are numbered within columns whose types are not known", c.Unseen)
	case texts == nil && !dr.Key.IsInteger():
		return nil, anchor.New("scope-column", "keys that are numbered within other columns are integers: make the column one, and leave layout out")
	}
	d := dr.Tables.AnyEngine().Dialect
	if err := dr.Tables.LockBeforeRead(ctx, dr.On, dr.Table, dr.Index); err != nil {
		return nil, err
	}
	var found *catalog.Table
	if len(dr.Key.Rule.Scope) > 0 || dr.Key.Rule.PeriodColumn != "" {
		var err error
		if found, err = dr.Tables.CatalogTable(ctx, dr.On, d, dr.Table.Rule.Schema, dr.Table.Rule.Name); err != nil {
			return nil, err
		}
	}
	rows, err := numbering.ScopeRowsOf(d, found, dr.Key, &row)
	if err != nil {
		return nil, err
	}
	if texts != nil {
		parts, err := texts.Parts(ctx, dr.Table, dr.Index, facts)
		if err != nil {
			return nil, err
		}
		rows.ReadTexts(dr.Key, parts)
		rows.Length, rows.Holds = facts.Columns[dr.Index].Length, numbering.Holds(d, facts.Columns[dr.Index].Collation)
	}
	if rows.Scope.Periods != nil {
		rows.Scope.Periods.Now = dr.Tables.Env.Now
	}
	if !dr.Tables.StatesOnConnection() {
		if rows.Scope.Latest, err = dr.Tables.Stores.Get(""); err != nil {
			return nil, err
		}
	}
	s := &numbering.Scoped{ScopeRows: rows, Remedy: dr.Key.Rule.Source.OnBehind, Autonomous: !dr.Key.Rule.Joined}
	if s.Joined, err = dr.newJoined(ctx, row, false, rows.Scope.Column.Schema, c); err != nil {
		return nil, err
	}
	c.Numbers = s
	return c, nil
}
