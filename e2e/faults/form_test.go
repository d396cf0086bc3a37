package faults_test

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// form describes the keys of a table of the tests of faults: for the code that makes the
// table, inserts and judges.
type form struct {
	Column string // the type of id; "" is BIGINT

	// Listed says that the keys of a statement need not follow each other: a
	// journal holds each of them, and not the first one.
	Listed bool

	Scoped  bool // numbered within parent
	Unique  bool // two rows with one id are an error
	Gapless bool // the numbers that are stored are 1 to N, of each parent
}

// formParents is how many parents the rows of a scoped form have.
const formParents = 5

// isText reports whether the keys are no integers.
func (f form) isText() bool { return strings.Contains(f.Column, "CHAR") }

// table returns the statements that make a table of the tests of faults. Two rows
// with one id are no error there unless they have to be, so that they are found.
// A statement brings its number, which no other has, and the places of its rows.
func (f form) table(name string) []string {
	column, parent, unique := f.Column, "", ""
	if column == "" {
		column = "BIGINT"
	}
	if f.Scoped {
		parent = " parent BIGINT NOT NULL,"
	}
	if f.Unique {
		column, unique = column+" NOT NULL", "UNIQUE "
	}
	return []string{
		fmt.Sprintf("CREATE TABLE %s (id %s,%s stmt BIGINT NOT NULL, pos INT NOT NULL, PRIMARY KEY (stmt, pos))", name, column, parent),
		fmt.Sprintf("CREATE %sINDEX %s_id ON %[2]s (%s)", unique, name, f.key()),
	}
}

// key returns the columns that are not the same in two rows.
func (f form) key() string {
	if f.Scoped {
		return "parent, id"
	}
	return "id"
}

// isNone returns a condition for rows that have no key.
func (f form) isNone() string {
	if f.isText() {
		return "id IS NULL OR id = ''"
	}
	return "id IS NULL OR id < 1"
}

// parentOf returns the parent of a row, by which it is the same whenever it is
// asked for.
func (f form) parentOf(stmt int64, pos int) int64 {
	mixed := (uint64(stmt)<<8 + uint64(pos)) * 0x9E3779B97F4A7C15
	return int64(mixed >> 33 % formParents)
}

// text is how a journal holds a key of a row.
func (f form) text(key any, parent int64) string {
	if f.Scoped {
		return fmt.Sprintf("%d/%v", parent, key)
	}
	return fmt.Sprint(key)
}

// insertRows returns an INSERT of so many rows.
func (f form) insertRows(e harness.Engine, rows int) string {
	columns, row := "stmt, pos", "(?, ?)"
	if f.Scoped {
		columns, row = "parent, stmt, pos", "(?, ?, ?)"
	}
	return e.Placeholders("INSERT INTO t (" + columns + ") VALUES " + row + strings.Repeat(", "+row, rows-1))
}

// rowArgs returns the arguments for that.
func (f form) rowArgs(stmt int64, rows int) []any {
	args := make([]any, 0, 3*rows)
	for pos := range rows {
		if f.Scoped {
			args = append(args, f.parentOf(stmt, pos))
		}
		args = append(args, stmt, pos)
	}
	return args
}

// literal returns an INSERT of one row without placeholders.
func (f form) literal(stmt int64) string {
	if f.Scoped {
		return fmt.Sprintf("INSERT INTO t (pos, parent, stmt) VALUES (0, %d, %d)", f.parentOf(stmt, 0), stmt)
	}
	return fmt.Sprintf("INSERT INTO t (stmt, pos) VALUES (%d, 0)", stmt)
}
