package audit

import (
	"database/sql"

	"github.com/keyfill/keyfill/dialect"
)

// engine says how a transaction sees one moment of the database, and which rows it sees, for
// a family of engines.
type engine struct {
	snapshot sql.TxOptions
	exact    string // an expression that compares texts by their bytes, with %s for the column
	text     string // an expression that gives a column as text without padding, with %s for the column
	bytes    string // an expression that sorts such a text by its bytes, with %s for the text
	length   string // an expression that gives the number of a text's characters, with %s for the text
	date     string // an expression that gives a date as text YYYY-MM-DD, with %s for the column
	seesAll  string // a statement after which queries fail if rows are hidden from the user; empty for none

	// ancestors is the query for the tables whose queries also show the rows of a table, by
	// the table's name; empty if there are none.
	ancestors string

	moving bool // tables may have no transactions, so that their rows are of a later moment
}

// engines is by family. SQLite shows one moment to every transaction, and its drivers
// accept no isolation level. ReadOnly keeps a transaction of SQLite from beginning with the
// lock that _txlock in the DSN asks for, on which writers would wait. The entries for SQL
// Server and Oracle were never executed.
var engines = map[dialect.Family]engine{
	dialect.FamilyMySQL: {
		snapshot: sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		exact:    "BINARY %s", moving: true,
		text: "CAST(%s AS CHAR)", bytes: "BINARY %s", length: "CHAR_LENGTH(%s)", date: "DATE_FORMAT(%s, '%%Y-%%m-%%d')",
	},
	dialect.FamilyPostgreSQL: {
		snapshot: sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		exact:    "%s", seesAll: "SET LOCAL row_security = off",
		text: "CAST(%s AS text)", bytes: `%s COLLATE "C"`, length: "char_length(%s)", date: "to_char(%s, 'YYYY-MM-DD')",
		ancestors: `WITH RECURSIVE up (id) AS (
	SELECT inhparent FROM pg_catalog.pg_inherits WHERE inhrelid = CAST(CAST($1 AS text) AS regclass)
	UNION SELECT h.inhparent FROM pg_catalog.pg_inherits h JOIN up ON h.inhrelid = up.id)
SELECT CAST(n.nspname AS text), CAST(c.relname AS text) FROM up JOIN pg_catalog.pg_class c ON c.oid = up.id JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`,
	},
	dialect.FamilySQLite: {
		snapshot: sql.TxOptions{ReadOnly: true}, exact: "%s COLLATE BINARY",
		text: "CAST(%s AS TEXT)", bytes: "%s COLLATE BINARY", length: "LENGTH(%s)", date: "CAST(%s AS TEXT)",
	},
	dialect.FamilySQLServer: {
		snapshot: sql.TxOptions{Isolation: sql.LevelSnapshot}, exact: "%s",
		text: "RTRIM(%s)", bytes: "%s COLLATE Latin1_General_100_BIN2", length: "LEN(%s)", date: "CONVERT(char(10), %s, 23)",
	},
	dialect.FamilyOracle: {
		snapshot: sql.TxOptions{Isolation: sql.LevelSerializable}, exact: "%s",
		text: "RTRIM(%s)", bytes: "NLSSORT(%s, 'NLS_SORT=BINARY')", length: "LENGTH(%s)", date: "TO_CHAR(%s, 'YYYY-MM-DD')",
	},
}
