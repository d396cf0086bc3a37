// Package engine holds what differs between the databases that keep keyfill's tables:
// for each engine the tables, the statements about their rows, and the words from which
// statements about other tables are composed. It sends no statement, and of this module
// it imports only dialect.
package engine

//row:changes | a statement of the store, or keyfill's tables | `internal/store/engine`: a file for each engine, `composed.go` and `rowstatements.go` for what differs in words; `internal/store/schema` creates tables

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

// Engine holds the statements for one kind of database.
//
// In the texts of the statements that read and reserve, the marker {server} stands for
// one of the expressions in Servers.
type Engine struct {
	Tables [len(Tables)]string // create each table if it does not exist

	// Servers are expressions that identify the server, the most specific first. A server
	// may lack some of them, or refuse them to a user.
	Servers []string

	// Database is an expression for the name of the connection's current database; it is
	// empty if the engine's databases have no names.
	Database string

	Expressions Expressions

	Clock ClockWords

	ErrorsKeepTransaction bool // a statement that fails does not abort its transaction

	OpensAtOnce bool // one query can return all that must be known to open a sequence

	Locks Locks

	Proof Proof // how to prove that a transaction of the application is open

	Series SeriesWords

	// Setup lists statements for a new connection of the store's pool, which executes the
	// first of them that the server accepts.
	Setup []string

	Counters CounterQueries

	// BindsTexts reports that arguments are written into the text of a statement on
	// connections of the store's pool. A driver that prepares the statement would take
	// three round trips instead of one, and would not report an error of closing it.
	BindsTexts bool

	Rows SequenceStatements

	Workers WorkerStatements

	Keys KeyQueries

	Path PathQueries

	TwoWay TwoWay

	Words Wording // the engine's words in statements about a key table of the application

	Procedures Procedures
}

// Expressions are the engine's words for parts of a statement.
type Expressions struct {
	Quote  string // begins a text literal
	Dual   string // follows a SELECT that reads no table
	Now    string // the server's time, in the form that is stored
	Random string // a random text of at most 40 characters
}

// ClockWords are the engine's words for the time of its clock at the beginning of a
// statement. All are empty for an engine without a server, whose clock is the process's.
type ClockWords struct {
	// Now is the time. It is the same in all of a statement, also if the statement waits for
	// a lock, and a later one in a later statement of the same transaction.
	Now string

	Text    string // Now as a text of the form 2006-01-02 15:04:05.999999, in UTC
	Instant string // the format of a placeholder whose argument is a time, in UTC
	Zone    string // ends the text of such an argument, which is 2006-01-02 15:04:05 otherwise
}

// Locks describes how the engine locks rows and tables.
type Locks struct {
	LocksGaps  bool   // an UPDATE that finds no row locks the gap where the row would be
	SkipLocked string // makes a SELECT skip locked rows, if it would wait for them
	Lock       string // the statement that takes the lock to write of table %[1]s with column %[2]s; may be empty
	Unlocked   string // follows the table's name in a SELECT that waits for no lock, and may see changes before their commit
	// OwnLocks is the query for two numbers of locks that the transaction holds and other
	// connections wait for: locks on the tables %[1]s, which block reads, and locks on
	// sequences, which block draws. It is empty for an engine without such locks.
	OwnLocks string
}

// SequenceStatements are the statements about the row of a sequence in
// keyfill_sequences.
type SequenceStatements struct {
	// ReturnsLastInsertID reports whether Reserve, on a connection of the store's pool,
	// returns LAST_INSERT_ID and the number of changed rows, to a caller that has read the
	// row before. On other connections the row is read, and then replaced if it is still
	// the same.
	ReturnsLastInsertID bool

	// OnServer is a condition that follows Reserve to compare the server, which is the
	// last argument. It is false if the server would replicate the statement as text.
	OnServer string

	Read    Statement // selects next_value, incarnation, server, table_name, column_name, parameters
	Others  Statement // selects the name of a row that binds a column to another counter than the sequence, or NULL
	Create  Statement // inserts the row of a sequence, or raises its next value
	Make    Statement // inserts the row of a sequence if it does not exist
	Advance Statement // raises the next value; locks the row even if it does not raise it
	Raise   Statement // raises the next value; locks no row that it does not raise; may be empty
	Reserve Update    // reserves integers, and returns next_value, incarnation and server
}

