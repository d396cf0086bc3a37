package check

import (
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/check/locktrial"
)

// engine holds the queries that the check sends to one engine, and the statements that it
// prints for it. In these, {table} and {column} stand for the names as SQL writes them,
// {type} for the type that the column should have, and {present} for the type that it has.
type engine struct {
	alive string // a query that each server of the engine answers with a row
	now   string // the expression for the server's time, in the form in which keyfill's tables store times; empty if leases are not looked at
	clock string // the query for the server's time in milliseconds since 1970; empty if it is not compared
	dated string // an expression whose value is the time in updated_at, whatever the driver's time zone

	// limit is the query for how many connections the user may have at a time, -1 for any
	// number. It is empty if that cannot be known. limitRemedy says what to raise.
	limit, limitRemedy string

	// mode is the query for the session's setting that decides whether the engine refuses
	// values that do not fit: it does if one of the words begins with STRICT_. mode is
	// empty if the engine always refuses them.
	mode string

	types  columnTypes
	alters alterations

	unfitReference string // the severity of a finding about a column whose foreign key refers to a key column of another type

	lookAtServer func(*checker) error // looks for settings by which a server refuses changes or shares its numbers; nil if there are none

	// lookForPooler and lookForProxy look for a pooler or a proxy of the database. Each is
	// nil if the engine has nothing to look for.
	lookForPooler, lookForProxy lookBefore

	// rowLock tries the lock of a row of keyfill_sequences, and greatestLock the lock that
	// maxplusone takes, if that is another one. Each is nil if it is not tried.
	rowLock, greatestLock *locktrial.Trial

	// savepoint tries the savepoints that keys in the caller's transaction need, and returning
	// the rows that an UPDATE of a state returns. Each is nil if it is not needed, or not tried.
	savepoint, returning *locktrial.Promise

	// missingRights returns the rights that the user lacks on a table, or, for an empty
	// name, the rights that it lacks to create one; it is nil if they cannot be known.
	// grantee returns the user as GRANT names it, empty if that is not known; it is nil if
	// the engine never shows that.
	missingRights func(c *checker, table string) ([]string, error)
	grantee       func(*checker) string

	// refusesType reports whether the engine refuses a key because of its type or length;
	// mode is the answer to the query mode. It is nil if the engine always refuses such a
	// key.
	refusesType func(c *checker, t *catalog.Listed, wanted catalog.Key, col *catalog.Column, mode string) bool
}

// alterations are the statements that change a column of an engine.
type alterations struct {
	// modifies reports whether a column is changed by MODIFY, which removes everything that
	// it does not repeat: see checker.modify.
	modifies bool

	alter       string // gives the column the type; empty if the engine cannot do that
	alterText   string // alter, if the type is text of any length
	caseless    string // makes the column compare by case: a part of its definition if modifies is set, else a statement
	notNull     string // makes the column NOT NULL; empty if modifies is set
	byDefault   string // makes a column that the engine always numbers accept keys; empty if no statement can, so that the policy has to change
	dropDefault string // removes the default of the column
	dropTrigger string // removes the trigger {trigger}; {schema trigger} is its name with the schema
}

// columnTypes are the types of an engine that columns need for keys.
type columnTypes struct {
	integer, bytes string // the types of integers of 64 bits, and of 16 bytes
	text           string // the type of texts of {length} characters
	uuid           string // the type of a UUID
	uuidText       string // the type of a UUID in a column that has held text; empty if such a column stays text
}

const (
	asciiByCase = "CHARACTER SET ascii COLLATE ascii_bin"
	limitOfRole = "raise CONNECTION LIMIT of the role (ALTER ROLE) or the database (ALTER DATABASE) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"
	limitOfUser = "raise MAX_USER_CONNECTIONS of the user (ALTER USER) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"

	dropDefault       = "ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT;"
	dropDefaultByHand = "take the default of the column away"
	dropTrigger       = "DROP TRIGGER {schema trigger};"
)

// lookBefore looks for a pooler or a proxy of a store's database. The name is empty for the
// application's own database.
type lookBefore func(c *checker, name string, one *openedStore) error

// onColumn returns a statement about a column in which the names in braces are replaced:
// {table}, {column}, and the further names in pairs, each followed by its replacement.
func (c *checker) onColumn(text string, t *catalog.Listed, col *catalog.Column, pairs ...string) string {
	pairs = append(pairs, "{table}", tableName(c.d, t), "{column}", c.d.QuoteIdent(col.Name))
	return strings.NewReplacer(pairs...).Replace(text)
}
