package rowcount

import (
	"strconv"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// TextFrom returns the application's own text, with settings by which the engine numbers
// the rows, beginning with first. Its placeholders stay. Outside a transaction the engine
// refuses the text, since surplus rows could not be undone: the setting's value is an
// expression that fails there. [plans.Plan.TakesFirst] must report true for the plan.
func TextFrom(pl *plans.Plan, first int64) string {
	g := pl.Inserts[0].Query.Given
	t := &pl.Dialect.Transactions
	b := make([]byte, 0, len(pl.Changes.Query)+160)
	b = append(b, pl.Changes.Query[:g.At]...)
	if !g.Beside {
		b = append(b, "SET STATEMENT "...)
	}
	b = append(append(b, "insert_id="...), t.KeyOpen...)
	b = append(strconv.AppendInt(b, first, 10), t.KeyShut...)
	b = append(b, ", auto_increment_increment=1"...)
	if g.Beside {
		b = append(b, ", "...)
	} else {
		b = append(b, " FOR "...)
	}
	return string(append(b, pl.Changes.Query[g.At:]...))
}
