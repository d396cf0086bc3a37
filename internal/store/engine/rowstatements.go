package engine

import (
	"fmt"
	"math"
	"strings"
)

// Wording holds the words of an engine for the statements that are composed for
// a key table.
type Wording struct {
	Place    string // an argument, by its number: "$%d"
	Integer  string // an argument that is an integer; empty for the plain placeholder
	Digits   string // an integer that is read; empty for the plain column
	Hint     string // follows the table of an UPDATE
	LockHint string // follows the table of a SELECT that locks its row,
	LockEnd  string // or ends the SELECT

	// Answer is how an UPDATE answers with the value that it has left.
	Answer Answering

	// ColumnType is the query for the type of a column, in the engine's words; empty if a
	// type does not restrict the values of a column.
	ColumnType Statement

	// Transactions is the query for whether a table is of a storage engine with
	// transactions: YES; empty if all storage engines have them.
	Transactions Statement

	Integers map[string]int64 // the integer types and the greatest of each
	Versions map[string]VersionWording

	SecondsByDefault bool // a time without a precision has no fractions of seconds
}

// Answering is a way in which an UPDATE answers.
type Answering uint8

const (
	answerID        Answering = iota // by LAST_INSERT_ID: see Engine.ReturnsLastInsertID
	answerReturning                  // UPDATE … RETURNING
	answerOutput                     // UPDATE … OUTPUT … WHERE
	answerInto                       // UPDATE … RETURNING … INTO
)

// VersionWording is how an engine reads, compares and moves a version column of
// some type. In all three %[1]s is the column; in move %[2]d is the smallest
// step of the type in microseconds, %[3]d its digits of seconds, %[4]s its name.
type VersionWording struct {
	Read    string
	Compare string // %[2]s is the argument
	Move    string // empty if the engine does that itself
}

// IntegerVersion moves a version of an integer type: to one more, or to 0 after
// the greatest integer of the type, which is %[2]d here.
var IntegerVersion = VersionWording{
	Read:    "%[1]s",
	Compare: "%[1]s = %[2]s",
	Move:    "CASE WHEN %[1]s >= %[2]d THEN 0 ELSE %[1]s + 1 END",
}

// RowStatements holds the statements about the row of a sequence that is read before it is
// changed, or is in a key table.
type RowStatements struct {
	Max    int64 // the greatest integer that the column's type lets be reserved
	Limit  int64 // the greatest integer of the column's type
	Offset int64 // the next integer less the value in the table

	Version string // the start of a new row's incarnation; may be empty

	Lockless bool // the table keeps no lock to the end of a transaction

	Read    Statement // value, version and server
	Locked  Statement // read, with a lock on the row
	Lock    string    // to be run before locked; may be empty
	Reserve Update    // answers value, and server where it can; see Engine.ReturnsLastInsertID
	Swap    Statement // value for value; changes one row or none
	Advance Statement
}

// composer puts a statement together.
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

// arg returns a placeholder for an argument.
func (c *composer) arg(p param) string {
	c.args = append(c.args, p)
	if !strings.Contains(c.words.Place, "%") {
		return c.words.Place
	}
	return fmt.Sprintf(c.words.Place, len(c.args))
}

// number returns a placeholder for an argument that is an integer.
func (c *composer) number(p param) string { return Wrap(c.words.Integer, c.arg(p)) }

func (c *composer) statement() Statement { return Statement{c.text.String(), c.args} }

// Wrap puts a text into a format, "" being none.
func Wrap(format, text string) string {
	if format == "" {
		return text
	}
	return fmt.Sprintf(format, text)
}

// KeyTableColumns are the parts of the statements about one row.
type KeyTableColumns struct {
	Table   string
	Key     string // empty for a table of one row
	Value   string
	Version string // may be empty

	Wording VersionWording // of version
	Moved   string         // ", version = …"; may be empty
	First   string         // the version of a new row; may be empty
}

// Compose returns the statements about a row. Limits are the caller's to set.
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

// update begins an UPDATE of a value.
func (e *Engine) update(k *KeyTableColumns) *composer {
	c := &composer{words: &e.Words}
	return c.add("UPDATE ", k.Table, e.Words.Hint, "\nSET ", k.Value, " = ")
}

// where adds the condition that finds the row, and leaves room for another condition.
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
		// The values that come back stand after all others.
		c.add(fmt.Sprintf("\nRETURNING %s INTO :%d", k.Value, len(c.args)+1))
		u.Into = []Kind{IntegerKind}
	}
	u.Statement = c.statement()
	return u
}

// OwnForm returns the statements about a row of keyfill_sequences that is read
// first. Its incarnation is compared, but stays.
func (e *Engine) OwnForm() *RowStatements {
	f := e.Compose(&KeyTableColumns{
		Table: "keyfill_sequences", Key: "name", Value: "next_value", Version: "incarnation",
		Wording: VersionWording{Read: "%[1]s", Compare: "%[1]s = %[2]s"},
		Moved:   ", updated_at = " + e.Expressions.Now,
	})
	f.Max, f.Limit = math.MaxInt64-1, math.MaxInt64
	return f
}
