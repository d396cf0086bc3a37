package fill

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/rewrite"
)

// rowFacts is what has to be known of a table before its rows say what became of
// keys.
type rowFacts struct {
	shown bool // a query shows every row that is stored through the table's name
	stays bool // no trigger changes, moves or leaves out a row

	columns []string // of the keys, as found; "" for one that is not
	leads   []bool   // an index begins with the column
	unique  []catalog.UniqueIndex
}

func newRowFacts(d *dialect.Dialect, t *table, found *catalog.Table) *rowFacts {
	f := &rowFacts{shown: !found.View && !found.RowSecurity, unique: found.UniqueIndexes}
	f.stays = f.shown && found.KeyTriggers == catalog.No
	for i := range t.keys {
		name, leads := "", false
		if c := found.Column(d, t.keys[i].column); c != nil {
			name, leads = c.Name, c.LeadsIndex
		}
		f.columns, f.leads = append(f.columns, name), append(f.leads, leads)
	}
	return f
}

// column returns the name of a key's column; "" where it is not known.
func (f *rowFacts) column(key int) string {
	if key >= len(f.columns) {
		return ""
	}
	return f.columns[key]
}

// otherUnique returns the columns of the only unique index besides those of a key
// alone. It reports false where there is another number of them, or one of their
// columns is not known.
func (f *rowFacts) otherUnique(key int) (columns []string, ok bool) {
	for _, index := range f.unique {
		if slices.Equal(index.Columns, f.columns[key:key+1]) {
			continue
		}
		if columns != nil || slices.Contains(index.Columns, "") || slices.Contains(index.Columns, f.columns[key]) {
			return nil, false
		}
		columns = index.Columns
	}
	return columns, columns != nil
}

// newValues returns a cache for the plans that valuesOf makes of a table.
func newValues() *rewrite.Cache { return rewrite.NewCache(cacheEntries/32, cacheBytes/32) }
