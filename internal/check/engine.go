package check

import (
	"context"
	"database/sql"
	"strings"

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

	types  columnTypes
	alters alterations

	unfitReference string // the severity where a column refers to a key, and is of another type

	lookAtServer func(*checker) error // looks for what makes a server refuse changes, or share its numbers; nil: nothing is looked for

	// These look for what stands before a database; nil: nothing is looked for.
	lookForPooler, lookForProxy lookBefore

	// missingRights returns the rights that the user lacks on a table, or with "" to create
	// one; nil: that is not known. grantee returns the user as GRANT names it, empty if that is
	// not known; nil: it never is.
	missingRights func(c *checker, table string) ([]string, error)
	grantee       func(*checker) string

	// twoWay returns how another server writes into the database too, empty if none does;
	// nil: that is not known.
	twoWay func(context.Context, *sql.DB) (string, error)

	// refusesType reports whether the engine refuses a key for its type or length, given the
	// words of mode; nil: it always does.
	refusesType func(c *checker, t *catalog.Listed, wanted catalog.Key, col *catalog.Column, mode string) bool
}

// alterations are the statements that change a column of an engine.
type alterations struct {
	// modifies says that a column is changed by MODIFY, which takes away all that it does not
	// repeat: see checker.modify.
	modifies bool

	alter       string // gives the column the type; empty where that cannot be done
	alterText   string // alter for the type of all texts
	caseless    string // what has the column compare by case: a part of its definition if the engine modifies, else a statement
	notNull     string // has the column refuse NULL; empty if the engine modifies
	byDefault   string // has the column take keys that the engine would number always; empty if the policy has to change
	dropDefault string // takes the default of the column away
	dropTrigger string // takes the trigger {trigger} away, which is {schema trigger} with its schema
}

// columnTypes are the types of columns that an engine has for keys.
type columnTypes struct {
	integer, bytes string // types of integers of 64 bits, and of 16 bytes
	text           string // of {length} characters
	uuid           string // of a UUID
	uuidText       string // of a UUID in a column that has held text; empty for text
}

const (
	asciiByCase = "CHARACTER SET ascii COLLATE ascii_bin"
	limitOfRole = "raise CONNECTION LIMIT of the role (ALTER ROLE) or the database (ALTER DATABASE) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"
	limitOfUser = "raise MAX_USER_CONNECTIONS of the user (ALTER USER) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"

	dropDefault       = "ALTER TABLE {table} ALTER COLUMN {column} DROP DEFAULT;"
	dropDefaultByHand = "take the default of the column away"
	dropTrigger       = "DROP TRIGGER {schema trigger};"
)

// lookBefore looks for what stands before the database of a store; the name is empty for the
// application's own.
type lookBefore func(c *checker, name string, one *openedStore) error

// onColumn returns a statement of the engine about a column, with pairs of a further name in
// braces and what stands for it.
func (c *checker) onColumn(text string, t *catalog.Listed, col *catalog.Column, pairs ...string) string {
	pairs = append(pairs, "{table}", c.tableName(t), "{column}", c.d.QuoteIdent(col.Name))
	return strings.NewReplacer(pairs...).Replace(text)
}
