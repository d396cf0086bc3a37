package keys

import (
	"context"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// newScoped makes the counter of a numbering within parents. row is its own row, which
// gives no number. It says which column is numbered, and within which columns.
func (dr making) newScoped(ctx context.Context, row sequence.Sequence, c *counter) (*counter, error) {
	switch {
	case dr.key.Rule.Shared:
		return nil, errShared
	case c.unseen != nil:
		return nil, fmt.Errorf("%w: its keys are numbered within columns whose types are not known", c.unseen)
	case !dr.key.IsInteger():
		return nil, anchor.New("scope-column", "keys that are numbered within other columns are integers: make the column one, and leave layout out")
	}
	d := dr.tables.AnyEngine().Dialect
	if err := dr.tables.LockBeforeRead(ctx, dr.on, dr.table, dr.index); err != nil {
		return nil, err
	}
	found, err := dr.tables.CatalogTable(ctx, dr.on, d, dr.table.Rule.Schema, dr.table.Rule.Name)
	if err != nil {
		return nil, err
	}
	s := &scoped{
		scopeRows: scopeRows{scope: scope.Scope{Name: row.Name, Column: row.Columns[0], Start: row.Start, Max: row.Max}},
		remedy:    dr.key.Rule.Source.OnBehind,
	}
	var types []string
	for _, rc := range dr.key.Rule.Scope {
		column, err := newScopeColumn(d, found, rc)
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, column)
		s.scope.Within = append(s.scope.Within, column.found.Name)
		types = append(types, rc.Type)
	}
	if !dr.tables.StatesOnConnection() {
		if s.scope.Latest, err = dr.tables.stores.get(""); err != nil {
			return nil, err
		}
	}
	row.Start, row.Parameters = 1, s.scope.Parameters(types)
	row.Columns = slices.Clone(row.Columns)
	for at := range row.Columns {
		row.Columns[at].Unranked = true // its greatest key says nothing of a parent
	}
	if s.joined, err = dr.newJoined(ctx, row, false, s.scope.Column.Schema, c); err != nil {
		return nil, err
	}
	c.numbers = s
	return c, nil
}
