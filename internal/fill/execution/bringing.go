package execution

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// bringing records whether the last execution of a text needed keys, if the arguments
// decide that. A text that is prepared before the arguments are known is prepared for
// executions like the last one.
type bringing struct {
	query  string
	filled bool
}

// Note records whether an execution with these arguments needs keys.
func (b *bringing) Note(p *plans.Plan, query string, args []driver.NamedValue) {
	if !p.AtExecution || !p.Session {
		return
	}
	h, err := bind.FindHoles(p, args)
	*b = bringing{query, err == nil && h.Any()}
}

// Fills reports whether the next execution of a text will probably be filled with a
// key.
func (b *bringing) Fills(p *plans.Plan, query string) bool {
	return !p.AtExecution || p.Action == plans.Fill || b.query == query && b.filled
}
