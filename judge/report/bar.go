package report

import (
	"fmt"
	"io"

	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/judge/trial"
)

// Bars are the least shares of the texts, in percent, that have to be filled. Zero requires
// nothing.
type Bars struct {
	Values  float64 // texts of one INSERT with a column list and VALUES
	Several float64 // texts of several statements with such INSERTs
	Query   float64 // texts of one INSERT … SELECT with a column list
}

// Passed compares the report with the bars (the required shares), writes the result, and
// reports whether all are passed: no answer is wrong, none is missed, and the shares are
// reached. It needs a report by the judge's own kinds.
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
