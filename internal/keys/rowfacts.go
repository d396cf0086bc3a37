package keys

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/rewrite"
)

// RowFacts is what has to be known of a table before its rows say what became of
// keys.
type RowFacts struct {
	Shown bool // a query shows every row that is stored through the table's name
	Stays bool // no trigger changes, moves or leaves out a row

	Columns []string // of the keys, as found; "" for one that is not
	Leads   []bool   // an index begins with the column
	unique  []catalog.UniqueIndex
}

// NewRowFacts returns what the catalog tells of the rows of a table.
func NewRowFacts(d *dialect.Dialect, t *Table, found *catalog.Table) *RowFacts {
	f := &RowFacts{Shown: !found.View && !found.RowSecurity, unique: found.UniqueIndexes}
	f.Stays = f.Shown && found.KeyTriggers == catalog.No
	for i := range t.KeyColumns {
		name, leads := "", false
		if c := found.Column(d, t.KeyColumns[i].Name); c != nil {
			name, leads = c.Name, c.LeadsIndex
		}
		f.Columns, f.Leads = append(f.Columns, name), append(f.Leads, leads)
	}
	return f
}

// Column returns the name of a key's column; "" where it is not known.
func (f *RowFacts) Column(key int) string {
	if key >= len(f.Columns) {
		return ""
	}
	return f.Columns[key]
}

// OtherUnique returns the columns of the only unique index besides those of a key
// alone. It reports false where there is another number of them, or one of their
// columns is not known.
func (f *RowFacts) OtherUnique(key int) (columns []string, ok bool) {
	for _, index := range f.unique {
		if slices.Equal(index.Columns, f.Columns[key:key+1]) {
			continue
		}
		if columns != nil || slices.Contains(index.Columns, "") || slices.Contains(index.Columns, f.Columns[key]) {
			return nil, false
		}
		columns = index.Columns
	}
	return columns, columns != nil
}

// newValues returns a cache for the plans that fill's valuesOf makes of a table.
func newValues() *rewrite.Cache { return rewrite.NewCache(cacheEntries/32, cacheBytes/32) }
