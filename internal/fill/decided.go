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

// maxDecisions is how often the treatment of a statement is decided: the first proof
// may show that the session has another search path or schema, and the second that the
// name means another table there than when it was last looked up.
const maxDecisions = 3

// decided calls once, which decides how a statement is treated and sends it. It calls
// once again while a proof shows that the table's name means another table than was
// assumed.
func decided[T any](c *execution.Conn, once func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		answer, err := once()
		if n == maxDecisions || !decidesAgain(c, err) {
			return answer, err
		}
	}
}

// decidesAgain reports whether the treatment of a statement that has failed with err is
// decided once more: the name of its table meant another table, or a table that is
// gone, and the error has not aborted a transaction.
func decidesAgain(c *execution.Conn, err error) bool {
	if err == nil || c.Tx != session.Outside && c.DB.Dialect().ErrorsAbort {
		return false
	}
	var gone executor.GoneTable
	return errors.Is(err, outcome.ErrOtherTable) || errors.As(err, &gone)
}
