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
// The facts hold for the newest version of each engine under its default
// settings: MySQL without ANSI_QUOTES and NO_BACKSLASH_ESCAPES, PostgreSQL
// with standard_conforming_strings, SQL Server with QUOTED_IDENTIFIER on. What
// they are under others is [Dialect.With]'s to say.
package dialect

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Dialect is the facts about one engine. The values returned by [MySQL],
// [MariaDB], [PostgreSQL], [SQLite], [SQLServer] and [Oracle] are shared and
// must not be changed.
type Dialect struct {
	Name  string // as the policy file spells it: "mysql", "postgres" …
	Title string // as messages spell it: "MySQL", "PostgreSQL" …

	Family Family // which engines it shares a manual with

	Lexis   Lexis
	Params  Params
	Grammar Grammar

	// Setting is the setting of a session that changes how text is read, nil if no
	// setting does. The facts hold under Settings.
	Setting  *Setting
	Settings Settings

	Folding Folding // how identifiers compare

	// ExactTables reports whether the names of tables and schemas are compared as they
	// are written: MySQL and MariaDB with lower_case_table_names=0.
	ExactTables bool

	Numbering Numbering // how the rows of a query are numbered

	Transactions Transactions // how they are undone in part, and made again

	Place Place // where tables without a schema are looked for

	// QuoteOpen and QuoteClose enclose an identifier that keyfill writes;
	// a QuoteClose inside it is doubled.
	QuoteOpen, QuoteClose byte

	// Latest is how a query reads the rows that were stored last.
	Latest Latest

	// BinaryOpen and BinaryClose enclose the hexadecimal digits of a binary
	// literal.
	BinaryOpen, BinaryClose string

	// AtomicStatements reports whether an INSERT that fails has stored none of its rows;
	// in MySQL and MariaDB it depends on the storage engine.
	AtomicStatements bool

	DefaultLayout Layout // of a 16-byte key where the policy names none

	// ErrorsAbort reports whether after a failed statement its transaction can only be
	// rolled back, at least to a savepoint.
	ErrorsAbort bool

	// OneWriter reports whether one connection writes at a time, until its transaction
	// ends: a second connection of the same process would wait for it, or make it fail
	// (https://www.sqlite.org/isolation.html, SQLITE_BUSY_SNAPSHOT).
	OneWriter bool

	// FirstID says that LastInsertId is the number that the engine gave to the first row that it
	// numbered, or else a key that a row has brought, or the id of the row that an upsert has
	// changed, if a column has AUTO_INCREMENT.
	FirstID bool

	// UncountedRows says that the result of a statement that returns rows does not count the
	// rows that were stored.
	UncountedRows bool

	// LeavesNoTrace says that a statement changes nothing that the next one of its session can
	// read, but for what it is for: neither FOUND_ROWS() nor the like.
	LeavesNoTrace bool

	// Conversion asks a session, 1 or 0, whether it may store other bytes than an argument has;
	// empty where none does.
	Conversion string

	// Cluster asks whether the server, 1 or "on", may not have applied yet what another one has
	// committed that writes too; empty where none is so. It is an error of servers without
	// such clusters.
	Cluster string

	// SerialSuffix follows the names of a table and a column in the name of the sequence that the
	// engine makes for the column; empty where it makes none with such a name.
	SerialSuffix string

	// HomeSchema is the schema, besides none, in which a script makes a table that names none;
	// empty where there is no such name.
	HomeSchema string

	// LastRowID says that the driver's LastInsertId is the number of the last row
	// that any INSERT of the connection has stored, whatever its key.
	LastRowID bool

	Errors Errors // the meaning of the codes of its errors

	// ZeroIsNoKey reports whether the engine itself takes an integer 0 in a key column
	// for "make one": MySQL and MariaDB.
	ZeroIsNoKey bool

	// EmptyIsNull reports whether the empty string is NULL: Oracle.
	EmptyIsNull bool

	// Caseless says that texts compare without case unless their column says otherwise.
	Caseless bool

	// BytesAreText says that a text column stores bytes as the text that they spell, and a column
	// of bytes a text as its bytes.
	BytesAreText bool

	// LooseTypes says that a column takes values of any type and length, whatever its
	// declaration says: https://www.sqlite.org/datatype3.html.
	LooseTypes bool

	// PadsText says that a text in a column of fixed length comes back filled up with spaces.
	PadsText bool

	// First follows a query of which {n} rows are wanted.
	First string

	// FreshCounters is the statement after which information_schema shows where the counters of
	// tables stand now; empty where it always does.
	FreshCounters string

	// IndexSchema says that CREATE INDEX takes the schema before the name of the index, and not
	// before the table's: https://sqlite.org/lang_createindex.html.
	IndexSchema bool

	// UnreadCounter says that keyfill does not ask the engine where the counter of a
	// column stands that it numbers itself: SQL Server and Oracle.
	UnreadCounter bool
}

// Family is a group of engines that descend from one and keep its manual. Code asks
// for a family where a rule is written for its engines in that manual; whatever
// engines of several families have in common is a fact of [Dialect] instead.
type Family uint8

// The families.
const (
	FamilyMySQL Family = iota + 1 // MySQL and MariaDB
	FamilyPostgreSQL
	FamilySQLite
	FamilySQLServer
	FamilyOracle
)

// IndexNames returns the names of an index and its table as CREATE INDEX has them. An empty
// schema is left out.
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

// FirstRows returns what follows a query of which n rows are wanted.
func (d *Dialect) FirstRows(n int) string { return strings.ReplaceAll(d.First, "{n}", strconv.Itoa(n)) }

// SharesFamily reports whether two engines are of one family.
func (d *Dialect) SharesFamily(with *Dialect) bool { return d.Family == with.Family }

const (
	// FoldCase compares quoted and unquoted identifiers alike without case.
	FoldCase Folding = iota
	// FoldLower turns unquoted identifiers to lower case, quoted ones are exact.
	FoldLower
	// FoldUpper turns unquoted identifiers to upper case, quoted ones are exact.
	FoldUpper
)

// ByName returns the dialect that the policy file calls name. The error names
// the ones there are.
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
