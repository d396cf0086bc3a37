package store

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

// engine holds the statements for one kind of database.
//
// In the texts of read and reserve the marker {server} stands for one of the
// expressions of servers.
type engine struct {
	tables [len(tables)]string // creates each table, where it is not there

	// servers are the expressions that tell one server of the engine from
	// another, the most telling first. A server may lack some of them, or
	// refuse them to a user.
	servers []string

	// database is an expression for the name of the database that the connection is in;
	// "" where a database has no name.
	database string

	quote  string // opens a text
	dual   string // what follows a SELECT of no table
	now    string // the server's time, as it is stored
	random string // a random text of at most 40 characters

	sturdy bool // a statement that fails leaves its transaction open

	looksFirst bool // one statement may ask for all that opening a sequence asks for

	gaps bool   // an UPDATE that finds no row locks those that could be made in its place
	past string // what makes a SELECT pass over rows that are locked, where it would wait

	lock string // of a table and a column, see Lock; "" for none

	proof proof // that a transaction of the application is open

	series seriesWords

	// greetings are statements of which a connection of our own sends one first:
	// the first that the server accepts.
	greetings []string

	// bindsTexts says that on a connection of our own arguments are written into
	// the text. A driver that prepares would take three round trips for one, and
	// what goes wrong while its statement is closed, nobody is told.
	bindsTexts bool

	// answersID says that reserve, on a connection of our own, answers with
	// LAST_INSERT_ID and the number of rows, to a caller who knows the row.
	// Elsewhere the row is read, and replaced where it is still the same.
	answersID bool

	// onServer follows reserve where the server is compared too, which is the last argument.
	// It is untrue where the statement itself would be replicated, as text.
	onServer string

	read    statement // next_value, incarnation, server, table_name, column_name, parameters
	others  statement // the name of another state's row for a column, or NULL
	create  statement // makes the row of a sequence, or raises its next value
	advance statement // raises the next value, and locks its row though it is not raised
	raise   statement // advance, but locks no row that is not raised; no text where none can
	reserve update    // answers next_value, incarnation and server
	enrol   statement // makes the row of a worker, if there is none
	mark    update    // answers previous_until

	// markRead, where there is one, answers with reserved_until, which mark then
	// replaces where it is still the same.
	markRead statement

	maxKey string // of a column, hides and a table

	// hides is 1 where the engine need not show the user every row of a table, which
	// stands there as a literal, and 0 elsewhere; "" for an engine that shows all.
	hides string

	// current is 1 where a statement in a transaction sees all rows of a table that were
	// committed before the statement, and 0 where it may see what was before the
	// transaction; "" where that cannot be asked. The table stands for %s as a literal.
	current string

	// counter is the query for the engine's own counter of {table}; {name} and
	// {schema} are the table's names as texts: see [Column].Counted. "" where the
	// engine has no counter to be asked.
	counter string

	// hiddenCounter asks for the last number, as an integer, where the sql_mode hides
	// it in the answer to counter. It answers with no row where that is not known.
	hiddenCounter string

	// lastNumber is a query for the last number of counter, as an integer: no row, or NULL,
	// where there is none. It tells that for sure where hiddenCounter, if there is one, has
	// an answer.
	lastNumber string

	words wording // for the statements about a key table

	call                 string // of a procedure; "" where there are none
	callNeedsTransaction bool   // what a procedure does would commit bit by bit
	callCommits          bool   // what it does is not the transaction's
	procedure            string // creates [ReserveProcedure]
	dropProcedure        string // is to be run before it; "" for none
	findProcedure        string // answers with one row and no NULL where it is there
}

// statement is a text and the parameters of its placeholders, in their order.
type statement struct {
	text string
	args []param
}

// update is an UPDATE of one row that answers with the values that it has
// stored.
type update struct {
	statement
	// into are the kinds of the values that come back INTO the last
	// placeholders.
	into []kind
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

// values holds the arguments of a statement. A statement binds those that it has
// parameters for.
type values struct {
	Name, Count, Floor, Limit, Next, Table, Column, Parameters any // of keyfill_sequences
	Worker, Until, Owner                                       any // of keyfill_workers
	Binding, Row, Old, Version, Schema, Incarnation, Server    any
}

// of returns the argument of a parameter.
func (v *values) of(p param) any {
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

// bind returns the arguments of a statement.
func (st statement) bind(v values) []any {
	args := make([]any, len(st.args), len(st.args)+4)
	for i, p := range st.args {
		args[i] = v.of(p)
	}
	return args
}

// kind is the type of a value that comes back.
type kind uint8

const (
	integer kind = iota
	text
)

// engines are all there are, by the dialect's name.
var engines = map[string]*engine{
	dialect.MySQL().Name:      &mysql,
	dialect.MariaDB().Name:    &mariadb,
	dialect.PostgreSQL().Name: &postgres,
	dialect.SQLite().Name:     &sqlite,
	dialect.SQLServer().Name:  &sqlserver,
	dialect.Oracle().Name:     &oracle,
}

func engineOf(d *dialect.Dialect) *engine {
	e := engines[d.Name]
	if e == nil {
		panic(fmt.Sprintf("store: no statements for dialect %q", d.Name))
	}
	return e
}

// proof is how the statements of an engine prove that a transaction is open. All
// texts may be empty.
type proof struct {
	condition string // is true where one is open, in the WHERE of an UPDATE
	mark      string // makes the condition true until the transaction ends
	front     string // stands in front of a statement, which it lets run where one is open
	begin     string // fails where one is open, with begun in the error
	begun     string
	end       string // undoes begin

	// ask answers with 1 where one is open.
	ask string

	// create makes the row of a parent, as engine.create does, where one is open.
	create statement

	// loyal says that the engine ends no transaction but by an error that the
	// statement in hand gets, or by a statement that ends it.
	loyal bool
}
