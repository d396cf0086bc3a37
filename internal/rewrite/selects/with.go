package selects

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// With is a WITH clause: nothing, or from the word to the last bracket.
type With struct {
	scan.Span
	From, To int // the caller's placeholders in front of it and of what follows
}

// Empty reports whether there is no clause.
func (w With) Empty() bool { return w.Start == w.End }

// definitions follows the definitions of a WITH clause to the query behind them,
// which may stand in brackets.
type definitions struct {
	as   bool // the next brackets hold a definition
	done bool // one has ended
}

// end reports whether the query begins at the current token, where depth brackets are
// open.
func (d *definitions) end(p *reader.Reader, depth int) bool {
	switch {
	case depth == 1 && p.IsPunct(')') && d.as:
		d.as, d.done = false, true
	case depth > 0:
	case p.IsAny("select", "values", "table"), d.done && p.IsPunct('('):
		return true
	case p.IsWord("as"):
		d.as = true
	case p.IsPunct(','):
		d.done = false
	}
	return false
}
