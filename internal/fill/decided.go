package fill

import (
	"errors"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
)

// unprepared is both for a text that could not be prepared, since its name is looked up there.
func unprepared(c *execution.Conn, p *plans.Plan, err error) error {
	x := &execution.Execution{Conn: c, Plan: p}
	outcome.DoubtNames(x, err)
	return outcome.Meant(x, err)
}

// maxDecisions is how often a statement is decided: the first proof may show that the
// session is in another place, and the second that the name means another table there than
// when it was last looked for.
const maxDecisions = 3

// decided calls a function that decides and sends a statement, until no proof shows that
// its table's name means another table than was thought.
func decided[T any](c *execution.Conn, once func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		answer, err := once()
		if n == maxDecisions || !decidesAgain(c, err) {
			return answer, err
		}
	}
}

// decidesAgain reports whether a statement that has ended in err is decided once more: the
// name of its table meant another one, or one that is gone, and no transaction has failed
// with it.
func decidesAgain(c *execution.Conn, err error) bool {
	if err == nil || c.Tx != session.Outside && c.DB.Dialect().ErrorsAbort {
		return false
	}
	var gone executor.GoneTable
	return errors.Is(err, outcome.ErrOtherTable) || errors.As(err, &gone)
}
