package check

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
)

// Two servers that replicate keyfill's tables to each other both give out the same numbers
// of a row until each has the other's changes. A replica that no process writes to gives
// out none.

// lookAtTwoWay asks each database that keeps counters of sources whether another server
// writes into it too.
func (c *checker) lookAtTwoWay() error {
	for name, one := range c.byName() {
		if one.bad || len(c.usesOf(name)) == 0 {
			continue
		}
		found, err := store.TwoWay(c.ctx, one.store)
		if err != nil && c.ctx.Err() != nil {
			return err
		}
		of := "the server"
		if name != "" {
			of = fmt.Sprintf("the server of the store %q", name)
		}
		switch {
		case sqlcode.ClassOf(one.dialect, err) == dialect.ErrorNoRight:
			c.add(Finding{Severity: Info, Rule: ruleTwoWay, Line: c.lineOfDatabase(name),
				Message: "it is not known whether " + of + " and another one replicate to each other: the user may not ask",
				Remedy:  "let the user of the DSN SELECT from performance_schema"})
		case err != nil:
			return err
		case found != "":
			c.add(Finding{Severity: Warning, Rule: ruleTwoWay, Line: c.lineOfDatabase(name),
				Message: of + " takes changes from another one and hands its own on: " + found + ". Where programs insert at both, both give the same numbers while one lacks the other's changes",
				Remedy:  "let all programs insert at one of them; or name one server as the store of both, see docs/check.md"})
		}
	}
	return nil
}
