// Package engine holds what differs between the databases that keep keyfill's tables: for
// each engine the tables, the statements about their rows, and the words from which
// statements about other tables are composed. It sends nothing, and stands on dialect alone.
package engine

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

// Engine holds the statements for one kind of database.
//
// In the texts of read and reserve the marker {server} stands for one of the
// expressions of servers.
type Engine struct {
	Tables [len(Tables)]string // creates each table, where it is not there

	// Servers are the expressions that identify a server of the engine, the most specific
	// first. A server may lack some of them, or refuse them to a user.
	Servers []string

	// Database is an expression for the name of the database that the connection is in;
	// empty if a database has no name.
	Database string

	Expressions Expressions

	ErrorsKeepTransaction bool // a statement that fails leaves its transaction open

	OpensAtOnce bool // one statement may ask for all that opening a sequence asks for

	Locks Locks

	Proof Proof // that a transaction of the application is open

	Series SeriesWords

	// Setup are statements of which a connection of our own sends one first:
	// the first that the server accepts.
	Setup []string

	Counters CounterQueries

	// BindsTexts says that on a connection of our own arguments are written into
	// the text. A driver that prepares would take three round trips for one, and
	// would not report an error of closing the statement.
	BindsTexts bool

	Rows SequenceStatements

	Workers WorkerStatements

	Keys KeyQueries

	Path PathQueries

	Words Wording // for the statements about a key table

	Procedures Procedures
}

// Expressions are words of the engine in a statement.
type Expressions struct {
	Quote  string // opens a text
	Dual   string // what follows a SELECT of no table
	Now    string // the server's time, as it is stored
	Random string // a random text of at most 40 characters
}

// Locks are how the engine locks rows and tables.
type Locks struct {
	LocksGaps  bool   // an UPDATE that finds no row locks those that could be made there
	SkipLocked string // the words by which a SELECT leaves out locked rows, if it would wait for them
	Lock       string // of a table and a column, see Lock; may be empty
	// OwnLocks asks how many locks the transaction holds for which others wait: when they
	// read the tables whose names stand for %[1]s, and when they draw from a sequence. It is
	// empty for an engine without such locks.
	OwnLocks string
}

// SequenceStatements are about the row of a sequence in keyfill_sequences.
type SequenceStatements struct {
	// ReturnsLastInsertID reports whether reserve, on a connection of our own, answers
	// with LAST_INSERT_ID and the number of rows, to a caller that knows the row.
	// Elsewhere the row is read, and replaced if it is still the same.
	ReturnsLastInsertID bool

	// OnServer follows reserve where the server is compared too, which is the last argument.
	// It is untrue where the statement itself would be replicated, as text.
	OnServer string

	Read    Statement // next_value, incarnation, server, table_name, column_name, parameters
	Others  Statement // the name of another state's row for a column, or NULL
	Create  Statement // makes the row of a sequence, or raises its next value
	Advance Statement // raises the next value, and locks its row though it is not raised
	Raise   Statement // advance, but locks no row that is not raised; no text where none can
	Reserve Update    // answers next_value, incarnation and server
}

// WorkerStatements are about the row of a worker in keyfill_workers.
type WorkerStatements struct {
	Enrol Statement // makes the row of a worker, if there is none
	Mark  Update    // answers previous_until
	// MarkRead, where there is one, answers with reserved_until, which mark then
	// replaces where it is still the same.
	MarkRead Statement
}

// KeyQueries ask for the greatest key of a column.
type KeyQueries struct {
	MaxKey string // of a column, hides and a table
	// Hides is 1 where the engine need not show the user every row of a table, which
	// stands there as a literal, and 0 elsewhere; empty for an engine that shows all.
	Hides string

	// Current is 1 if a statement in a transaction sees all rows of a table that were
	// committed before the statement, and 0 if it may see the rows from before the
	// transaction; empty if that cannot be asked. The table stands for %s as a literal.
	Current string
}

// CounterQueries are about the engine's own counter of a column, such as AUTO_INCREMENT.
type CounterQueries struct {
	// RaiseCounter are the statements, for one connection, by which the engine's own counter of
	// a column gives {next}, or a greater number, next; empty where a sequence is the counter.
	// {last} is the number before, {schema} and {name} are the table's names as texts, {table
	// schema} is the schema in quotes with a point, and {alter} the ALTER TABLE as a text.
	RaiseCounter string

	// Counter is the query for the engine's own counter of {table}; {name} and {schema}
	// are the table's names as texts: see [store.Column].Counted. It is empty if the
	// engine's counter cannot be asked for.
	Counter string

	// HiddenCounter asks for the last number, as an integer, where the sql_mode hides
	// it in the answer to counter. It answers with no row where that is not known.
	HiddenCounter string

	// LastNumber is a query for the last number of counter, as an integer: no row, or
	// NULL, if there is no such number. The answer is certain only if hiddenCounter, if
	// there is one, has an answer.
	LastNumber string
}

