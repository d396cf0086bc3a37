package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Listed is a table as [List] found it: what [Read] says of it, and more.
type Listed struct {
	// Table is the result of Read. On MySQL and MariaDB its answers about triggers are
	// Unknown where there are none.
	*Table

	Visible bool // a name without schema finds it
	Split   bool // it has partitions

	Primary  []string        // the columns of the primary key, as found
	Unique   [][]string      // the columns of each unique index of all rows, the primary key's too
	Nullable map[string]bool // by the names of columns
	Default  map[string]string
	Triggers []Trigger // those that run at an INSERT
}

// Trigger is a trigger that runs at an INSERT.
type Trigger struct {
	Schema string // of a trigger of SQLite; empty for the table's
	Name   string
	Before bool
	Body   string // the trigger's source, as the catalog shows it; empty if the user may not read it
}

// ForeignKey is a reference of a column to another one.
type ForeignKey struct {
	Name         string
	Table        *Listed
	Column       string // of Table
	Parent       *Listed
	ParentColumn string
}

// Overview holds the tables of some schemas.
type Overview struct {
	Tables      []*Listed // views too; by schema and name
	ForeignKeys []ForeignKey

	dialect  *dialect.Dialect
	declared bool                                       // it holds the declarations of a script
	unread   bool                                       // the catalog could not be read
	read     func(schema, table string) (*Table, error) // tables that are not listed; nil: none
}

// List returns the tables that a name without schema finds, and the tables of some
// schemas, whose names are folded. It takes at most eight queries, on SQLite for each
// attached database. The tables of an engine that it does not know are read one by one
// when they are looked for.
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

// IsComplete reports whether all tables are listed, so that a table that is not is not
// there.
func (o *Overview) IsComplete() bool {
	return o.declared || engines[o.dialect.Family].list != nil && !o.unread
}

// Unlisted returns the overview of a database whose catalog could not be read, which is
// err: it lists no table, is not complete, and finds none.
func Unlisted(d *dialect.Dialect, err error) *Overview {
	return &Overview{dialect: d, unread: true, read: func(string, string) (*Table, error) { return nil, err }}
}

// Find returns a table of folded names; schema is empty for a bare name. It returns the
// same errors as [Read].
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

// Names returns the names of the tables that a bare name finds, and schema.name for each
// other table.
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

// IsUniqueWith reports whether a unique index of all rows has the column and otherwise
// only columns that with names.
func (t *Listed) IsUniqueWith(column string, with []string) bool {
	return slices.ContainsFunc(t.Unique, func(index []string) bool {
		return slices.Contains(index, column) && !slices.ContainsFunc(index, func(c string) bool {
			return c != column && !slices.Contains(with, c)
		})
	})
}

// MakesDefault reports whether a column has a default that makes something, and is no
// constant.
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

// IsInUnique reports whether some unique index of all rows has the column.
func (t *Listed) IsInUnique(column string) bool {
	return slices.ContainsFunc(t.Unique, func(index []string) bool { return slices.Contains(index, column) })
}

// uniqueColumn adds a column to the unique index that was listed last, or to a new one
// where the index has another name.
func (t *Listed) uniqueColumn(last *string, index, column string) {
	if *last != index || len(t.Unique) == 0 {
		t.Unique = append(t.Unique, nil)
		*last = index
	}
	i := len(t.Unique) - 1
	t.Unique[i] = append(t.Unique[i], column)
}

// describeColumn adds a column with the facts that Read does not return.
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

// arguments returns texts as arguments.
func arguments(texts []string) []any {
	args := make([]any, len(texts))
	for i, text := range texts {
		args[i] = text
	}
	return args
}
