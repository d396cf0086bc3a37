package catalog

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// reader reads a table of one engine. It returns nil if there is no such table.
type reader func(ctx context.Context, q Querier, schema, table string) (*Table, error)

// Read returns the catalog's facts about a table or view. The names are folded as the
// dialect folds them; without a schema, the table is looked for where the session would
// find it.
//
// Errors: [ErrNoTable] and [ErrAmbiguous] in an [*Error], the driver's errors unchanged.
func Read(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (*Table, error) {
	e := engines[d.Family]
	if e == nil {
		return nil, anchor.Errorf("answer", "the catalog of %s cannot be read", d.Name)
	}
	read := e.read
	if d.ExactTables {
		read = readExactMySQL
	}
	return found(ctx, q, read, schema, table)
}

// ReadOutside does what [Read] does on a connection on which no transaction is open, with
// fewer queries on SQLite.
func ReadOutside(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (*Table, error) {
	if e := engines[d.Family]; e != nil && e.readOutside != nil {
		return found(ctx, q, e.readOutside, schema, table)
	}
	return Read(ctx, d, q, schema, table)
}

// ReadPlace returns what [Place] returns, and what [Read] returns if one query can answer
// both; otherwise the table is nil.
func ReadPlace(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (Where, *Table, error) {
	if e := engines[d.Family]; e.readPlace != nil && !d.ExactTables {
		if at, t, err := e.readPlace(ctx, q, schema, table); t != nil || err != nil {
			return at, t, err
		}
	}
	at, err := Place(ctx, d, q)
	return at, nil, err
}

// found returns what read returns, and ErrNoTable if that is nil.
func found(ctx context.Context, q Querier, read reader, schema, table string) (*Table, error) {
	t, err := read(ctx, q, schema, table)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, &Error{Table: qualified(schema, table), Err: ErrNoTable,
			Detail: "create it, write its schema into the policy, or let this user see it"}
	}
	return t, nil
}

// qualified returns the name of a table for messages, with its schema if it has one.
func qualified(schema, table string) string {
	if schema == "" {
		return table
	}
	return schema + "." + table
}

// unknownColumns is passed as the number of columns of an index if another query reads its
// further columns.
const unknownColumns = 0

// led records in a column that an index begins with that column. complete reports whether
// the index has all rows, and columns is the number of its columns. name is its name, empty
// if the index is not unique.
func (t *Table) led(column, name string, complete bool, columns int) {
	c := t.named(column)
	if c == nil {
		return // an expression, or a hidden column
	}
	c.Indexes.LeadsIndex = c.Indexes.LeadsIndex || complete
	if name != "" {
		if !slices.Contains(c.Indexes.Unique, name) { // once, since two indexes may have one name in the engine's messages
			c.Indexes.Unique = append(c.Indexes.Unique, name)
		}
		c.Indexes.UniqueAlone = c.Indexes.UniqueAlone || complete && columns == 1
	}
}

// description holds the queries for a table's columns, and for the indexes that begin with
// each column. A row of indexes has the column, the index's name, whether the index has all
// rows, and how many columns it has.
type description struct {
	columns string
	column  func(*cells) Column
	indexes string
}

// describe reads the columns and indexes of the table that has the identifier id.
func (t *Table) describe(ctx context.Context, q Querier, d description, id any) error {
	rows, err := q.Rows(ctx, d.columns, id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		c := cells{row: row}
		t.Columns = append(t.Columns, d.column(&c))
		if c.err != nil {
			return c.err
		}
	}
	if rows, err = q.Rows(ctx, d.indexes, id); err != nil {
		return err
	}
	for _, row := range rows {
		c := cells{row: row}
		t.led(c.text(0), c.text(1), c.isSet(2), c.number(3))
		if c.err != nil {
			return c.err
		}
	}
	return nil
}
