package store

import "github.com/keyfill/keyfill/dialect"

// Column is a key column. Its names are as they are stored, without quotes.
type Column struct {
	Schema string // empty for the table that is found without one
	Table  string
	Name   string

	// Unranked reports that the greatest key cannot be asked for: the column holds text,
	// or leads no index, so that all rows would be read.
	Unranked bool

	// Unindexed reports that it is Unranked only because it lacks an index.
	Unindexed bool

	// Counted reports whether the engine has a counter of its own for the column, which
	// may be above the greatest key: the AUTO_INCREMENT of a table of MySQL or MariaDB,
	// and SQLite's AUTOINCREMENT. Numbers of rows that were deleted are not given again.
	Counted bool

	// Live reports whether the engine numbers the column if an INSERT brings no key: a
	// column that is Counted, and one that a sequence of PostgreSQL fills.
	Live bool
}

// String returns schema.table.column.
func (c Column) String() string { return c.TableName() + "." + c.Name }

// TableName returns schema.table as it is stored in table_name.
func (c Column) TableName() string {
	if c.Schema == "" {
		return c.Table
	}
	return c.Schema + "." + c.Table
}

// TableIn returns the name of the column's table for a statement.
func (c Column) TableIn(d *dialect.Dialect) string {
	return c.SchemaIn(d) + d.QuoteIdent(c.Table)
}

// SchemaIn returns the schema of the column's table in quotes and with a point, empty
// without a schema.
func (c Column) SchemaIn(d *dialect.Dialect) string {
	if c.Schema == "" {
		return ""
	}
	return d.QuoteIdent(c.Schema) + "."
}
