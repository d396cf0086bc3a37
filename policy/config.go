package policy

import (
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// Config is the configuration of one database. It has the fields of the file,
// where their names are in snake case: DefaultSchema is default_schema. The zero
// value of each field stands for its default.
//
// A Config is only read by this module, and [Config.Compile] copies what it
// keeps.
type Config struct {
	// Version is the version of the format, 1. A file has to say it; in Go, 0
	// means 1.
	Version int

	// Dialect is the engine, one of [dialect.Names]; "" leaves it to the
	// driver.
	Dialect string

	// DefaultSchema is the schema of a table that a query names without one,
	// written as in SQL; "" when it is not known, and then such a table is
	// matched by bare entries only.
	DefaultSchema string

	// SQLMode, StandardConformingStrings and QuotedIdentifier are the settings of the
	// application's sessions that change how text is read: sql_mode of MySQL and MariaDB
	// as a list with commas, or default; standard_conforming_strings of PostgreSQL and
	// QUOTED_IDENTIFIER of SQL Server, on or off. Empty means not known: then a session
	// is asked where it matters.
	SQLMode, StandardConformingStrings, QuotedIdentifier string

	// SessionReads is what happens to a statement that asks the session for a number
	// which keyfill has made instead of the engine; "" is [SessionReadsError].
	SessionReads SessionReads

	// Mode is how the statements of all tables are treated.
	Mode Mode

	// Unsupported is what happens to an INSERT on a configured table that cannot be
	// filled; "" is [Refuse].
	Unsupported Unsupported

	// Check is when the policy is compared with the database: "" is never, and
	// [CheckStart] in the background of the first connection.
	Check string

	// EnsureSchema is the default for the sources of the file that have no ensure_schema:
	// see [Source.EnsureSchema]. It counts for the kinds that have the field, where it is
	// of use. It does not create the row of a state that has a name of its own; for that,
	// set EnsureSchema or Create in the source. In Go a source cannot set it to false.
	EnsureSchema bool

	// Fill is the set of values that count as "no key"; 0 is missing, null, default and
	// zero, where zero counts for integers on MySQL and MariaDB only
	// ([dialect.Dialect.ZeroIsNoKey]).
	Fill Fill

	// Stores are databases that keep the states of sources, by name, besides
	// the application's own. A name is spelled as the name of a source is, and is
	// not "none".
	Stores map[string]Store

	// StoreWait is how long an INSERT waits for a store that does not answer, if its
	// context does not end before; 0 is ten seconds. A final refusal of a store is not
	// waited for.
	StoreWait time.Duration

	// Sources are the sources that tables share, by name. A name is of ASCII
	// letters, digits, _ and -, and none of the kinds.
	Sources map[string]Source

	// Tables are the tables to fill, by name or glob, written as in SQL. Without any,
	// every statement passes.
	Tables map[string]Table

	origin *origin // where the entries stand in the file; nil when built in Go
}

// Table is the entry for one table, or for all that a glob matches.
type Table struct {
	// Column is the key column, written as in SQL.
	Column string

	// Source makes the keys of Column: the name of an entry of
	// [Config.Sources], or a kind; "" is uuidv7.
	Source string

	// InPlace is a source of this table alone, instead of Source.
	InPlace *Source

	// Layout is how the keys of Column are sent; "" is the default of the
	// dialect, or of the kind if it has one, and for integers int64.
	Layout dialect.Layout

	// MaxBits bounds the integers of Column: 31, 53 or 63; 0 is 63. Where
	// several columns share a state, the least bounds all of them.
	MaxBits int

	// LastInsertID is how the application learns the integer of Column; "" is
	// [LastInsertIDSession] on MySQL and MariaDB, [LastInsertIDResult] on SQLite,
	// [LastInsertIDOff] elsewhere and where the layout is string.
	LastInsertID LastInsertID

	// Keys are further key columns, or all of them when Column is "".
	Keys []Key

	// Columns are all columns of the table in order, for INSERTs without a
	// column list; nil when not known.
	Columns []string

	// Fill is the set of values that count as "no key"; 0 is the setting of the file.
	Fill Fill

	// Mode counts when it is more cautious than the file's.
	Mode Mode

	// Unsupported is as in [Config]; "" takes the file's setting.
	Unsupported Unsupported
}

// Key is one key column.
type Key struct {
	Column  string         // as in [Table], but never ""
	Source  string         // as in [Table]
	InPlace *Source        // as in [Table]
	Layout  dialect.Layout // as in [Table]
	MaxBits int            // as in [Table]
	Fill    Fill           // 0 takes the table's setting

	// LastInsertID is as in [Table], but "" is [LastInsertIDOff].
	LastInsertID LastInsertID
}

// keys returns the table's keys with the places where they stand; the key of
// Column comes first.
func (t *Table) keys(at place) ([]Key, []place) {
	var (
		keys   []Key
		places []place
	)
	if t.Column != "" {
		keys = append(keys, Key{
			Column: t.Column, Source: t.Source, InPlace: t.InPlace, Layout: t.Layout,
			MaxBits: t.MaxBits, LastInsertID: t.LastInsertID,
		})
		places = append(places, at)
	}
	for i, k := range t.Keys {
		keys = append(keys, k)
		places = append(places, at.in("keys").element(i))
	}
	return keys, places
}
