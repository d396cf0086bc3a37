package engine

import (
	"fmt"
	"math"
	"strings"
)

// Wording holds an engine's words for the statements about a key table (a table of the
// application that counts).
type Wording struct {
	Place    string // the placeholder of an argument, by its number: "$%d"
	Integer  string // the format of an integer's placeholder; empty for the plain placeholder
	Digits   string // the format of an integer column that is read; empty for the plain column
	Hint     string // follows the name of the table in an UPDATE
	LockHint string // follows the name of the table in a SELECT that locks its row
	LockEnd  string // ends a SELECT that locks its row

	// Answer is how an UPDATE returns the value that it has stored.
	Answer Answering

	// ColumnType is the query for the type of a column, as the engine writes types. It is
	// empty if a type does not restrict the values of a column.
	ColumnType Statement

	// Transactions is the query that returns YES if the table's storage engine has
	// transactions. It is empty if all storage engines have them.
	Transactions Statement

	Integers map[string]int64 // the integer types, and the greatest integer of each
	Versions map[string]VersionWording

	SecondsByDefault bool // a time type without a precision stores no fractions of seconds
}

// Answering is a way in which an UPDATE returns the value that it has stored.
type Answering uint8

const (
	answerID        Answering = iota // by LAST_INSERT_ID: see SequenceStatements.ReturnsLastInsertID
	answerReturning                  // UPDATE … RETURNING
	answerOutput                     // UPDATE … OUTPUT … WHERE
	answerInto                       // UPDATE … RETURNING … INTO
)

// VersionWording is how an engine reads, compares and changes a version column (a
// column that changes with every UPDATE) of some type. In all three texts %[1]s is the
// column. In Move, %[2]d is the smallest step of the type in microseconds, %[3]d is how
// many fractional digits its seconds have, and %[4]s is its name.
type VersionWording struct {
	Read    string
	Compare string // %[2]s is the argument
	Move    string // empty if the engine changes the column itself
}

// IntegerVersion is for a version column of an integer type: each UPDATE adds 1, and
// sets the column to 0 after the greatest integer of the type, which is %[2]d here.
var IntegerVersion = VersionWording{
	Read:    "%[1]s",
	Compare: "%[1]s = %[2]s",
	Move:    "CASE WHEN %[1]s >= %[2]d THEN 0 ELSE %[1]s + 1 END",
}

// RowStatements holds the statements about the row of a sequence that is read before it
// is changed, or is in a key table of the application.
type RowStatements struct {
	Max    int64 // the greatest integer that can be reserved, given the column's type
	Limit  int64 // the greatest integer of the column's type
	Offset int64 // the next integer minus the value in the table

	Version string // the version of a new row, with which its incarnation begins; may be empty

	Lockless bool // the table holds no row lock until the end of a transaction

	Read    Statement // selects value, version and server
	Locked  Statement // selects the same as Read, and locks the row
	Lock    string    // a statement to be run before Locked; may be empty
	Reserve Update    // returns the value, and the server if the engine can; see Wording.Answer
	Swap    Statement // replaces one value by another; changes one row or none
	Advance Statement
}

// composer composes the text of a statement and the list of its parameters.
type composer struct {
	words *Wording
	text  strings.Builder
	args  []param
}

func (c *composer) add(parts ...string) *composer {
	for _, part := range parts {
		c.text.WriteString(part)
	}
	return c
}

// arg adds a parameter and returns its placeholder.
func (c *composer) arg(p param) string {
	c.args = append(c.args, p)
	return c.place(len(c.args))
}

// place returns the placeholder of an argument, by its number.
func (c *composer) place(n int) string {
	if !strings.Contains(c.words.Place, "%") {
		return c.words.Place
	}
	return fmt.Sprintf(c.words.Place, n)
}

// number adds the parameter of an integer and returns its placeholder.
func (c *composer) number(p param) string { return Wrap(c.words.Integer, c.arg(p)) }

func (c *composer) statement() Statement { return Statement{c.text.String(), c.args} }

// Wrap returns text formatted by format, or text alone if format is empty.
func Wrap(format, text string) string {
	if format == "" {
		return text
	}
	return fmt.Sprintf(format, text)
}

