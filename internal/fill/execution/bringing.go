package execution

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/rewrite"
)

// bringing records whether the executions of a text, whose arguments decide it, bring its
// keys. A text that is prepared before that is known is prepared for executions like the
// last one.
type bringing struct {
	query  string
	filled bool
}

// Note notes whether the arguments of an execution bring its keys.
func (b *bringing) Note(p *rewrite.Plan, query string, args []driver.NamedValue) {
	if !p.AtExecution || !p.Session() {
		return
	}
	h, err := p.Holes(args)
	*b = bringing{query, err == nil && h.Any()}
}

// Fills reports whether the next execution of a text probably fills a key.
func (b *bringing) Fills(p *rewrite.Plan, query string) bool {
	return !p.AtExecution || p.Action == rewrite.Fill || b.query == query && b.filled
}