// WorkerStatements are the statements about the row of a snowflake worker in
// keyfill_workers.
type WorkerStatements struct {
	Enrol Statement // inserts the row of a worker, if it does not exist
	Mark  Update    // raises reserved_until, and returns previous_until
	// MarkRead, on engines that need it, selects reserved_until; Mark then replaces that
	// value if it is still the same.
	MarkRead Statement
}

// KeyQueries are the queries for the greatest key of a column.
type KeyQueries struct {
	MaxKey string // selects the greatest key; its arguments are a column, the text of Hides and a table
	// Hides is an expression that is 1 if the engine may hide rows of table %s (a literal)
	// from the user, and 0 otherwise. It is empty for an engine that shows all rows.
	Hides string

	// Current is an expression that is 1 if a statement in a transaction sees all rows of
	// table %s (a literal) that were committed before the statement, and 0 if it may see
	// the rows as they were before the transaction. It is empty if the engine cannot be
	// asked.
	Current string

	Texts TextWords
}

// TextWords are the engine's words about the texts of numbers. They compare bytes, whatever
// the collation of a column is.
type TextWords struct {
	Left, Right string // the first or last characters of %s, as many as %d says
	Length      string // how many characters %s has
	Equal       string // whether %s has the characters of the text %s
	Digits      string // whether %s has decimal digits alone
}

// CounterQueries are the statements about the engine's own counter of a column, such as
// AUTO_INCREMENT.
type CounterQueries struct {
	// RaiseCounter holds the statements, for one connection, after which the next number
	// of the engine's own counter of a column is {next} or greater. It is empty if the
	// counter is a sequence. {last} is the number before {next}, {schema} and {name} are
	// the table's names as text literals, {table schema} is the quoted schema with a
	// point, and {alter} is the ALTER TABLE as a text literal.
	RaiseCounter string

	// Counter is the query for the engine's own counter of {table}: see
	// [store.Column].Counted. {name} and {schemaName} are the table's names as text
	// literals, and {schema} is the quoted schema with a point. It is empty if the counter
	// cannot be queried.
	Counter string

	// HiddenCounter is the query for the counter's last number, as an integer, for a
	// session whose sql_mode hides it in the answer to Counter. It returns no row if the
	// number is not known.
	HiddenCounter string

	// LastNumber is the query for the counter's last number, as an integer. It returns no
	// row, or NULL, if there is no such number. The answer is certain only if
	// HiddenCounter is empty or returns a row.
	LastNumber string
}

// PathQueries find out where the search path of a session leads to keyfill's tables.
type PathQueries struct {
	// HiddenSchema is the query for the schema of the search path that holds keyfill's
	// tables but may not be used by the user, and for the user. It is empty for an engine
	// whose users find tables that they may not use.
	HiddenSchema string

	// PathLength is the query for the number of schemas in the search path. Holders is the
	// query for the schemas that have keyfill's tables, for a session with an empty search
	// path. Both are empty for an engine whose sessions always have a schema.
	PathLength, Holders string
}

// Procedures holds how a stored procedure that reserves integers is created, found and
// called.
type Procedures struct {
	Call                 string // calls a procedure; empty if the engine has none
	CallNeedsTransaction bool   // without a transaction, each statement of a procedure is committed separately
	CallCommits          bool   // a procedure commits its changes separately from the caller's transaction
	Procedure            string // creates [store.ReserveProcedure]
	DropProcedure        string // to be run before Procedure; may be empty
	FindProcedure        string // returns one row without NULL if the procedure exists
}

// Statement is the text of a statement, with the parameters of its placeholders in
// their order.
type Statement struct {
	Text string
	args []param
}

