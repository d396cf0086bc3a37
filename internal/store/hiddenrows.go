package store

import (
	"fmt"
	"strings"
)

// Row-level security may hide rows of the application's table from the user, so that the
// greatest key that is shown is not the greatest one. Each question for keys also asks
// whether that is so: PostgreSQL 18 documentation, sections 5.9 and 9.27.

// HidesRows returns the second value of a question about a table: 1 where rows may be hidden.
func (s *Store) HidesRows(table string) string {
	if s.Engine.Keys.Hides == "" {
		return ""
	}
	return ", " + fmt.Sprintf(s.Engine.Keys.Hides, NameLiteral(table))
}

// NameLiteral returns a name, such as a table's as it is written in a query, as a literal
// of PostgreSQL.
func NameLiteral(table string) string { return "E'" + escapes.Replace(table) + "'" }

// escapes make a literal that means the same under each standard_conforming_strings.
var escapes = strings.NewReplacer(`\`, `\\`, "'", "''")

// AreHidden reports whether that value is 1 in an answer.
func (s *Store) AreHidden(row []any) (bool, error) {
	if s.Engine.Keys.Hides == "" || len(row) != 2 {
		return false, nil
	}
	n, err := Integer(row[1])
	return n != 0, err
}
