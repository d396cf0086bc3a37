package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Listed is a table as [List] found it: the facts that [Read] returns, and more.
type Listed struct {
	// Table holds what Read would return. On MySQL and MariaDB, its answers about triggers
	// are Unknown if no trigger was shown.
	*Table

	Visible bool // a name without schema finds the table
	Split   bool // the table has partitions

	Primary  []string        // the columns of the primary key, as found
	Unique   [][]string      // the columns of each unique index over all rows, including the primary key
	Nullable map[string]bool // whether a column may be NULL, by its name
	Default  map[string]string
	Triggers []Trigger // the triggers that run at an INSERT
}

// Trigger is a trigger that runs at an INSERT.
type Trigger struct {
	Schema string // the trigger's schema on SQLite; empty if it is the table's
	Name   string
	Before bool
	Body   string // the trigger's source, as the catalog shows it; empty if the user may not read it
}

// ForeignKey is a reference of a column to another column.
type ForeignKey struct {
	Name         string
	Table        *Listed
	Column       string // of Table
	Parent       *Listed
	ParentColumn string
}

// Overview holds the tables of some schemas.
type Overview struct {
	Tables      []*Listed // including views; in the order of schema and name
	ForeignKeys []ForeignKey

	dialect  *dialect.Dialect
	declared bool                                       // the tables are the declarations of a script
	unread   bool                                       // the catalog could not be read
	read     func(schema, table string) (*Table, error) // reads a table that is not listed; nil if all tables are listed
}

// List returns the tables that a name without schema finds, and the tables of the given
// schemas, whose names are folded. It sends at most eight queries, on SQLite for each
// attached database. If it does not know the engine, each table is read when it is looked
// for.
func List(ctx context.Context, d *dialect.Dialect, q Querier, schemas []string) (*Overview, error) {
	o := &Overview{}
	if list := engines[d.Family].list; list != nil {
		var err error
		if o, err = list(ctx, q, schemas); err != nil {
			return nil, err
		}
	}
	o.dialect = d
	o.read = func(schema, table string) (*Table, error) { return Read(ctx, d, q, schema, table) }
	return o, nil
}

// IsComplete reports whether all tables are listed, so that a table that is not listed does
// not exist.
func (o *Overview) IsComplete() bool {
	return o.declared || engines[o.dialect.Family].list != nil && !o.unread
}

// Unlisted returns the overview of a database whose catalog could not be read because of
// err. It lists no table, is not complete, and its Find returns err.
func Unlisted(d *dialect.Dialect, err error) *Overview {
	return &Overview{dialect: d, unread: true, read: func(string, string) (*Table, error) { return nil, err }}
}

// Find returns a table by its folded names; schema is empty for a name without schema. It
// returns the same errors as [Read].
func (o *Overview) Find(schema, table string) (*Listed, error) {
	var found []*Listed
	for _, t := range o.Tables {
		inSchema := schema == "" && t.Visible || schema != "" && o.dialect.Fold(t.Schema, true) == schema
		if !inSchema || o.dialect.FoldTable(t.Name, true) != table {
			continue
		}
		if t.Name == table {
			return t, nil
		}
		found = append(found, t)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, &Error{Table: qualified(schema, table), Err: ErrAmbiguous,
			Detail: "rename all but one, or take them out of the policy"}
	}
	t, err := o.read(schema, table)
	if err != nil {
		return nil, err
	}
	return &Listed{Table: t, Visible: schema == ""}, nil
}

// Names returns the name of each table that a name without schema finds, and schema.name
// for each other table.
func (o *Overview) Names() []string {
	var names []string
	for _, t := range o.Tables {
		if t.Visible {
			names = append(names, t.Name)
		} else {
			names = append(names, t.Schema+"."+t.Name)
		}
	}
	return names
}

// IsNoTable reports whether an error means that the table does not exist.
func IsNoTable(err error) bool { return errors.Is(err, ErrNoTable) }

// IsUniqueWith reports whether a unique index over all rows has the column, and no other
// columns than those in with.
func (t *Listed) IsUniqueWith(column string, with []string) bool {
	return slices.ContainsFunc(t.Unique, func(index []string) bool {
		return slices.Contains(index, column) && !slices.ContainsFunc(index, func(c string) bool {
			return c != column && !slices.Contains(with, c)
		})
	})
}

// MakesDefault reports whether a column has a default that the engine computes for each
// row, not a constant.
func (t *Listed) MakesDefault(column string) bool {
	def := strings.ToLower(t.Default[column])
	return strings.Contains(def, "(") || strings.Contains(def, "nextval")
}

// Parents returns the tables to which a column refers.
func (o *Overview) Parents(t *Listed, column string) (parents []*Listed) {
	for _, f := range o.ForeignKeys {
		if f.Table == t && f.Column == column {
			parents = append(parents, f.Parent)
		}
	}
	return parents
}

// IsInUnique reports whether a unique index over all rows has the column.
func (t *Listed) IsInUnique(column string) bool {
	return slices.ContainsFunc(t.Unique, func(index []string) bool { return slices.Contains(index, column) })
}

// uniqueColumn adds a column to the last unique index of t.Unique, or to a new one if index
// is another name than *last.
func (t *Listed) uniqueColumn(last *string, index, column string) {
	if *last != index || len(t.Unique) == 0 {
		t.Unique = append(t.Unique, nil)
		*last = index
	}
	i := len(t.Unique) - 1
	t.Unique[i] = append(t.Unique[i], column)
}

// describeColumn adds a column, and the facts that [Read] does not return: whether it may
// be NULL, and its default.
func (t *Listed) describeColumn(col Column, isNullable bool, def string) {
	t.Columns = append(t.Columns, col)
	if t.Nullable == nil {
		t.Nullable, t.Default = map[string]bool{}, map[string]string{}
	}
	t.Nullable[col.Name] = isNullable
	if def != "" {
		t.Default[col.Name] = def
	}
}

// placeholders returns n question marks with commas between them.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// arguments returns texts as the arguments of a query.
func arguments(texts []string) []any {
	args := make([]any, len(texts))
	for i, text := range texts {
		args[i] = text
	}
	return args
}
