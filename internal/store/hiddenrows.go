package store

import (
	"fmt"
	"strings"
)

// Row-level security may hide rows of the application's table from the user, and then
// the greatest key that the user sees is not the greatest one. So each query for keys
// also asks whether rows may be hidden: PostgreSQL 18 documentation, sections 5.9 and
// 9.27.

// HidesRows returns the text that a query for keys adds to its columns, empty for most
// engines: the second value of the result is then 1 if rows of the table may be hidden.
func (s *Store) HidesRows(table string) string {
	if s.Engine.Keys.Hides == "" {
		return ""
	}
	return ", " + fmt.Sprintf(s.Engine.Keys.Hides, NameLiteral(table))
}

// NameLiteral returns the name of a table, as it is written in a query, as a text
// literal of PostgreSQL.
func NameLiteral(table string) string { return "E'" + escapes.Replace(table) + "'" }

// escapes makes a literal that means the same under both values of
// standard_conforming_strings.
var escapes = strings.NewReplacer(`\`, `\\`, "'", "''")

// AreHidden reports whether the second value of a row, which [Store.HidesRows] has
// asked for, is not 0: rows may be hidden.
func (s *Store) AreHidden(row []any) (bool, error) {
	if s.Engine.Keys.Hides == "" || len(row) != 2 {
		return false, nil
	}
	n, err := Integer(row[1])
	return n != 0, err
}
