package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/judge/trial"
	"github.com/keyfill/keyfill/rewrite"
)

// Refusals counts the INSERTs of applications that are refused with one source of keys. A
// text that no parser accepts is counted separately, since a program completes it when it
// runs. So is an INSERT without a column list, whose columns a driver reads on its
// connection.
type Refusals struct {
	Source string
	Wrong  int // the number of answers that are wrong

	words     trial.Words
	inserts   int
	families  map[string][]string // the refused texts, by kind and reason
	fragments int
	apart     []string // the refused fragments: texts that no parser accepts
	unlisted  int
}

// Add counts a verdict. A text that is passed has no INSERT into a table.
func (r *Refusals) Add(id string, v trial.Verdict) {
	if v.Wrong != "" {
		r.Wrong++
	}
	switch {
	case v.Action == "pass":
	case !v.Apart && v.Action == "refuse" && v.Reason == trial.Reason(rewrite.ErrNoColumnList):
		r.unlisted++
	case v.Apart:
		if r.fragments++; v.Action == "refuse" {
			r.apart = append(r.apart, id)
		}
	default:
		if r.inserts++; v.Action == "refuse" {
			if r.families == nil {
				r.families = map[string][]string{}
			}
			family := fmt.Sprintf("%s: %s", v.Kind, v.Reason)
			r.families[family] = append(r.families[family], id)
		}
	}
}

// AddWords counts the outcome of a text with unknown words in its clauses.
func (r *Refusals) AddWords(w trial.Words) {
	r.words.Add(w)
	r.Wrong += len(w.Wrong)
}

// AddAll adds what other has counted.
func (r *Refusals) AddAll(other *Refusals) {
	r.Wrong += other.Wrong
	r.words.Add(other.words)
	r.inserts += other.inserts
	r.fragments += other.fragments
	r.unlisted += other.unlisted
	r.apart = append(r.apart, other.apart...)
	for family, ids := range other.families {
		if r.families == nil {
			r.families = map[string][]string{}
		}
		r.families[family] = append(r.families[family], ids...)
	}
}

// Share returns how many INSERTs of a hundred are refused, without the fragments.
func (r *Refusals) Share() float64 {
	if r.inserts == 0 {
		return 0
	}
	return 100 * float64(r.refused()) / float64(r.inserts)
}

func (r *Refusals) refused() (n int) {
	for _, ids := range r.families {
		n += len(ids)
	}
	return n
}

// Print writes the counts, and each family with its first texts. It reports whether the
// share of refused INSERTs is at most most; 0 means that there is no limit.
func (r *Refusals) Print(w io.Writer, title string, examples int, most float64) bool {
	p := &printer{w: w}
	passed := most == 0 || r.Share() <= most
	state := ""
	switch {
	case !passed:
		state = fmt.Sprintf(": MISSED: %g %% at most are asked for", most)
	case most > 0:
		state = ": ok"
	}
	p.line("%s, %s: %d of %d INSERTs are refused, %.2f %%%s; and %d of %d fragments; %d need a table's columns", title, r.Source, r.refused(), r.inserts, r.Share(), state, len(r.apart), r.fragments, r.unlisted)
	p.words(r.words)
	families := slices.SortedFunc(maps.Keys(r.families), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(r.families[b]), len(r.families[a])), cmp.Compare(a, b))
	})
	for _, family := range families {
		ids := r.families[family]
		p.line("  %-40s %4d  %s", family, len(ids), strings.Join(ids[:min(examples, len(ids))], " "))
	}
	return passed
}
