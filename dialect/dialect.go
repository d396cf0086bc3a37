// Package dialect holds what keyfill must know about each database engine:
// how its text is split into tokens, how its placeholders are numbered, which
// forms of INSERT it has, how many arguments it takes and in which order it
// compares a 16-byte key.
//
// A [Dialect] is plain data. Nothing in it decides anything: the scanner and
// the packages below internal/rewrite read its fields, so an engine can be read,
// compared and tested as a table of facts.
//
// # Caveats
//
// The facts hold for the newest version of each engine under its default settings:
// MySQL without ANSI_QUOTES and NO_BACKSLASH_ESCAPES, PostgreSQL with
// standard_conforming_strings, SQL Server with QUOTED_IDENTIFIER on. [Dialect.With]
// returns the facts under other settings.
package dialect

//row:changes | the placeholders, quotes or words of an engine | `dialect`: one value for each engine

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Dialect holds the facts about one engine. The values returned by [MySQL], [MariaDB],
// [PostgreSQL], [SQLite], [SQLServer] and [Oracle] are shared and must not be changed.
type Dialect struct {
	Name  string // its name in the policy file, such as "mysql" or "postgres"
	Title string // its name in messages, such as "MySQL" or "PostgreSQL"

	Family Family // the group of engines that share a manual with it

	Lexis   Lexis
	Params  Params
	Grammar Grammar

	// Setting is the setting of a session that changes how text is read, or nil if
	// there is none. The other facts hold under Settings.
	Setting  *Setting
	Settings Settings

	Folding Folding // how identifiers are compared

	// ExactTables reports whether the names of tables and schemas are compared as they
	// are written: MySQL and MariaDB with lower_case_table_names=0.
	ExactTables bool

	Numbering Numbering // how the engine numbers the rows of a query

	Transactions Transactions // savepoints, and facts about the end of a transaction

	Place Place // where the engine looks for a table that is named without a schema

	// QuoteOpen and QuoteClose enclose an identifier that keyfill writes;
	// a QuoteClose inside it is doubled.
	QuoteOpen, QuoteClose byte

	// Latest holds how a query reads the rows that were stored last.
	Latest Latest

	// BinaryOpen and BinaryClose enclose the hexadecimal digits of a binary
	// literal.
	BinaryOpen, BinaryClose string

	// TextOpen begins the literal of a text with other characters than letters, digits and
	// signs that every setting and driver reads alike. After X' come the hexadecimal digits
	// of the text's UTF-8. After other openings comes the text with each quote twice, and
	// after E' with each backslash twice too.
	TextOpen string

	// AtomicStatements reports whether an INSERT that fails has stored none of its rows;
	// in MySQL and MariaDB it depends on the storage engine.
	AtomicStatements bool

	DefaultLayout Layout // the layout of a 16-byte key if the policy names none

	// ErrorsAbort reports whether a transaction can only be rolled back after a failed
	// statement, at least to a savepoint.
	ErrorsAbort bool

	// OneWriter reports whether one connection writes at a time, until its transaction
	// ends: a second connection of the same process would wait for it, or make it fail
	// (https://www.sqlite.org/isolation.html, SQLITE_BUSY_SNAPSHOT).
	OneWriter bool

	// FirstID reports whether LastInsertId, for a table with AUTO_INCREMENT, is the number
	// of the first row that the engine has numbered. If it has numbered no row,
	// LastInsertId is a key that the INSERT itself has, or the id of the row that an
	// upsert has changed.
	FirstID bool

	// UncountedRows reports whether the result of a statement that returns rows does
	// not count the rows that were stored.
	UncountedRows bool

	// LeavesNoTrace reports whether a statement leaves nothing in its session, such as
	// FOUND_ROWS(), that the next statement could read.
	LeavesNoTrace bool

	// Conversion is a query that returns 1 if the session may store other bytes than an
	// argument of a prepared statement has, plus 2 if it may read other bytes in a string
	// than a driver has quoted there, and otherwise 0. It is empty if every session stores
	// an argument's own bytes.
	Conversion string

	// Cluster is a query that returns 1 or "on" if another server takes writes too, so
	// that this server may not have applied all that the other has committed. It is
	// empty if the engine has no such clusters. A server that was built without them
	// answers with an error.
	Cluster string

	// SerialSuffix follows the names of a table and a column in the name of the
	// sequence that the engine makes for the column. It is empty if the engine makes no
	// sequence with such a name.
	SerialSuffix string

	// HomeSchema is the schema in which a script makes a table that it names without
	// one. It is empty if that schema has no fixed name.
	HomeSchema string

	// LastRowID reports whether the driver's LastInsertId is the number of the last row
	// that any INSERT of the connection has stored, whatever its key.
	LastRowID bool

	Errors Errors // the classes of the engine's error codes

	// ZeroIsNoKey reports whether the engine itself makes a key for an integer 0 in a
	// key column: MySQL and MariaDB.
	ZeroIsNoKey bool

	// EmptyIsNull reports whether the empty string is NULL: Oracle.
	EmptyIsNull bool

	// Caseless reports whether texts compare without case unless their column says
	// otherwise: MySQL 8.4 manual, 12.3.1; MariaDB Knowledge Base, "Setting Character Sets
	// and Collations"; Microsoft Learn, "Collation and Unicode support".
	Caseless bool

	// BytesAreText reports whether a text column stores bytes as the text that they
	// spell, and a column of bytes stores a text as its bytes.
	BytesAreText bool

	// LooseTypes reports whether a column takes values of any type and length, whatever
	// its declaration says: https://www.sqlite.org/datatype3.html.
	LooseTypes bool

	// PadsText reports whether a text in a column of fixed length is returned padded
	// with spaces.
	PadsText bool

	// First is the clause that limits a query to its first {n} rows.
	First string

	// FreshCounters is a statement after which information_schema shows the present
	// counters of tables. It is empty if information_schema always shows them.
	FreshCounters string

	// IndexSchema reports whether CREATE INDEX takes the schema before the name of the
	// index, and not before the table's: https://sqlite.org/lang_createindex.html.
	IndexSchema bool

	// UnreadCounter reports whether keyfill does not ask the engine for the present
	// counter of a column that the engine numbers itself: SQL Server and Oracle.
	UnreadCounter bool
}