// Update is an UPDATE of one row that returns the values that it has stored.
type Update struct {
	Statement
	// Into lists the kinds of the values that the statement returns INTO its last
	// placeholders.
	Into []Kind
}

// param identifies the value that a placeholder binds.
type param uint8

const (
	pName param = iota
	pCount
	pFloor
	pLimit
	pNext
	pTable
	pColumn
	pParameters
	pWorker
	pUntil
	pOwner
	pBinding
	pRow
	pOld
	pVersion
	pSchema
	pIncarnation
	pServer
	pBegin
	pEnd
)

// Values holds the arguments of statements. A statement binds only the values that it
// has parameters for.
type Values struct {
	Name, Count, Floor, Limit, Next, Table, Column, Parameters any // for statements about keyfill_sequences
	Worker, Until, Owner                                       any // for statements about keyfill_workers
	Binding, Row, Old, Version, Schema, Incarnation, Server    any
	Begin, End                                                 any // for statements that compare the clock
}

// Bind returns the arguments of the statement, in the order of its placeholders.
func (st Statement) Bind(v Values) []any {
	args := make([]any, len(st.args), len(st.args)+4)
	for i, p := range st.args {
		switch p {
		case pName:
			args[i] = v.Name
		case pCount:
			args[i] = v.Count
		case pFloor:
			args[i] = v.Floor
		case pLimit:
			args[i] = v.Limit
		case pNext:
			args[i] = v.Next
		case pTable:
			args[i] = v.Table
		case pColumn:
			args[i] = v.Column
		case pParameters:
			args[i] = v.Parameters
		case pWorker:
			args[i] = v.Worker
		case pUntil:
			args[i] = v.Until
		case pOwner:
			args[i] = v.Owner
		case pBinding:
			args[i] = v.Binding
		case pRow:
			args[i] = v.Row
		case pOld:
			args[i] = v.Old
		case pVersion:
			args[i] = v.Version
		case pSchema:
			args[i] = v.Schema
		case pIncarnation:
			args[i] = v.Incarnation
		case pServer:
			args[i] = v.Server
		case pBegin:
			args[i] = v.Begin
		case pEnd:
			args[i] = v.End
		}
	}
	return args
}

// Kind is the type of a value that a statement returns INTO a placeholder.
type Kind uint8

// The kinds of values that statements return.
const (
	IntegerKind Kind = iota
	TextKind
)

// engines holds the engines by family, and ownEngines the engines that differ from their
// family, by the dialect's name.
var (
	engines = map[dialect.Family]*Engine{
		dialect.FamilyMySQL:      &mysql,
		dialect.FamilyPostgreSQL: &postgres,
		dialect.FamilySQLite:     &sqlite,
		dialect.FamilySQLServer:  &sqlserver,
		dialect.FamilyOracle:     &oracle,
	}
	ownEngines = map[string]*Engine{dialect.MariaDB().Name: &mariadb}
)

// Of returns the engine of a dialect. It panics for a dialect without an engine, which
// is a mistake of this module.
func Of(d *dialect.Dialect) *Engine {
	e := ownEngines[d.Name]
	if e == nil {
		e = engines[d.Family]
	}
	if e == nil {
		panic(fmt.Sprintf("store: no statements for dialect %q", d.Name))
	}
	return e
}

// Proof holds the words by which an engine proves that a transaction is open. Each text
// may be empty.
type Proof struct {
	Condition string // a condition for the WHERE of an UPDATE, true if a transaction is open
	Mark      string // a statement that makes Condition true until the transaction ends
	Prefix    string // precedes a statement, which then runs only if a transaction is open
	Begin     string // a statement that fails if a transaction is open; the error contains Begun
	Begun     string
	End       string // a statement that undoes Begin

	// Ask is a query that returns 1 if a transaction is open.
	Ask string

	// Create inserts the row of a parent as SequenceStatements.Create does, but only if a
	// transaction is open.
	Create Statement

	// TellsEnd reports whether a client always learns that its transaction has ended: the
	// engine ends it only with an error of the current statement, or by a statement such as
	// COMMIT.
	TellsEnd bool
}
