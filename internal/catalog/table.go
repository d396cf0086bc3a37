package catalog

import "github.com/keyfill/keyfill/dialect"

// Table holds the catalog's facts about a table or view. It is not changed
// after [Read].
type Table struct {
	Schema, Name string   // as found
	Columns      []Column // in order

	// InsertTriggers says whether something of the user's runs at an INSERT:
	// a trigger, in PostgreSQL a rule too. It is Unknown where the session
	// would not be shown one.
	InsertTriggers Answer

	// KeyTriggers says whether something of the user's may change, move or leave
	// out a row, and so its key, at an INSERT or at the UPDATE of an upsert: a
	// BEFORE trigger in MySQL and MariaDB, any trigger or rule elsewhere. It is
	// Unknown where the session would not be shown one, and on SQL Server and
	// Oracle, which are not asked.
	KeyTriggers Answer

	// RowSecurity says that a query need not show a row that was inserted:
	// PostgreSQL's row security.
	RowSecurity bool

	// UniqueIndexes are the unique indexes and constraints of MySQL and MariaDB.
	UniqueIndexes []UniqueIndex

	View bool

	// Partition says that the table is a part of another one, in whose name its
	// rows are inserted too.
	Partition bool

	// Child says that the table inherits from another one of PostgreSQL, which shows
	// its rows.
	Child bool

	// Twin is the database of SQLite's connection that is the same file and comes
	// before the table's; "" for none.
	Twin string

	// ConflictClauses says that the table says itself what becomes of rows that
	// clash, as SQLite's ON CONFLICT IGNORE behind a constraint does.
	ConflictClauses bool
}

// UniqueIndex is a unique index or constraint of a table.
type UniqueIndex struct {
	Name string

	// Columns are the names of its columns as found; "" for an expression, and for
	// a column of which the index has the beginning only.
	Columns []string
}

// Answer is the answer to a question; the zero value means that it is not known.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota
	No
	Yes
)

// String returns "unknown", "no" or "yes".
func (a Answer) String() string {
	switch a {
	case No:
		return "no"
	case Yes:
		return "yes"
	}
	return "unknown"
}

// Column holds the catalog's facts about a column. Of Integer, Text, Binary and
// UUID one is set, or none for a type that is none of these; all but UUID are
// set for a column of SQLite that keeps any value as it is.
type Column struct {
	Name string // as found
	Type string // the engine's own text: "int(10) unsigned"

	// Integer says that the column holds integers exactly, the greatest of
	// which is at least 2^Bits−1. Bits is 0 for other columns.
	Integer bool
	Bits    int

	Text   bool // characters
	Binary bool // bytes: binary(n), bytea, blob, raw

	// Length is the greatest number of characters of a text column, and of
	// bytes of a binary one; 0 where there is no bound that a key could meet.
	Length int

	// UUID says that the column is of the engine's own type: uuid of
	// PostgreSQL and MariaDB, uniqueidentifier of SQL Server.
	UUID bool

	// Generated says that the value is computed from other columns, and none
	// can be given.
	Generated bool

	// Identity names the other way in which the column is filled with numbers: "AUTO_INCREMENT",
	// "AUTOINCREMENT", "IDENTITY", "GENERATED ALWAYS AS IDENTITY", "GENERATED
	// BY DEFAULT AS IDENTITY", "nextval default"; "" for nothing. An INTEGER
	// PRIMARY KEY of SQLite is none: it is given a number only where the
	// statement brings no key.
	Identity string

	// IdentityAlways says that the engine refuses values for an Identity.
	IdentityAlways bool

	// LastKeyDefault says that the column's default may read
	// LAST_INSERT_ID(): MariaDB takes @@last_insert_id in one.
	LastKeyDefault bool

	// RowID says that the column is another name of SQLite's rowid.
	RowID bool

	// LeadsIndex says that an index of all rows, unique or not, begins with
	// the column, so that MAX reads one entry of it.
	LeadsIndex bool

	// Unique is the names under which the engine's duplicate-key errors tell
	// of the column: of the unique indexes and constraints that begin with it.
	// SQLite's errors name no index, but "table.column"; MySQL's write the
	// table and a point before the name, from 8.0.19 on, and Oracle's the owner.
	Unique []string

	// UniqueAlone says that a unique index of all rows is on the column and no
	// other, so that no value is stored twice.
	UniqueAlone bool

	// Collation is the name of a text column's collation, "" where the
	// catalog does not tell. SQLite tells the collation of indexes only.
	Collation string

	rounds bool // a floating-point number, in which large integers are not exact

	numeric bool // text that looks like a number becomes one, exact or not
	lossy   bool // for something else: what is stored is bent, or read back as no integer
}

// Column returns the column of a folded name, nil where there is none.
func (t *Table) Column(d *dialect.Dialect, folded string) *Column {
	for i := range t.Columns {
		if d.Fold(t.Columns[i].Name, true) == folded {
			return &t.Columns[i]
		}
	}
	return nil
}

// named returns the column of a name as found, nil where there is none.
func (t *Table) named(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}
