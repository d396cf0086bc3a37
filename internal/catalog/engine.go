package catalog

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
)

// engine holds the queries for one engine's catalog, and what their answers mean. A field
// that is nil or empty does not apply to the engine.
type engine struct {
	read    reader
	implied implier

	// readOutside does what read does where no transaction is open; nil if read is as fast.
	readOutside reader

	// readPlace does what read and Place do, by one query. It returns nil if that cannot
	// answer both. If it is nil, no query can.
	readPlace func(ctx context.Context, q Querier, schema, table string) (Where, *Table, error)

	// list lists the tables, with a number of queries that does not depend on the number of
	// tables. If it is nil, each table is read when it is looked for.
	list func(ctx context.Context, q Querier, schemas []string) (*Overview, error)

	// names is the query for the names of the tables in a schema. If its argument is
	// anySchema, it returns the tables that a name without schema finds.
	names     string
	anySchema any

	temporary    func(ctx context.Context, q Querier, n Name) (bool, error)                                                 // see Temporary
	locate       func(ctx context.Context, d *dialect.Dialect, q Querier, answer, table string) (string, bool, error)       // see Locate
	partitioning func(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string) (p Partitioning, err error) // see ReadPartitioning

	insertRule string // see InsertRule

	column   func(c *Declared) Column        // the column as a live catalog would describe it
	complete func(l *Listed, t *Declaration) // adds the other facts that a live catalog would show

	// isCaseSensitive reports whether a text column distinguishes keys that differ only by
	// case. If it does not, casing is the collation that the column needs, unless caseless
	// returns another problem of the column.
	isCaseSensitive func(c *Column) bool
	casing          string
	caseless        func(c *Column) string

	// comb says why a COMB does not suit a column of UUIDs. It applies to every layout or,
	// if combLayout is not empty, to that layout.
	comb       string
	combLayout dialect.Layout

	noColumn string // what to do if the catalog does not show a column
}

const writeColumn = "write its name as the table has it, or add it to the table"

// engines holds the engines by family.
var engines = map[dialect.Family]*engine{
	dialect.FamilyMySQL: {
		read: readMySQL, readPlace: readPlaceMySQL, implied: impliedBy(showColumns),
		list:  listMySQL,
		names: "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = COALESCE(?, DATABASE())",

		temporary: temporaryInMySQL, partitioning: partitioningMySQL,
		column: (*Declared).inMySQL, complete: completeMySQL,
		isCaseSensitive: func(c *Column) bool { return c.Collation == "" || hasWord(c.Collation, "bin", "cs", "binary") }, casing: "ascii_bin",
		comb: " refuses some and stores others out of order: use source uuidv7, or make it binary(16) with layout: binary",
		// "The INFORMATION_SCHEMA COLUMNS Table" of the MySQL 8.4 Reference Manual: a user
		// sees only columns on which it has some right. Seen on MariaDB 10.11.19.
		noColumn: "write its name as the table has it, add it to the table, or grant this user SELECT and INSERT on it, since the server hides columns to which a user has no right",
	},
	dialect.FamilyPostgreSQL: {
		read: readPostgreSQL, implied: impliedPostgreSQL,
		list: listPostgreSQL,
		names: `SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
AND CASE WHEN $1 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = CAST($1 AS text) END`,
		anySchema: "", // not NULL, whose type PostgreSQL could not infer here

		temporary: temporaryInPostgreSQL, locate: locateInPostgreSQL, partitioning: partitioningPostgreSQL,
		insertRule:      insertRulePostgreSQL,
		column:          (*Declared).inPostgreSQL,
		isCaseSensitive: isCaseSensitiveInPostgreSQL, casing: `"C"`, caseless: citextProblem,
		noColumn: writeColumn,
	},
	dialect.FamilySQLite: {
		read: readSQLite, readOutside: readOutsideSQLite, implied: impliedSQLite,
		list:      listSQLite,
		names:     "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND ?1 IS NULL",
		temporary: temporaryInSQLite, locate: locateInSQLite,
		column:          func(c *Declared) Column { return columnOfSQLite(c.Name, c.Type) },
		isCaseSensitive: func(c *Column) bool { return c.Collation == "" || isOneOf(c.Collation, "BINARY", "RTRIM") }, casing: "BINARY",
		noColumn: writeColumn,
	},
	dialect.FamilySQLServer: {
		read: readSQLServer, implied: impliedSQLServer,
		locate:          locateInSQLServer,
		column:          (*Declared).inSQLServer,
		isCaseSensitive: func(c *Column) bool { return c.Collation == "" || hasWord(c.Collation, "bin", "bin2", "cs") }, casing: "Latin1_General_100_BIN2",
		comb: " compares the last bytes first: say layout: sequential_at_end", combLayout: dialect.SequentialAsString,
		noColumn: writeColumn,
	},
	dialect.FamilyOracle: {
		read: readOracle, implied: impliedOracle,
		column:   (*Declared).inOracle,
		noColumn: writeColumn,
	},
}
