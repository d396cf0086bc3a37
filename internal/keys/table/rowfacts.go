package table

import (
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// RowFacts are facts about a table's rows: whether a query for a key shows if its row was
// stored.
type RowFacts struct {
	Shown bool // a query by the table's name shows every row that was stored by it
	Stays bool // no trigger changes, moves or leaves out a row

	// Triggered says that the catalog shows a trigger or rule that may do so.
	Triggered bool

	// Unfit says, for each key, why the engine refuses such keys in its column; nil if it
	// takes them, as far as the catalog shows.
	Unfit []error

	Columns []string // of the keys, as the catalog names them; empty if it has none
	Leads   []bool   // an index begins with the column
	unique  []catalog.UniqueIndex
}

// NewRowFacts returns the catalog's facts about the rows of a table.
func NewRowFacts(d *dialect.Dialect, t *Table, found *catalog.Table) *RowFacts {
	f := &RowFacts{Shown: !found.View && !found.RowSecurity, unique: found.UniqueIndexes}
	f.Stays, f.Triggered = f.Shown && found.KeyTriggers == catalog.No, found.KeyTriggers == catalog.Yes
	for i := range t.KeyColumns {
		name, leads := "", false
		if c := found.Column(d, t.KeyColumns[i].Name); c != nil {
			name, leads = c.Name, c.Indexes.LeadsIndex
		}
		f.Columns, f.Leads = append(f.Columns, name), append(f.Leads, leads)
		f.Unfit = append(f.Unfit, unfit(d, found, t.KeyColumns[i].Wanted()))
	}
	return f
}

// unfit returns why the engine refuses keys of a column; nil where it takes them.
func unfit(d *dialect.Dialect, found *catalog.Table, key catalog.Key) error {
	for _, err := range found.Problems(d, key) {
		var e *catalog.Error
		if errors.As(err, &e) && (e.Err == catalog.ErrType || e.Err == catalog.ErrGenerated || e.Err == catalog.ErrIdentityAlways) {
			return err
		}
	}
	return nil
}

// IsUnfit reports whether a column does not take its keys.
func (f *RowFacts) IsUnfit() bool {
	return slices.ContainsFunc(f.Unfit, func(err error) bool { return err != nil })
}

// Column returns the name of a key's column; empty if it is not known.
func (f *RowFacts) Column(key int) string {
	if key >= len(f.Columns) {
		return ""
	}
	return f.Columns[key]
}

// OtherUnique returns the columns of the table's unique index besides the indexes on the
// key alone. It reports false unless there is exactly one such index, without the key,
// and all of its columns are known.
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

// IsSole reports whether each unique index of the table is one on the key, alone or with
// columns that it is numbered within.
func (f *RowFacts) IsSole(key int, scope []string) bool {
	if f == nil || f.Column(key) == "" {
		return false
	}
	for _, index := range f.unique {
		if !slices.Contains(index.Columns, f.Columns[key]) {
			return false
		}
		for _, column := range index.Columns {
			within := func(name string) bool { return strings.EqualFold(name, column) }
			if column != f.Columns[key] && !slices.ContainsFunc(scope, within) {
				return false
			}
		}
	}
	return true
}