// PathQueries ask where the search path of a session leads to keyfill's tables.
type PathQueries struct {
	// HiddenSchema asks for the schema of the search path that holds keyfill's tables and may
	// not be used by the user, and for the user; empty where the user finds such tables.
	HiddenSchema string

	// PathLength asks how many schemas the search path has, and Holders for the schemas that
	// have keyfill's tables where it has none. Both are empty for an engine whose sessions
	// have a schema of their own in any case.
	PathLength, Holders string
}

// Procedures are how a stored procedure that reserves is made, found and called.
type Procedures struct {
	Call                 string // of a procedure; empty without procedures
	CallNeedsTransaction bool   // what a procedure does would commit bit by bit
	CallCommits          bool   // what it does is not the transaction's
	Procedure            string // creates [store.ReserveProcedure]
	DropProcedure        string // is to be run before it; may be empty
	FindProcedure        string // answers with one row and no NULL where it is there
}

// Statement is a text and the parameters of its placeholders, in their order.
type Statement struct {
	Text string
	args []param
}

// Update is an UPDATE of one row that answers with the values that it has
// stored.
type Update struct {
	Statement
	// Into are the kinds of the values that come back INTO the last
	// placeholders.
	Into []Kind
}

// param is something to be bound.
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
)

// Values holds the arguments of a statement. A statement binds those that it has
// parameters for.
type Values struct {
	Name, Count, Floor, Limit, Next, Table, Column, Parameters any // of keyfill_sequences
	Worker, Until, Owner                                       any // of keyfill_workers
	Binding, Row, Old, Version, Schema, Incarnation, Server    any
}

// of returns the argument of a parameter.
func (v *Values) of(p param) any {
	switch p {
	case pName:
		return v.Name
	case pCount:
		return v.Count
	case pFloor:
		return v.Floor
	case pLimit:
		return v.Limit
	case pNext:
		return v.Next
	case pTable:
		return v.Table
	case pColumn:
		return v.Column
	case pParameters:
		return v.Parameters
	case pWorker:
		return v.Worker
	case pUntil:
		return v.Until
	case pOwner:
		return v.Owner
	case pBinding:
		return v.Binding
	case pRow:
		return v.Row
	case pOld:
		return v.Old
	case pVersion:
		return v.Version
	case pSchema:
		return v.Schema
	case pIncarnation:
		return v.Incarnation
	case pServer:
		return v.Server
	}
	return nil
}

// Bind returns the arguments of a statement.
func (st Statement) Bind(v Values) []any {
	args := make([]any, len(st.args), len(st.args)+4)
	for i, p := range st.args {
		args[i] = v.of(p)
	}
	return args
}

// Kind is the type of a value that comes back.
type Kind uint8

// The kinds of values that come back.
const (
	IntegerKind Kind = iota
	TextKind
)

// engines are all there are, by the dialect's name.
var engines = map[string]*Engine{
	dialect.MySQL().Name:      &mysql,
	dialect.MariaDB().Name:    &mariadb,
	dialect.PostgreSQL().Name: &postgres,
	dialect.SQLite().Name:     &sqlite,
	dialect.SQLServer().Name:  &sqlserver,
	dialect.Oracle().Name:     &oracle,
}

// Of returns the engine of a dialect. A dialect without one is a mistake of this module.
func Of(d *dialect.Dialect) *Engine {
	e := engines[d.Name]
	if e == nil {
		panic(fmt.Sprintf("store: no statements for dialect %q", d.Name))
	}
	return e
}

// Proof is how the statements of an engine prove that a transaction is open. All
// texts may be empty.
type Proof struct {
	Condition string // is true where one is open, in the WHERE of an UPDATE
	Mark      string // makes the condition true until the transaction ends
	Prefix    string // stands before a statement, which it lets run where one is open
	Begin     string // fails where one is open, with begun in the error
	Begun     string
	End       string // undoes begin

	// Ask answers with 1 where one is open.
	Ask string

	// Create makes the row of a parent, as engine.create does, where one is open.
	Create Statement

	// TellsEnd reports whether the engine ends a transaction only by an error that the
	// current statement gets, or by a statement that ends it.
	TellsEnd bool
}
