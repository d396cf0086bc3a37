package plan

import (
	"context"
	"database/sql"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// engine holds the SQL and the texts of the steps for one engine. In its SQL {table} and
// {key} stand for the table and its key as SQL writes them, {schema}, {name} and {column}
// for their names as strings, and {new} for the column that a plan adds.
type engine struct {
	// sequences reports whether the engine numbers columns from sequences, from which a
	// source of the kind native can draw too.
	sequences bool

	widen     string // the statement that gives the key 64 bits; empty if every integer column has them; {definition} is what MODIFY repeats
	widened   string // what the user has to expect while the statement widen runs
	referring string // the query for the foreign keys that refer to the key

	add     string // the statement that adds a column that may be NULL
	uuid    string // the type that the engine uses for a column of UUIDs
	binary  string // the type of a column of UUIDs as 16 bytes
	notNull string // makes the column that add has added NOT NULL; empty if the engine cannot do that
	index   string // makes a unique index {index} of the new column; {index schema} and {bare table} are for SQLite

	// If a table is partitioned by columns that the index lacks, it gets another index: a
	// unique one of each partition {part}, or one of the whole table that is not unique.
	partIndex, looseIndex string

	otherIndex string // what the user has to expect of the indexes of partIndex and looseIndex

	swap *swapRules // how keys become UUIDs; nil if no plan does that

	client string // how the engine's client runs a file; empty if no files are written for it
	begin  string // the first lines of a file: without them, psql and sqlite3 go on after an error

	// prepare reads what the statements of this engine have to repeat, such as the
	// definition of a column; nil if there is nothing to read.
	prepare func(ctx context.Context, f *figures, db *sql.DB) error

	// raise adds the SQL to the step that raises the engine's counter: its next number
	// becomes to or greater, unless it is already above latest. See figures.raise.
	raise func(f *figures, s *Step, latest, to int64)

	// numberAgain adds the SQL to the step that makes the engine number an existing column;
	// nil if the engine cannot.
	numberAgain func(f *figures, s *Step, to int64)
}

var (
	mysql = &engine{
		widen:      "ALTER TABLE {table} MODIFY {key} {definition}",
		referring:  "SELECT table_schema, table_name, column_name, constraint_name FROM information_schema.key_column_usage WHERE referenced_table_schema = {schema} AND referenced_table_name = {name} AND referenced_column_name = {column}",
		add:        "ALTER TABLE {table} ADD COLUMN {new} {uuid} NULL",
		uuid:       "CHAR(36) CHARACTER SET ascii COLLATE ascii_bin",
		binary:     "BINARY(16)",
		notNull:    "ALTER TABLE {table} MODIFY {new} {uuid} NOT NULL",
		index:      "CREATE UNIQUE INDEX {index} ON {table} ({new})",
		looseIndex: "CREATE INDEX {index} ON {table} ({new})",
		otherIndex: " The server makes no unique index of a table with partitions without their columns, so that this one keeps no UUID from being stored twice.",
		prepare:    readDefinition, raise: raiseMySQL, numberAgain: numberAgainMySQL, swap: swapMySQL,
		client: "mariadb or mysql, by <", begin: "SET NAMES utf8mb4;\n",
	}
	postgres = &engine{
		sequences:  true,
		widen:      "ALTER TABLE {table} ALTER COLUMN {key} TYPE bigint",
		widened:    " An INSERT with RETURNING of the column may fail once for each connection that has prepared it (cached plan must not change result type, 0A000): run its transaction again.",
		referring:  "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'f' AND confrelid = {table name}::regclass",
		add:        "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {new} {uuid} NULL",
		uuid:       "uuid",
		binary:     "bytea",
		notNull:    "ALTER TABLE {table} ALTER COLUMN {new} SET NOT NULL",
		index:      "CREATE UNIQUE INDEX CONCURRENTLY {index} ON {table} ({new})", // CONCURRENTLY does not block INSERTs
		partIndex:  "CREATE UNIQUE INDEX CONCURRENTLY {index} ON {part} ({new})",
		otherIndex: " PostgreSQL makes no unique index over partitions without their columns: each partition has one of its own, and each new one needs one.",
		raise:      raisePostgreSQL, numberAgain: numberAgainPostgreSQL, swap: swapPostgreSQL,
		client: "psql -f", begin: "\\set ON_ERROR_STOP on\nSET client_encoding = 'UTF8';\n",
	}
	sqlite = &engine{
		add:  "ALTER TABLE {table} ADD COLUMN {new} {uuid} NULL",
		uuid: "TEXT", binary: "BLOB",
		index: "CREATE UNIQUE INDEX {index schema}.{index} ON {bare table} ({new})",
		raise: raiseSQLite, swap: swapSQLite,
		client: "sqlite3, by <", begin: ".bail on\n",
	}
	sqlserver = &engine{
		widen:     "ALTER TABLE {table} ALTER COLUMN {key} bigint NOT NULL",
		referring: "SELECT OBJECT_NAME(parent_object_id), name FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID({table name})",
		add:       "ALTER TABLE {table} ADD {new} {uuid} NULL",
		uuid:      "uniqueidentifier", binary: "binary(16)",
		notNull: "ALTER TABLE {table} ALTER COLUMN {new} {uuid} NOT NULL",
		index:   "CREATE UNIQUE INDEX {index} ON {table} ({new}) WHERE {new} IS NOT NULL", // without WHERE, a unique index accepts only one NULL
		raise:   raiseSQLServer,
	}
	oracle = &engine{
		widen:     "ALTER TABLE {table} MODIFY {key} NUMBER(19)",
		referring: "SELECT c.table_name, c.constraint_name FROM all_constraints c JOIN all_constraints p ON p.owner = c.r_owner AND p.constraint_name = c.r_constraint_name WHERE c.constraint_type = 'R' AND p.owner = {schema} AND p.table_name = {name}",
		add:       "ALTER TABLE {table} ADD {new} {uuid} NULL",
		uuid:      "RAW(16)", binary: "RAW(16)",
		notNull: "ALTER TABLE {table} MODIFY {new} NOT NULL",
		index:   "CREATE UNIQUE INDEX {index} ON {table} ({new})",
		raise:   raiseOracle, numberAgain: numberAgainOracle,
	}
)

// engines holds the engines by family.
var engines = map[dialect.Family]*engine{
	dialect.FamilyMySQL: mysql, dialect.FamilyPostgreSQL: postgres, dialect.FamilySQLite: sqlite,
	dialect.FamilySQLServer: sqlserver, dialect.FamilyOracle: oracle,
}

// sql returns a text of the engine in which the names in braces are replaced: {table},
// {key} and so on, and the names in pairs, where each name is followed by its replacement.
func (f *figures) sql(text string, pairs ...string) string {
	names := append(pairs,
		"{table}", f.table, "{key}", f.key, "{table name}", f.literal(f.table),
		"{schema}", f.literal(f.found.Schema), "{name}", f.literal(f.found.Name), "{column}", f.literal(f.column.Name),
		"{index schema}", f.dialect.QuoteIdent(f.found.Schema), "{bare table}", f.dialect.QuoteIdent(f.found.Name),
	)
	return strings.NewReplacer(names...).Replace(text)
}
