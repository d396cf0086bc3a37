package check

import (
	"fmt"
	"slices"
)

// lookAtConnectionLimit compares how many connections the database's user may have with how
// many keyfill needs beside the application's own.
func (c *checker) lookAtConnectionLimit() error {
	one := c.stores[""]
	// keyfill opens a connection here to read the catalog, even if the counters of all
	// sources are stored elsewhere.
	asks := slices.ContainsFunc(c.targets, func(t *target) bool { return t.table.AsksCatalog })
	if one == nil || one.bad {
		return nil
	}
	needs := asks || len(c.usesOf("")) > 0
	e := engines[one.dialect.Family]
	if e.limit == "" {
		return nil
	}
	limit := -1
	if err := one.db.QueryRowContext(c.ctx, e.limit).Scan(&limit); err != nil {
		if c.ctx.Err() != nil {
			return err
		}
		if !needs {
			return nil
		}
		// Some servers hide their roles, and some that speak MySQL's protocol lack the
		// variable max_user_connections. INSERTs work on these servers, so the finding is
		// no error.
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
		c.add(Finding{Severity: Error, Rule: ruleConnectionLimit,
			Message: "the user may have one connection at a time, and keyfill needs one of its own beside the INSERT's",
			Remedy:  e.limitRemedy})
	default:
		c.add(Finding{Severity: Info, Rule: ruleConnectionLimit,
			Message: fmt.Sprintf("the user may have %d connections at a time, of which keyfill has up to two in each process", limit),
			Remedy:  "let the limit be two more than SetMaxOpenConns of all processes, and two for each further process: see docs/pool.md"})
	}
	return nil
}