// Family is a group of engines that descend from one engine and share its manual. Code
// asks for a family if a rule is from that manual; a fact that engines of several
// families have in common is a field of [Dialect] instead.
type Family uint8

// The families.
const (
	FamilyMySQL Family = iota + 1 // MySQL and MariaDB
	FamilyPostgreSQL
	FamilySQLite
	FamilySQLServer
	FamilyOracle
)

// IndexNames returns the names of an index and of its table as CREATE INDEX takes them.
// An empty schema is left out.
func (d *Dialect) IndexNames(schema, index, table string) (name, on string) {
	name, on = d.QuoteIdent(index), d.QuoteIdent(table)
	switch {
	case schema == "":
	case d.IndexSchema:
		name = d.QuoteIdent(schema) + "." + name
	default:
		on = d.QuoteIdent(schema) + "." + on
	}
	return name, on
}

// FirstRows returns the clause that limits a query to its first n rows.
func (d *Dialect) FirstRows(n int) string { return strings.ReplaceAll(d.First, "{n}", strconv.Itoa(n)) }

// SharesFamily reports whether two engines are of one family.
func (d *Dialect) SharesFamily(with *Dialect) bool { return d.Family == with.Family }

const (
	// FoldCase means that quoted and unquoted identifiers are compared alike, without
	// case.
	FoldCase Folding = iota
	// FoldLower means that unquoted identifiers are turned to lower case, and quoted
	// ones are exact.
	FoldLower
	// FoldUpper means that unquoted identifiers are turned to upper case, and quoted
	// ones are exact.
	FoldUpper
)

// ByName returns the dialect that has this name in the policy file. Its error lists the
// names of all dialects.
func ByName(name string) (*Dialect, error) {
	for _, d := range All() {
		if d.Name == name {
			return d, nil
		}
	}
	return nil, anchor.Lastf("policy", "dialect: unknown dialect %q: write one of %s", name, Names())
}

// Names returns the names of all dialects, for messages.
func Names() string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// All returns every dialect.
func All() []*Dialect {
	return []*Dialect{MySQL(), MariaDB(), PostgreSQL(), SQLite(), SQLServer(), Oracle()}
}
