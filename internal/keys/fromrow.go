package keys

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
)

// A key of the kind uuidv5 is made from columns of its row. The value that is stored there
// must be the value that the key is made from, so the catalog is asked for the columns.

// ColumnsOfKey returns the columns that the keys of column i of a table are made from, or an
// error if one of them cannot be used. It queries the catalog if the facts about the table
// are not known.
func (g *Conn) ColumnsOfKey(ctx context.Context, t *table.Table, i int) ([]numbering.ScopeColumn, error) {
	f, err := g.Tables.Facts(ctx, &g.Session, t)
	if err != nil {
		return nil, err
	}
	if f.Found == nil && !g.Tables.Detached {
		if f.Unseen != nil {
			return nil, fmt.Errorf("%w: its keys are made from columns whose types are not known: create it as a table that is not temporary", f.Unseen)
		}
		return nil, errUnseenColumns
	}
	return ColumnsOfKey(g.Tables.AnyEngine().Dialect, t, i, f.Found)
}

var errUnseenColumns = anchor.New("from-columns", "its keys are made from columns whose types are not known, since the text creates the table: create it in a statement before")

// ColumnsOfKey returns the columns that the keys of column i of a table are made from, or an
// error if one of them cannot be used. found is the catalog's description of the table; nil
// in a test without a database.
func ColumnsOfKey(d *dialect.Dialect, t *table.Table, i int, found *catalog.Table) ([]numbering.ScopeColumn, error) {
	var columns []numbering.ScopeColumn
	for _, rule := range t.KeyColumns[i].Rule.From {
		c, err := numbering.NewFromColumn(d, found, rule)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// fromRows returns the key of each row from the values of its columns.
func fromRows(source *keysource.UUIDv5, l dialect.Layout, columns []numbering.ScopeColumn, rows [][]driver.Value) ([]driver.Value, error) {
	made := make([]driver.Value, len(rows))
	values := make([]any, len(columns))
	for i, row := range rows {
		for c := range columns {
			var err error
			if values[c], err = columns[c].Normal(row[c]); err != nil {
				return nil, err
			}
		}
		var err error
		if made[i], err = source.Value(l, values...); err != nil {
			return nil, err
		}
	}
	return made, nil
}
