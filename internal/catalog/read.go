package catalog

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// reader reads a table of one engine. It returns nil where there is none.
type reader func(ctx context.Context, q Querier, schema, table string) (*Table, error)

// readers are by the dialect's name.
var readers = map[string]reader{
	"mysql":     readMySQL,
	"mariadb":   readMySQL,
	"postgres":  readPostgreSQL,
	"sqlite":    readSQLite,
	"sqlserver": readSQLServer,
	"oracle":    readOracle,
}

// Read returns the catalog's facts about a table or view. The names are
// folded as the dialect folds them; without a schema, the table is looked for
// where the session would find it.
//
// Errors: [ErrNoTable] and [ErrAmbiguous] in an [*Error], the driver's own as
// they are.
func Read(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (*Table, error) {
	read, ok := readers[d.Name]
	if !ok {
		return nil, anchor.Errorf("answer", "the catalog of %s cannot be read", d.Name)
	}
	if d.ExactTables {
		read = readExactMySQL
	}
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

// qualified returns a name for messages.
func qualified(schema, table string) string {
	if schema == "" {
		return table
	}
	return schema + "." + table
}

// unknownColumns stands for the number of columns of an index whose other columns are
// read by another query.
const unknownColumns = 0

// led adds an index, complete or not, that begins with a column, of which it has
// columns. The name of one that is not unique is "".
func (t *Table) led(column, name string, complete bool, columns int) {
	c := t.named(column)
	if c == nil {
		return // an expression, or a column that is hidden
	}
	c.Indexes.LeadsIndex = c.Indexes.LeadsIndex || complete
	if name != "" {
		if !slices.Contains(c.Indexes.Unique, name) { // another index, the same message
			c.Indexes.Unique = append(c.Indexes.Unique, name)
		}
		c.Indexes.UniqueAlone = c.Indexes.UniqueAlone || complete && columns == 1
	}
}

// description is how an engine describes a table's columns, and the indexes that begin
// with each: column, name, whether the index is of all rows, and how many columns its
// keys have.
type description struct {
	columns string
	column  func(*cells) Column
	indexes string
}

// describe reads the columns and indexes of the table of an identifier.
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
