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

// Lexis is how an engine splits text into tokens.
type Lexis struct {
	DoubleQuotedStrings bool // "…" is a string, not an identifier
	Backticks           bool // `…` is an identifier
	Brackets            bool // […] is an identifier
	BracketsDouble      bool // ]] inside […] stands for one ]

	BackslashEscapes bool // \' inside '…' does not end it
	EscapeStrings    bool // E'…' has backslash escapes, also in its continuation on the next line
	UnicodeStrings   bool // U&'…' and U&"…"
	QuoteOperator    bool // q'[…]' and nq'[…]'
	DollarQuotes     bool // $tag$…$tag$
	ColonCasts       bool // x::type

	// StringPrefixes are the letters that make one token with a quote that
	// follows at once, in lower case: "nbx" for N'…', B'…' and X'…'.
	StringPrefixes string

	BackslashNull      bool     // \N is NULL
	HashComments       bool     // # to the end of the line
	DashNeedsSpace     bool     // "--" opens a comment only before a space or control character
	NestedComments     bool     // /* /* */ */ is one comment
	OpenComments       bool     // /* without an end reaches to the end of the text
	ExecutableComments []string // the openings of comments that the engine runs: "/*!"

	// IdentStart and IdentPart are the ASCII bytes besides letters, digits
	// and underscore that an identifier may start with and contain.
	IdentStart, IdentPart string

	// DigitIdents reports whether an identifier may begin with a digit.
	DigitIdents bool

	// DollarWords are the words, in lower case, that begin with a dollar where no
	// other identifier does: the columns of a graph's tables.
	DollarWords []string

	UserVariables   bool // @name is a variable of the session, not a placeholder
	ServerVariables bool // @@name is a variable of the server

	UnicodeSpaces  bool // U+00A0, U+3000 and their like are white space
	ByteOrderMark  bool // U+FEFF is white space where a token could begin
	ReturnEndsLine bool // a carriage return alone ends a comment

	// Wide are the characters of two bytes in the client's character set; nil where none
	// of them holds a byte below 0x80.
	Wide *WideBytes
}

// Params is how an engine and its Go drivers spell and number placeholders.
type Params struct {
	Question       bool // ?
	QuestionNumber bool // ?7
	Dollar         bool // $7
	DollarName     bool // $name
	Colon          bool // :name, :7
	QuotedName     bool // :"Name"
	ColonPlaces    bool // :name stands for the next argument as ? does, whatever the name
	At             bool // @name
	AtNumber       bool // @p7 is the seventh argument

	// ByPosition reports whether a nameless argument belongs to the place of its
	// placeholder in the text, whatever the placeholder is called: each occurrence takes
	// the next argument.
	ByPosition bool

	FoldedNames bool // names compare without case

	// FirstUse reports that some drivers number $7 by its first place in the text, others
	// by its digits.
	FirstUse bool

	// Arrays reports whether a list as an argument stands for as many rows.
	Arrays bool

	// Max is how many arguments one statement may have.
	Max int
}

