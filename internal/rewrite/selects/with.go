package selects

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// With is the span of a WITH clause, from the word to the last bracket. It is empty if
// there is no clause.
type With struct {
	scan.Span
	From, To int // how many of the caller's placeholders precede the clause, and the text after it
}

// Empty reports whether there is no clause.
func (w With) Empty() bool { return w.Start == w.End }

// definitions finds the end of the definitions in a WITH clause: the query after them,
// which may be in brackets.
type definitions struct {
	as   bool // whether the next brackets hold a definition
	done bool // whether a definition has ended
}

// end reports whether the query begins at the current token, before which depth brackets
// are open.
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
