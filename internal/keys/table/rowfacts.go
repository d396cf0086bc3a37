package table

import (
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// RowFacts are facts about a table's rows: whether a query for a key shows if its row
// was stored.
type RowFacts struct {
	Shown bool // a query of the table shows every row that was inserted into it
	Stays bool // no trigger changes, moves or skips a row

	// Triggered reports that the catalog shows a trigger or rule that may change, move or
	// skip a row.
	Triggered bool

	// Unfit holds, for each key, the error for which the engine refuses such keys in the
	// column; nil if it accepts them, as far as the catalog shows.
	Unfit []error

	Columns []string // the key columns, as the catalog names them; empty for a column that the table does not have
	Leads   []bool   // for each key, whether an index begins with the column
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

// unfit returns the error for which the engine refuses the keys of a column; nil if it
// accepts them.
func unfit(d *dialect.Dialect, found *catalog.Table, key catalog.Key) error {
	for _, err := range found.Problems(d, key) {
		var e *catalog.Error
		if errors.As(err, &e) && (e.Err == catalog.ErrType || e.Err == catalog.ErrGenerated || e.Err == catalog.ErrIdentityAlways) {
			return err
		}
	}
	return nil
}

// IsUnfit reports whether a column refuses its keys.
func (f *RowFacts) IsUnfit() bool {
	return slices.ContainsFunc(f.Unfit, func(err error) bool { return err != nil })
}

// Column returns the name of a key's column; it is empty if the name is not known.
func (f *RowFacts) Column(key int) string {
	if key >= len(f.Columns) {
		return ""
	}
	return f.Columns[key]
}

// OtherUnique returns the columns of the only unique index that the table has besides
// the indexes on the key alone. ok is false unless there is exactly one such index, it
// does not contain the key, and all of its columns are known.
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

// IsSole reports whether each unique index of the table consists of the key, alone or
// with columns within which it is numbered.
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
