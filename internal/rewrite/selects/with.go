package selects

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// With is a WITH clause: empty, or from the word to the last bracket.
type With struct {
	scan.Span
	From, To int // how many of the caller's placeholders precede it and the text after it
}

// Empty reports whether there is no clause.
func (w With) Empty() bool { return w.Start == w.End }

// definitions reads past the definitions of a WITH clause to the query after them, which
// may be in brackets.
type definitions struct {
	as   bool // the next brackets hold a definition
	done bool // a definition has ended
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
