package catalog

import "strings"

// nextvalDefault is the Identity of a column whose default draws from a
// sequence.
const nextvalDefault = "nextval default"

// isNextval reports whether a default draws from a sequence: nextval(…) of
// PostgreSQL and MariaDB, x.nextval of Oracle, NEXT VALUE FOR of SQL Server.
func isNextval(expr string) bool {
	expr = strings.ToLower(expr)
	return strings.Contains(expr, "nextval") || strings.Contains(expr, "next value for")
}
