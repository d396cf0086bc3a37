// Package report counts verdicts and prints them as tables, with the bars that
// they have to pass.
package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/judge/trial"
)

// Report is the count of one dialect.
type Report struct {
	Title string

	texts   int
	words   trial.Words
	judges  map[trial.Judge]int
	rows    map[row]*count
	wrong   []finding
	missed  []finding
	apart   []finding // texts that are missed, if the engine accepts them as SQL, which is not known
	slowest finding
	took    time.Duration
}

// row identifies texts that are counted together.
type row struct {
	judge trial.Judge
	kind  string
}

// count is a line of the table.
type count struct {
	texts, fill, keep, pass, refuse, wrong, missed int
	held, heldFilled                               int // how many of texts and fill belong to texts of which a required share has to be filled
	reasons                                        map[trial.Reason]int
}

// finding is a text that is worth a look.
type finding struct {
	id, what string
}

// New returns an empty report.
func New(title string) *Report {
	return &Report{Title: title, judges: map[trial.Judge]int{}, rows: map[row]*count{}}
}

// IntegerQuery is the kind under which INSERT … SELECT is counted a second time,
// with integer keys.
const IntegerQuery = "select, integer keys"

// Add counts a verdict. The text goes into the tables under kind, so that the
// bars of the judge's own kinds apply.
func (r *Report) Add(id, kind string, v trial.Verdict) {
	if kind != IntegerQuery {
		r.texts++
		r.judges[v.Judge]++
	}
	if v.Took > r.took {
		r.took, r.slowest = v.Took, finding{id: id}
	}
	at := row{v.Judge, kind}
	if r.rows[at] == nil {
		r.rows[at] = &count{reasons: map[trial.Reason]int{}}
	}
	c := r.rows[at]
	c.texts++
	if !v.Apart && !v.Excused {
		c.held++
	}
	switch {
	case v.Wrong != "":
		c.wrong++
		r.wrong = append(r.wrong, finding{id, v.Wrong})
		return
	case v.Missed:
		c.missed++
		what := fmt.Sprintf("%s: %s", v.Kind, v.Action)
		if v.Reason != "" {
			what += ": " + string(v.Reason)
		}
		if v.Apart {
			r.apart = append(r.apart, finding{id, what})
		} else {
			r.missed = append(r.missed, finding{id, what})
		}
	}
	switch v.Action {
	case "fill":
		c.fill++
		if !v.Apart {
			c.heldFilled++
		}
	case "keep":
		c.keep++
	case "pass":
		c.pass++
	case "refuse":
		c.refuse++
		c.reasons[v.Reason]++
	}
}

// Wrong returns how many answers are wrong.
func (r *Report) Wrong() int { return len(r.wrong) }

// AddWords counts the outcome of a text with unknown words in its clauses.
func (r *Report) AddWords(id string, w trial.Words) {
	r.words.Add(w)
	for _, text := range w.Wrong {
		r.wrong = append(r.wrong, finding{id, "filled with an unknown word: " + text})
	}
}

// judgeNames are the names of the judges in the tables.
var judgeNames = map[trial.Judge]string{
	trial.Parser:  "judged by the parser",
	trial.Checker: "judged by the checker alone, held to no bar where there is a parser",
	trial.Nobody:  "no SQL to the engine's own parser, or unfinished: counted, held to no bar",
}

// Print writes the tables, and examples findings of each sort.
func (r *Report) Print(w io.Writer, examples int) {
	p := &printer{w: w}
	p.line("== %s: %d texts", r.Title, r.texts)
	for _, judge := range []trial.Judge{trial.Parser, trial.Checker, trial.Nobody} {
		if r.judges[judge] == 0 {
			continue
		}
		p.line("\n%s: %d", judgeNames[judge], r.judges[judge])
		p.line("  %-22s %7s %7s %6s %7s %7s %6s %6s", "kind", "texts", "filled", "kept", "passed", "refused", "missed", "wrong")
		for _, at := range r.sorted(judge) {
			c := r.rows[at]
			p.line("  %-22s %7d %7d %6d %7d %7d %6d %6d%s", at.kind, c.texts, c.fill, c.keep, c.pass, c.refuse, c.missed, c.wrong, reasons(c))
		}
	}
	p.words(r.words)
	p.findings("wrong", r.wrong, examples)
	p.findings("missed", r.missed, examples)
	p.findings("missed, if the engine takes what its parser does not", r.apart, examples)
	p.line("\nslowest: %s, %v", r.slowest.id, r.took.Round(time.Microsecond))
}

func (r *Report) sorted(judge trial.Judge) []row {
	var rows []row
	for at := range r.rows {
		if at.judge == judge {
			rows = append(rows, at)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.kind, b.kind) })
	return rows
}

// reasons writes why texts were refused, the most frequent first.
func reasons(c *count) string {
	keys := slices.SortedFunc(maps.Keys(c.reasons), func(a, b trial.Reason) int {
		return cmp.Or(c.reasons[b]-c.reasons[a], strings.Compare(string(a), string(b)))
	})
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s %d", k, c.reasons[k]))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + strings.Join(parts, ", ")
}

// printer writes lines. It ignores errors of writing.
type printer struct{ w io.Writer }

func (p *printer) line(format string, args ...any) { _, _ = fmt.Fprintf(p.w, format+"\n", args...) }

func (p *printer) words(w trial.Words) {
	p.line("\nunknown words at %d places in the clauses of %d INSERTs: %d texts, %d filled that the parser takes, %d filled that it does not take", w.Places, w.Inserts, w.Texts, w.Filled, len(w.Wrong))
}

func (p *printer) findings(what string, all []finding, examples int) {
	if len(all) == 0 {
		return
	}
	p.line("\n%s: %d", what, len(all))
	for _, f := range all[:min(len(all), examples)] {
		p.line("  %s  %s", f.id, f.what)
	}
}

// filled returns how many texts of some kinds were filled, and how many there are. It
// counts only texts of which a share has to be filled.
func (r *Report) filled(kinds ...string) (filled, all int) {
	for at, c := range r.rows {
		if slices.Contains(kinds, at.kind) {
			filled += c.heldFilled
			all += c.held
		}
	}
	return filled, all
}
