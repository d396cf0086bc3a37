package fill

import (
	"errors"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// unprepared returns the error of a text that could not be prepared. If it shows that a
// table's name means another table, unprepared discards what was known about that name.
func unprepared(c *execution.Conn, p *plans.Plan, err error) error {
	x := &execution.Execution{Conn: c, Plan: p}
	outcome.DoubtNames(x, err)
	return outcome.Meant(x, err)
}

// maxDecisions is how often the treatment of a statement is decided. At the first decision
// the proof in the statement (that its table's name means the expected table) may fail
// because the session has another search path or schema, and at the second because the
// name means another table there than when it was last looked up.
const maxDecisions = 3

// decidesAgain reports whether the treatment of a statement that has failed with err, and
// was decided n times, is decided once more: the name of its table meant another table, or
// a table that is gone, and the error has not aborted a transaction.
func decidesAgain(c *execution.Conn, n int, err error) bool {
	if n == maxDecisions || c.Tx != session.Outside && c.DB.Dialect().ErrorsAbort {
		return false
	}
	var gone executor.GoneTable
	return errors.Is(err, outcome.ErrOtherTable) || errors.As(err, &gone)
}