// KeyTableColumns names the table and the columns in the statements about one row.
type KeyTableColumns struct {
	Table   string
	Key     string // the column that identifies the row; empty for a table of one row
	Value   string
	Version string // the version column; may be empty

	Wording VersionWording // for the column Version
	Moved   string         // the assignment ", version = …"; may be empty
	First   string         // the version of a new row; may be empty
}

// Compose returns the statements about one row. The caller sets Max and Limit.
func (e *Engine) Compose(k *KeyTableColumns) *RowStatements {
	f := &RowStatements{
		Version: k.First,

		Read:    e.composeRead(k, "", ""),
		Locked:  e.composeRead(k, e.Words.LockHint, e.Words.LockEnd),
		Reserve: e.composeReserve(k),
	}
	c := e.update(k)
	c.add(c.number(pNext), k.Moved)
	c.where(k).add(k.Value, " = ", c.number(pOld))
	if k.Version != "" {
		c.add(" AND ", fmt.Sprintf(k.Wording.Compare, k.Version, c.arg(pVersion)))
	}
	f.Swap = c.statement()

	c = e.update(k)
	c.add(c.number(pNext), k.Moved)
	c.where(k).add(k.Value, " < ", c.number(pNext))
	f.Advance = c.statement()
	if e.Locks.Lock != "" {
		f.Lock = fmt.Sprintf(e.Locks.Lock, k.Table, k.Value)
	}
	return f
}

// update returns a composer that has begun an UPDATE of the value.
func (e *Engine) update(k *KeyTableColumns) *composer {
	c := &composer{words: &e.Words}
	return c.add("UPDATE ", k.Table, e.Words.Hint, "\nSET ", k.Value, " = ")
}

// where adds the WHERE that finds the row, so that another condition can follow.
func (c *composer) where(k *KeyTableColumns) *composer {
	c.add("\nWHERE ")
	if k.Key != "" {
		c.add(k.Key, " = ", c.arg(pRow), " AND ")
	}
	return c
}

func (e *Engine) composeRead(k *KeyTableColumns, hint, end string) Statement {
	c := &composer{words: &e.Words}
	version := "''"
	if k.Version != "" {
		version = fmt.Sprintf(k.Wording.Read, k.Version)
	}
	c.add("SELECT ", Wrap(e.Words.Digits, k.Value), ", ", version, ", {server} FROM ", k.Table, hint)
	if k.Key != "" {
		c.add(" WHERE ", k.Key, " = ", c.arg(pRow))
	}
	return c.add(end).statement()
}

func (e *Engine) composeReserve(k *KeyTableColumns) Update {
	c := e.update(k)
	if e.Words.Answer == answerID {
		c.add("LAST_INSERT_ID(", k.Value, " + ", c.number(pCount), ")", k.Moved)
	} else {
		c.add(k.Value, " + ", c.number(pCount), k.Moved)
	}
	if e.Words.Answer == answerOutput {
		c.add("\nOUTPUT inserted.", k.Value, ", {server}")
	}
	c.where(k).add(k.Value, " BETWEEN ", c.number(pFloor), " AND ", c.number(pLimit))
	u := Update{}
	switch e.Words.Answer {
	case answerReturning:
		c.add("\nRETURNING ", k.Value, ", {server}")
	case answerInto:
		// The placeholders of returned values come after all others.
		c.add(fmt.Sprintf("\nRETURNING %s INTO :%d", k.Value, len(c.args)+1))
		u.Into = []Kind{IntegerKind}
	}
	u.Statement = c.statement()
	return u
}

// OwnForm returns the statements about a row of keyfill_sequences that is read before
// it is changed. They compare the row's incarnation (a random text) and do not change
// it.
func (e *Engine) OwnForm() *RowStatements {
	f := e.Compose(&KeyTableColumns{
		Table: "keyfill_sequences", Key: "name", Value: "next_value", Version: "incarnation",
		Wording: VersionWording{Read: "%[1]s", Compare: "%[1]s = %[2]s"},
		Moved:   ", updated_at = " + e.Expressions.Now,
	})
	f.Max, f.Limit = math.MaxInt64-1, math.MaxInt64
	return f
}
