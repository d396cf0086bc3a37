package counter

import (
	"context"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// newScoped makes the counter of a numbering within parents. row is the row of the
// stored counter itself, which gives no number: it records which column is numbered,
// and within which columns.
func (dr Making) newScoped(ctx context.Context, row sequence.Sequence, c *Counter) (*Counter, error) {
	switch {
	case dr.Key.Rule.Shared:
		return nil, numbering.ErrShared
	case c.Unseen != nil:
		return nil, fmt.Errorf("%w: its keys are numbered within columns whose types are not known", c.Unseen)
	case !dr.Key.IsInteger():
		return nil, anchor.New("scope-column", "keys that are numbered within other columns are integers: make the column one, and leave layout out")
	}
	d := dr.Tables.AnyEngine().Dialect
	if err := dr.Tables.LockBeforeRead(ctx, dr.On, dr.Table, dr.Index); err != nil {
		return nil, err
	}
	found, err := dr.Tables.CatalogTable(ctx, dr.On, d, dr.Table.Rule.Schema, dr.Table.Rule.Name)
	if err != nil {
		return nil, err
	}
	s := &numbering.Scoped{
		ScopeRows: numbering.ScopeRows{Scope: scope.Scope{Name: row.Name, Column: row.Columns[0], Start: row.Made.Start, Max: row.Bounds.Max}},
		Remedy:    dr.Key.Rule.Source.OnBehind,
	}
	var types []string
	for _, rc := range dr.Key.Rule.Scope {
		column, err := numbering.NewScopeColumn(d, found, rc)
		if err != nil {
			return nil, err
		}
		s.Columns = append(s.Columns, column)
		s.Scope.Within = append(s.Scope.Within, column.Found.Name)
		types = append(types, rc.Type)
	}
	if !dr.Tables.StatesOnConnection() {
		if s.Scope.Latest, err = dr.Tables.Stores.Get(""); err != nil {
			return nil, err
		}
	}
	row.Made.Start, row.Parameters = 1, s.Scope.Parameters(types)
	row.Columns = slices.Clone(row.Columns)
	for at := range row.Columns {
		row.Columns[at].Unranked = true // the greatest key of the column belongs to one parent only, so the row is not compared with it
	}
	if s.Joined, err = dr.newJoined(ctx, row, false, s.Scope.Column.Schema, c); err != nil {
		return nil, err
	}
	c.Numbers = s
	return c, nil
}
