package store

import (
	"fmt"
	"math"
	"strings"
)

// wording holds the words of an engine for the statements that are composed for
// a key table.
type wording struct {
	place    string // an argument, by its number: "$%d"
	integer  string // an argument that is an integer; "" for as it is
	digits   string // an integer that is read; "" for as it is
	hint     string // follows the table of an UPDATE
	lockHint string // follows the table of a SELECT that locks its row,
	lockEnd  string // or ends the SELECT

	// answer is how an UPDATE answers with the value that it has left.
	answer answering

	// columnType is the query for the type of a column, in the engine's words;
	// "" where a type says nothing of what a column holds.
	columnType statement

	// transactions is the query for whether a table is of a storage engine that
	// has them: YES; "" where all have.
	transactions statement

	integers map[string]int64 // the integer types and the greatest of each
	versions map[string]versionWording

	secondsByDefault bool // a time without a precision has no fractions of seconds
}

// answering is a way in which an UPDATE answers.
type answering uint8

const (
	answerID        answering = iota // by LAST_INSERT_ID: see engine.answersID
	answerReturning                  // UPDATE … RETURNING
	answerOutput                     // UPDATE … OUTPUT … WHERE
	answerInto                       // UPDATE … RETURNING … INTO
)

// versionWording is how an engine reads, compares and moves a version column of
// some type. In all three %[1]s is the column; in move %[2]d is the smallest
// step of the type in microseconds, %[3]d its digits of seconds, %[4]s its name.
type versionWording struct {
	read    string
	compare string // %[2]s is the argument
	move    string // "" where the engine does that by itself
}

// integerVersion moves a version of an integer type: to one more, or to 0 after
// the greatest integer of the type, which is %[2]d here.
var integerVersion = versionWording{
	read:    "%[1]s",
	compare: "%[1]s = %[2]s",
	move:    "CASE WHEN %[1]s >= %[2]d THEN 0 ELSE %[1]s + 1 END",
}

// rowStatements holds the statements about the row of a sequence that is read before it is
// changed, or is in a key table.
type rowStatements struct {
	max    int64 // the greatest integer that the column's type lets be reserved
	limit  int64 // the greatest integer of the column's type
	offset int64 // the next integer less what the table holds

	version string // what a new row begins with; "" for nothing

	lockless bool // the table keeps no lock to the end of a transaction

	read    statement // value, version and server
	locked  statement // read, with a lock on the row
	lock    string    // to be run before locked; "" for none
	reserve update    // answers value, and server where it can; see engine.answersID
	swap    statement // value for value; changes one row or none
	advance statement
}

// composer puts a statement together.
type composer struct {
	words *wording
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
	if !strings.Contains(c.words.place, "%") {
		return c.words.place
	}
	return fmt.Sprintf(c.words.place, len(c.args))
}

// number returns a placeholder for an argument that is an integer.
func (c *composer) number(p param) string { return wrap(c.words.integer, c.arg(p)) }

func (c *composer) statement() statement { return statement{c.text.String(), c.args} }

// wrap puts a text into a format, "" being none.
func wrap(format, text string) string {
	if format == "" {
		return text
	}
	return fmt.Sprintf(format, text)
}

// keyColumns are the parts of the statements about one row.
type keyColumns struct {
	table   string
	key     string // "" for a table of one row
	value   string
	version string // "" for none

	wording versionWording // of version
	moved   string         // ", version = …"; "" for none
	first   string         // the version of a new row; "" for none
}

// compose returns the statements about a row. Limits are the caller's to set.
func (e *engine) compose(k *keyColumns) *rowStatements {
	f := &rowStatements{
		version: k.first,

		read:    e.composeRead(k, "", ""),
		locked:  e.composeRead(k, e.words.lockHint, e.words.lockEnd),
		reserve: e.composeReserve(k),
	}
	c := e.update(k)
	c.add(c.number(pNext), k.moved)
	c.where(k).add(k.value, " = ", c.number(pOld))
	if k.version != "" {
		c.add(" AND ", fmt.Sprintf(k.wording.compare, k.version, c.arg(pVersion)))
	}
	f.swap = c.statement()

	c = e.update(k)
	c.add(c.number(pNext), k.moved)
	c.where(k).add(k.value, " < ", c.number(pNext))
	f.advance = c.statement()
	if e.lock != "" {
		f.lock = fmt.Sprintf(e.lock, k.table, k.value)
	}
	return f
}

// update begins an UPDATE of a value.
func (e *engine) update(k *keyColumns) *composer {
	c := &composer{words: &e.words}
	return c.add("UPDATE ", k.table, e.words.hint, "\nSET ", k.value, " = ")
}

// where adds what the row is found by, and leaves room for a condition.
func (c *composer) where(k *keyColumns) *composer {
	c.add("\nWHERE ")
	if k.key != "" {
		c.add(k.key, " = ", c.arg(pRow), " AND ")
	}
	return c
}

func (e *engine) composeRead(k *keyColumns, hint, end string) statement {
	c := &composer{words: &e.words}
	version := "''"
	if k.version != "" {
		version = fmt.Sprintf(k.wording.read, k.version)
	}
	c.add("SELECT ", wrap(e.words.digits, k.value), ", ", version, ", {server} FROM ", k.table, hint)
	if k.key != "" {
		c.add(" WHERE ", k.key, " = ", c.arg(pRow))
	}
	return c.add(end).statement()
}

func (e *engine) composeReserve(k *keyColumns) update {
	c := e.update(k)
	if e.words.answer == answerID {
		c.add("LAST_INSERT_ID(", k.value, " + ", c.number(pCount), ")", k.moved)
	} else {
		c.add(k.value, " + ", c.number(pCount), k.moved)
	}
	if e.words.answer == answerOutput {
		c.add("\nOUTPUT inserted.", k.value, ", {server}")
	}
	c.where(k).add(k.value, " BETWEEN ", c.number(pFloor), " AND ", c.number(pLimit))
	u := update{}
	switch e.words.answer {
	case answerReturning:
		c.add("\nRETURNING ", k.value, ", {server}")
	case answerInto:
		// The values that come back stand behind all others.
		c.add(fmt.Sprintf("\nRETURNING %s INTO :%d", k.value, len(c.args)+1))
		u.into = []kind{integer}
	}
	u.statement = c.statement()
	return u
}

// ownForm returns the statements about a row of keyfill_sequences that is read
// first. Its incarnation is compared, but stays.
func (e *engine) ownForm() *rowStatements {
	f := e.compose(&keyColumns{
		table: "keyfill_sequences", key: "name", value: "next_value", version: "incarnation",
		wording: versionWording{read: "%[1]s", compare: "%[1]s = %[2]s"},
		moved:   ", updated_at = " + e.now,
	})
	f.max, f.limit = math.MaxInt64-1, math.MaxInt64
	return f
}
