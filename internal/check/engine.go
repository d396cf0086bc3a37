package check

import (
	"context"
	"database/sql"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// engine has what the check asks one engine, and the statements that it prints for it. In
// these stand {table} and {column} for the names as SQL writes them, {type} for the type that
// the column is to have, and {present} for the one that it has.
type engine struct {
	alive string // a query that each server of the engine answers with a row
	now   string // the server's time as keyfill's tables hold it; empty if leases are not looked at
	clock string // asks for that time in milliseconds since 1970; empty if it is not compared
	dated string // the column updated_at, as the same time whatever the driver's time zone

	// limit asks how many connections the user may have at a time, -1 for any number. It is
	// empty if that is not known. limitRemedy says what to raise.
	limit, limitRemedy string

	// mode asks for the words of the session, of which one that begins with STRICT_ has the
	// engine refuse what does not fit. It is empty if it refuses that always.
	mode string

	integer, bytes string // types of integers of 64 bits, and of 16 bytes
	text           string // of {length} characters
	uuid           string // of a UUID
	uuidText       string // of a UUID in a column that has held text; empty for text

	// modifies says that a column is changed by MODIFY, which takes away all that it does not
	// repeat: see checker.modify.
	modifies bool

	alter     string // gives the column the type; empty where that cannot be done
	alterText string // alter for the type of all texts
	caseless  string // what has the column compare by case: a part of its definition if the engine modifies, else a statement
	notNull   string // has the column refuse NULL; empty if the engine modifies
	byDefault string // has the column take keys that the engine would number always; empty if the policy has to change

	dropDefault string // takes the default of the column away
	dropTrigger string // takes the trigger {trigger} away, which is {schema trigger} with its schema

	unfitReference string // of a column that refers to a key and is of another type

	lookAtServer func(*checker) error // looks for what makes a server refuse changes, or share its numbers; nil: nothing is looked for

	// These look for what stands before a database; nil: nothing is looked for.
	lookForPooler, lookForProxy lookBefore

	// missingRights returns the rights that the user lacks on a table, or with "" to create
	// one; nil: that is not known. grantee returns the user as GRANT names it, empty if that is
	// not known; nil: it never is.
	missingRights func(c *checker, table string) ([]string, error)
	grantee       func(*checker) string

	// twoWay tells how another server writes into the database too, empty if none does; nil:
	// that is not known.
	twoWay func(context.Context, *sql.DB) (string, error)

	// refusesType reports whether the engine refuses a key for its type or length, given the
	// words of mode; nil: it always does.
	refusesType func(c *checker, t *catalog.Listed, wanted catalog.Key, col *catalog.Column, mode string) bool
}

const (
	asciiByCase = "CHARACTER SET ascii COLLATE ascii_bin"
	limitOfRole = "raise CONNECTION LIMIT of the role (ALTER ROLE) or the database (ALTER DATABASE) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"
	limitOfUser = "raise MAX_USER_CONNECTIONS of the user (ALTER USER) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"

	dropDefault       = "ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT;"
	dropDefaultByHand = "take the default of the column away"
	dropTrigger       = "DROP TRIGGER {schema trigger};"
)

// engines are by family.
var engines = map[dialect.Family]*engine{
	dialect.FamilyMySQL: {
		alive: "SELECT VERSION()",
		now:   "UTC_TIMESTAMP(6)",
		clock: "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
		dated: "CAST(updated_at AS CHAR)",
		limit: "SELECT CASE WHEN @@max_user_connections = 0 THEN -1 ELSE @@max_user_connections END", limitRemedy: limitOfUser,
		mode:    "SELECT @@sql_mode",
		integer: "BIGINT", bytes: "BINARY(16)",
		text: "VARCHAR({length}) " + asciiByCase, uuid: "VARCHAR({length}) " + asciiByCase,
		modifies: true, caseless: asciiByCase,
		dropDefault: dropDefault, dropTrigger: dropTrigger,
		unfitReference: Error,
		lookAtServer:   (*checker).lookAtMySQL, lookForProxy: (*checker).lookAtProxy,
		missingRights: (*checker).missingMySQL, grantee: (*checker).granteeMySQL,
		twoWay: twoWayMySQL, refusesType: refusesTypeMySQL,
	},
	dialect.FamilyPostgreSQL: {
		alive: "SELECT 'x'",
		now:   "clock_timestamp()",
		clock: "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)",
		dated: "updated_at",
		limit: `SELECT CASE WHEN r.rolsuper THEN -1
	WHEN r.rolconnlimit < 0 THEN d.datconnlimit
	WHEN d.datconnlimit < 0 THEN r.rolconnlimit
	WHEN r.rolconnlimit < d.datconnlimit THEN r.rolconnlimit ELSE d.datconnlimit END
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
WHERE r.rolname = session_user AND d.datname = pg_catalog.current_database()`, limitRemedy: limitOfRole,
		integer: "BIGINT", bytes: "bytea", text: "text", uuid: "uuid",
		alter:       "ALTER TABLE {table} ALTER COLUMN {column} TYPE {type} USING CAST(CAST({column} AS text) AS {type});",
		alterText:   `ALTER TABLE {table} ALTER COLUMN {column} TYPE text COLLATE "C" USING CAST({column} AS text);`, // without COLLATE the column would get the database's
		caseless:    `ALTER TABLE {table} ALTER COLUMN {column} TYPE {present} COLLATE "C";`,
		notNull:     "ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL;",
		byDefault:   "ALTER TABLE {table} ALTER COLUMN {column} SET GENERATED BY DEFAULT;",
		dropDefault: dropDefault, dropTrigger: "DROP TRIGGER {trigger} ON {table};",
		unfitReference: Error,
		lookAtServer:   (*checker).lookAtPostgreSQL, lookForPooler: (*checker).lookAtPooler,
		missingRights: (*checker).missingPostgreSQL, grantee: (*checker).granteePostgreSQL,
		twoWay: twoWayPostgreSQL, refusesType: refusesTypePostgreSQL,
	},
	dialect.FamilySQLite: {
		alive:   "SELECT sqlite_version()",
		now:     "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
		dated:   "updated_at",
		integer: "BIGINT", bytes: "BLOB", text: "TEXT", uuid: "TEXT",
		notNull:     "make the table anew with NOT NULL behind the column: SQLite cannot add it",
		dropDefault: dropDefaultByHand, dropTrigger: dropTrigger,
		unfitReference: Warning, // it stores what does not fit the type too
		lookAtServer:   (*checker).lookAtSQLite,
		refusesType:    refusesTypeSQLite,
	},
	dialect.FamilySQLServer: {
		alive:   "SELECT 'x'",
		clock:   "SELECT DATEDIFF_BIG(millisecond, '1970-01-01', SYSUTCDATETIME())",
		dated:   "updated_at",
		integer: "BIGINT", bytes: "BINARY(16)",
		text: "VARCHAR({length}) COLLATE Latin1_General_100_BIN2", uuid: "UNIQUEIDENTIFIER", uuidText: "UNIQUEIDENTIFIER",
		// A column keeps its type while a key or an index has it:
		// https://learn.microsoft.com/sql/t-sql/statements/alter-table-transact-sql.
		alter:       "drop the constraints and indexes of the column, run ALTER TABLE {table} ALTER COLUMN {column} {type} NOT NULL, and create them again",
		notNull:     "ALTER TABLE {table} ALTER COLUMN {column} {present} NOT NULL;",
		dropDefault: dropDefaultByHand, dropTrigger: dropTrigger,
		unfitReference: Error,
	},
	dialect.FamilyOracle: {
		alive:   "SELECT 'x' FROM dual",
		dated:   "updated_at",
		integer: "NUMBER(19)", bytes: "RAW(16)", text: "VARCHAR2({length})", uuid: "VARCHAR2({length})",
		alter:       "ALTER TABLE {table} MODIFY {column} {type};",
		notNull:     "ALTER TABLE {table} MODIFY {column} NOT NULL;",
		dropDefault: dropDefaultByHand, dropTrigger: dropTrigger,
		unfitReference: Error,
	},
}

// lookBefore looks for what stands before the database of a store; the name is empty for the
// application's own.
type lookBefore func(c *checker, name string, one *openedStore) error

// engine returns what the check has for the engine of the application's database.
func (c *checker) engine() *engine { return engines[c.d.Family] }

// onColumn returns a statement of the engine about a column, with pairs of a further name in
// braces and what stands for it.
func (c *checker) onColumn(text string, t *catalog.Listed, col *catalog.Column, pairs ...string) string {
	pairs = append(pairs, "{table}", c.tableName(t), "{column}", c.d.QuoteIdent(col.Name))
	return strings.NewReplacer(pairs...).Replace(text)
}
