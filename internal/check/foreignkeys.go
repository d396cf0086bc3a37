package check

import (
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/catalog"
)

// lookAtForeignKeys finds the columns that refer to a key column and cannot hold its keys:
// when the key column changes its type, they have to change theirs.
func (c *checker) lookAtForeignKeys() error {
	for _, f := range c.over.ForeignKeys {
		for _, t := range c.targets {
			if t.found != f.Parent {
				continue
			}
			for i := range t.table.KeyColumns {
				parent := t.found.Column(c.d, t.table.KeyColumns[i].Name)
				if parent != nil && parent.Name == f.ParentColumn {
					c.lookAtReference(t, i, f)
				}
			}
		}
	}
	return nil
}

// lookAtReference compares a column that refers to a key with the key.
func (c *checker) lookAtReference(t *target, i int, f catalog.ForeignKey) {
	k := &t.table.KeyColumns[i]
	wanted := k.Wanted()
	wanted.Column = c.d.Fold(f.Column, true)
	wanted.State, wanted.Exclusive = false, true // programs fill a column that refers to a key, so the check must not report that they do
	col := f.Table.Column(c.d, wanted.Column)
	for _, err := range f.Table.Problems(c.d, wanted) {
		var e *catalog.Error
		if col == nil || !errors.As(err, &e) || !errors.Is(err, catalog.ErrType) && !errors.Is(err, catalog.ErrNarrow) && !errors.Is(err, catalog.ErrCOMB) {
			continue
		}
		c.add(Finding{Severity: c.engine.unfitReference, Rule: ruleForeignKey, Table: f.Table.Name, Column: col.Name, Line: t.lines(i).Column,
			Message: fmt.Sprintf("the column refers to %s.%s, whose keys it does not take: %s is not the type for them, and it changes together with that column", t.found.Name, f.ParentColumn, col.Type),
			Remedy:  c.followType(f.Table, col, wanted)})
		return
	}
}

// followType returns the remedy for a column that refers to a key of another type.
func (c *checker) followType(child *catalog.Listed, col *catalog.Column, wanted catalog.Key) string {
	kind := typeFor(c.engine.types, wanted, col)
	if text := c.alterType(child, col, kind); text != "" {
		return text
	}
	return "make the table anew with the column as " + kind + ": SQLite changes no type"
}
