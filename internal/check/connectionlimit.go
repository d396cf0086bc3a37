package check

import (
	"fmt"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// limitQueries ask how many connections the user may have at a time, -1 for any number, by
// family. A superuser of PostgreSQL has no such limit.
var limitQueries = map[dialect.Family]string{
	dialect.FamilyMySQL: "SELECT CASE WHEN @@max_user_connections = 0 THEN -1 ELSE @@max_user_connections END",
	dialect.FamilyPostgreSQL: `SELECT CASE WHEN r.rolsuper THEN -1
	WHEN r.rolconnlimit < 0 THEN d.datconnlimit
	WHEN d.datconnlimit < 0 THEN r.rolconnlimit
	WHEN r.rolconnlimit < d.datconnlimit THEN r.rolconnlimit ELSE d.datconnlimit END
FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
WHERE r.rolname = session_user AND d.datname = pg_catalog.current_database()`,
}

// lookAtConnectionLimit compares the number of connections that the user of the
// application's database may have with the number that keyfill needs beside the
// application's own.
func (c *checker) lookAtConnectionLimit() error {
	one := c.stores[""]
	// The catalog is asked on a connection of keyfill's too, wherever the state is.
	asks := slices.ContainsFunc(c.targets, func(t *target) bool { return t.table.AsksCatalog })
	if one == nil || one.bad {
		return nil
	}
	needs := asks || len(c.usesOf("")) > 0
	query := limitQueries[one.dialect.Family]
	if query == "" {
		return nil
	}
	limit := -1
	if err := one.db.QueryRowContext(c.ctx, query).Scan(&limit); err != nil {
		if c.ctx.Err() != nil {
			return err
		}
		if !needs {
			return nil
		}
		// Some servers hide their roles, and some that speak MySQL's protocol lack the
		// variable: INSERTs work there.
		c.add(Finding{Severity: Info, Rule: ruleNotLooked,
			Message: fmt.Sprintf("how many connections the user may have could not be looked at: %v", shown(err)),
			Remedy:  "let any limit be two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"})
		return nil
	}
	switch {
	case limit < 0:
	case !needs:
		one.single = limit < 2
	case limit < 2:
		one.single = true
		f := Finding{Severity: Error, Rule: ruleConnectionLimit,
			Message: "the user may have one connection at a time, and keyfill needs one of its own beside the INSERT's",
			Remedy:  "raise MAX_USER_CONNECTIONS of the user (ALTER USER) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"}
		if one.dialect.Family == dialect.FamilyPostgreSQL {
			f.Remedy = "raise CONNECTION LIMIT of the role (ALTER ROLE) or the database (ALTER DATABASE) to two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"
		}
		c.add(f)
	default:
		c.add(Finding{Severity: Info, Rule: ruleConnectionLimit,
			Message: fmt.Sprintf("the user may have %d connections at a time, of which keyfill has up to two in each process", limit),
			Remedy:  "let the limit be two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"})
	}
	return nil
}
