package report

import (
	"fmt"
	"io"

	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/judge/trial"
)

// Bars are what share of the texts, in percent, has to be filled. 0 asks for
// nothing.
type Bars struct {
	Values  float64 // one INSERT that says its columns and holds its rows
	Several float64 // several statements, whose INSERTs are such
	Query   float64 // one INSERT … SELECT that says its columns
}

// Passed writes how the report stands to the bars, and reports whether it passes
// them all: none wrong, none missed, and the shares. It needs a report by the
// judge's own kinds.
func (r *Report) Passed(w io.Writer, b Bars) bool {
	p := &printer{w: w}
	passed := true
	bar := func(name string, share float64, kinds ...string) {
		filled, all := r.filled(kinds...)
		if all == 0 {
			return
		}
		got := 100 * float64(filled) / float64(all)
		state := "ok"
		switch {
		case share == 0:
			state = "no bar"
		case got < share:
			state, passed = fmt.Sprintf("MISSED: %g %% are asked for", share), false
		}
		p.line("  %-38s %6.2f %% of %d filled: %s", name, got, all, state)
	}
	p.line("bars of %s:", r.Title)
	p.line("  %-38s %d", "wrong", len(r.wrong))
	p.line("  %-38s %d", "refused or touched without need", len(r.missed))
	bar("columns and rows in the text", b.Values, string(tree.KindValues), string(tree.KindSet), string(tree.KindDefault))
	bar("the same in several statements", b.Several, string(tree.KindSeveral))
	bar("columns, rows from a query, integers", b.Query, IntegerQuery)
	if r.judges[trial.Parser]+r.judges[trial.Checker] == 0 {
		p.line("  nothing was judged")
		return false
	}
	return passed && len(r.wrong) == 0 && len(r.missed) == 0
}
