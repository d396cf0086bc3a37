package store

import "github.com/keyfill/keyfill/dialect"

// Column names a key column of the application. The names are as the catalog stores
// them, without quotes.
type Column struct {
	Schema string // empty if SQL finds the table without a schema
	Table  string
	Name   string

	// Unranked reports that the greatest key of the column cannot be queried: the column
	// holds text, or no index begins with it, so that the engine would read all rows.
	Unranked bool

	// Unindexed reports that the column is Unranked only because no index begins with it.
	Unindexed bool

	// Texts are the texts of the numbers in the column; nil if the numbers are its keys.
	Texts *Texts

	// Indexed reports that an index begins with the column.
	Indexed bool

	// Counted reports whether the engine has a counter of its own for the column, which
	// may be above the greatest key: the AUTO_INCREMENT of a table of MySQL or MariaDB,
	// and SQLite's AUTOINCREMENT. Such a counter does not give the numbers of deleted rows
	// again.
	Counted bool

	// Live reports whether the engine numbers a row if an INSERT contains no key: true for
	// a Counted column, and for a column of PostgreSQL that a sequence fills.
	Live bool
}

// Texts are the texts of one numbering in a column: a prefix, the number in decimal digits, and
// a suffix. The column may hold the texts of other numberings too.
type Texts struct {
	Prefix, Suffix string

	// Width is how many digits the number has, if nothing follows it; otherwise it is 0, and
	// the greatest number cannot be found.
	Width int
}

// WithTexts returns the column, which holds the texts x.
func (c Column) WithTexts(x Texts) Column {
	c.Texts = &x
	if x.Width > 0 {
		c.Unranked, c.Unindexed = !c.Indexed, !c.Indexed
	}
	return c
}

// String returns the name schema.table.column, or table.column if there is no schema.
func (c Column) String() string { return c.TableName() + "." + c.Name }

// TableName returns schema.table, or table if there is no schema, as the column
// table_name of keyfill_sequences holds it.
func (c Column) TableName() string {
	if c.Schema == "" {
		return c.Table
	}
	return c.Schema + "." + c.Table
}

// TableIn returns the quoted name of the column's table, with its schema, for a
// statement.
func (c Column) TableIn(d *dialect.Dialect) string {
	return c.SchemaIn(d) + d.QuoteIdent(c.Table)
}

// SchemaIn returns the quoted schema of the column's table, followed by a point; it is
// empty if there is no schema.
func (c Column) SchemaIn(d *dialect.Dialect) string {
	if c.Schema == "" {
		return ""
	}
	return d.QuoteIdent(c.Schema) + "."
}