// Grammar is which forms of INSERT an engine has.
type Grammar struct {
	Replace      bool // REPLACE INTO
	IntoOptional bool // INSERT t

	// Modifiers are the words, in lower case, that may stand between the
	// verb and INTO.
	Modifiers []string

	OrAction      bool // INSERT OR REPLACE
	Top           bool // INSERT TOP (n)
	Partition     bool // t PARTITION (p, …)
	TableHints    bool // t WITH (TABLOCK)
	Output        bool // OUTPUT … before VALUES
	OmittedParts  bool // db..t
	FalseIsZero   bool // FALSE is the number 0
	StringNames   bool // 't' names a table too
	FieldTargets  bool // a.b in a column list is field b of column a, not column b of table a
	AliasAs       bool // t AS x
	AliasBare     bool // t x
	DBLink        bool // t@link
	Overriding    bool // OVERRIDING SYSTEM VALUE
	Set           bool // INSERT … SET a = 1
	DefaultValues bool // DEFAULT VALUES
	DefaultAlone  bool // no upsert clause after DEFAULT VALUES
	DefaultList   bool // (a, b) DEFAULT VALUES
	EmptyLists    bool // () and VALUES ()
	ValueWord     bool // VALUE for VALUES
	RowWord       bool // VALUES ROW(…)
	ValueSets     bool // the only row of VALUES is several where a value is a set, and COALESCE takes none
	RowAlias      bool // VALUES (…) AS new(a, b)

	OnConflict     bool // ON CONFLICT
	OnDuplicateKey bool // ON DUPLICATE KEY UPDATE
	Returning      bool // RETURNING
	ReturningInto  bool // RETURNING … INTO, RETURN … INTO, LOG ERRORS
	Option         bool // OPTION (…)

	// FirstColumns reports whether without a column list n values are the first n
	// columns; elsewhere they must be all of them.
	FirstColumns bool

	// FunctionTargets are the words, in lower case, that open a function used as the
	// target table. QueryTargets are the words that open a query there.
	FunctionTargets []string // OPENQUERY (…)
	QueryTargets    []string // TABLE (SELECT …)

	// RowIDs are other names of an integer key, in lower case.
	RowIDs []string

	CTETargets  bool // INSERT INTO a name of the WITH clause goes through it
	CallTargets bool // f (…) may be the target table

	TempTables   bool   // CREATE TEMPORARY TABLE of the name of another table, which it hides
	TempSchema   bool   // temporary tables are in a schema of their own
	SessionNames string // the first characters of the names of a session's own tables: #t, @t
	TableCase    bool   // names that differ in case may belong to two tables
	SelectInto   bool   // SELECT … INTO makes a table
	Merge        bool   // MERGE
	Dual         bool   // FROM dual gives one row
	RowFunctions bool   // a function that a SELECT without FROM calls may give several rows
	TypedRows    bool   // VALUES as a table, and SELECT under UNION ALL, take no types from the columns they are assigned to

	// SelectedBytes is how 16 bytes, for which % stands, are written in a select list so
	// that they stay the same; empty if they need no change.
	SelectedBytes string

	// StatementSettings are the settings, in lower case, that SET STATEMENT … FOR may
	// give to an INSERT without a change of the rows that it stores; nil where there is no such
	// statement.
	StatementSettings []string

	Copy        bool // COPY … FROM
	Load        bool // LOAD DATA
	Bulk        bool // BULK INSERT, INSERT BULK, and INSERTBULK of go-mssqldb
	PrepareText bool // PREPARE … FROM 'text'
	MultiInsert bool // INSERT ALL, INSERT FIRST, INSERT WHEN
	NoSemicolon bool // a statement may follow another without a semicolon
	Blocks      bool // BEGIN opens a block of statements
	PLSQL       bool // a block of PL/SQL is a statement of its own

	// Routines are the words, in lower case, that name the objects to which CREATE
	// gives a body of statements.
	Routines []string

	// BodyWords are the words, in lower case, one of which follows the only BEGIN
	// of such a body; nil where any statement may, and blocks nest.
	BodyWords []string

	// RoutineIsRest reports whether a definition of a routine or trigger reaches to the
	// end of the text.
	RoutineIsRest bool
}

// Folding is how an engine compares identifiers.
type Folding uint8

const (
	// FoldCase compares quoted and unquoted identifiers alike without case.
	FoldCase Folding = iota
	// FoldLower turns unquoted identifiers to lower case, quoted ones are exact.
	FoldLower
	// FoldUpper turns unquoted identifiers to upper case, quoted ones are exact.
	FoldUpper
)

// Fold returns the form of an identifier that is compared: two identifiers
// name the same thing when their folded forms are equal. The name comes
// without its quotes.
func (d *Dialect) Fold(name string, quoted bool) string {
	switch {
	case d.Folding == FoldCase:
		return strings.ToLower(name)
	case quoted:
		return name
	case d.Folding == FoldUpper:
		return strings.ToUpper(name)
	}
	return foldASCII(name)
}

// FoldTable is Fold for the name of a table or schema.
func (d *Dialect) FoldTable(name string, quoted bool) string {
	if d.ExactTables {
		return name
	}
	return d.Fold(name, quoted)
}

// Folds reports whether Fold(name, quoted) is the folded identifier. It allocates
// nothing where the name is ASCII.
func (d *Dialect) Folds(name string, quoted bool, folded string) bool {
	switch {
	case quoted && d.Folding != FoldCase:
		return name == folded
	case !isASCII(name):
		return d.Fold(name, quoted) == folded
	case len(name) != len(folded):
		return false
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case d.Folding == FoldUpper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case d.Folding != FoldUpper && 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if c != folded[i] {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// foldASCII lowers ASCII letters only, as PostgreSQL does in a multi-byte
// encoding (downcase_identifier, src/backend/parser/scansup.c).
func foldASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// QuoteIdent returns a folded identifier as it is written into a statement,
// always in quotes, so that reserved words and odd names are safe.
func (d *Dialect) QuoteIdent(name string) string {
	return string(d.AppendIdent(make([]byte, 0, len(name)+2), name))
}

// AppendIdent appends the result of QuoteIdent to b.
func (d *Dialect) AppendIdent(b []byte, name string) []byte {
	b = append(b, d.QuoteOpen)
	for i := range len(name) {
		if name[i] == d.QuoteClose {
			b = append(b, d.QuoteClose)
		}
		b = append(b, name[i])
	}
	return append(b, d.QuoteClose)
}

// Placeholder returns the placeholder of the n-th argument, counted from 1, of a statement
// that keyfill writes: "?", "$1", "@p1" or ":1".
func (d *Dialect) Placeholder(n int) string {
	switch {
	case d.Params.Question:
		return "?"
	case d.Params.Dollar:
		return "$" + strconv.Itoa(n)
	case d.Params.AtNumber:
		return "@p" + strconv.Itoa(n)
	}
	return ":" + strconv.Itoa(n)
}

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
