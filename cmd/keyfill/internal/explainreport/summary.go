package explainreport

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// These limits bound the memory of a summary for any input.
const (
	maxGroups   = 1000  // groups, which are combinations of table, outcome and reason
	maxShapes   = 10000 // different statements, apart from their values, over all groups
	maxExamples = 3     // how many examples of a group are shown
	maxHints    = 1000  // how many tables a hint is kept for
)

// Summary counts statements by table, outcome and reason.
type Summary struct {
	policy *Policy
	groups map[groupKey]*group
	shapes int
	hints  map[string]string
	total  map[string]int // the number of statements by outcome
}

// groupKey identifies statements that are counted together.
type groupKey struct{ action, table, column, reason string }

// group is the statements of one groupKey.
type group struct {
	groupKey
	statements int
	hint       string
	shapes     map[string]*shape
	more       bool // whether the group has more shapes than were kept
}

// shape counts the statements that differ only in their values.
type shape struct {
	statements int
	first      inputStatement
}

func newSummary(p *Policy) *Summary {
	return &Summary{policy: p, groups: map[groupKey]*group{}, hints: map[string]string{}, total: map[string]int{}}
}

// add counts a statement; if it has several INSERTs, it counts each of them.
func (s *Summary) add(one *inputStatement, ex *explain.Explanation) {
	s.total[ex.Action]++
	if len(ex.Inserts) == 0 {
		s.count(one, groupKey{ex.Action, ex.Table, ex.Column, ex.Reason})
		return
	}
	for _, in := range ex.Inserts {
		s.count(one, groupKey{in.Action, in.Table, in.Column, in.Reason})
	}
}

func (s *Summary) count(one *inputStatement, key groupKey) {
	hint := ""
	if key.action == plans.Pass.String() {
		if key.table = s.policy.insertTarget(one.text); key.table != "" {
			hint = s.hintFor(key.table)
		}
	}
	g := s.groups[key]
	if g == nil {
		if len(s.groups) >= maxGroups {
			key = groupKey{action: key.action}
			g = s.groups[key]
		}
		if g == nil {
			if key.action == plans.Refuse.String() {
				hint = s.policy.onSibling(one.text)
			}
			key.table = strings.Clone(key.table) // key.table may be part of a long text, and would keep all of it in memory
			g = &group{groupKey: key, hint: hint, shapes: map[string]*shape{}}
			s.groups[key] = g
		}
	}
	g.statements++
	if key.action == plans.Pass.String() && key.table == "" {
		return // a text without an INSERT is only counted, without an example
	}
	fingerprint := effects.Shape(s.policy.dialect, one.text)
	found := g.shapes[fingerprint]
	if found == nil {
		if s.shapes >= maxShapes {
			g.more = true
			return
		}
		s.shapes++
		kept := *one
		kept.text = strings.Clone(one.text[:min(len(one.text), 16*maxExample)])
		found = &shape{first: kept}
		g.shapes[fingerprint] = found
	}
	found.statements++
}

// hint returns a hint for a text that is passed or refused, empty if there is none.
func (s *Summary) hint(text string, ex *explain.Explanation) string {
	switch ex.Action {
	case plans.Refuse.String():
		return s.policy.onSibling(text)
	case plans.Pass.String():
	default:
		return ""
	}
	if table := s.policy.insertTarget(text); table != "" {
		return s.hintFor(table)
	}
	return ""
}

func (s *Summary) hintFor(table string) string {
	hint, known := s.hints[table]
	if !known {
		hint = s.policy.near(table)
		if len(s.hints) < maxHints {
			s.hints[strings.Clone(table)] = hint
		}
	}
	return hint
}

// by returns an explainer that explains through x, and counts the outcomes.
func (s *Summary) by(x explain.Explainer) explain.Explainer { return countingExplainer{x, s} }

type countingExplainer struct {
	explain.Explainer
	s *Summary
}

func (c countingExplainer) Explain(query string) (explain.Explanation, error) {
	ex, err := c.Explainer.Explain(query)
	if err == nil {
		c.s.total[ex.Action]++
	}
	return ex, err
}

// Fails returns an error if a statement had one of the outcomes in failOn.
func (s *Summary) Fails(failOn []string) error {
	var found []string
	for _, action := range Actions {
		if n := s.total[action]; n > 0 && slices.Contains(failOn, action) {
			found = append(found, fmt.Sprintf("%d %s", n, action))
		}
	}
	if found == nil {
		return nil
	}
	return fmt.Errorf("--fail-on finds the outcomes %s: change the statements, or correct the policy", strings.Join(found, ", "))
}

// line returns the counts of the outcomes in one line.
func (s *Summary) line() string {
	all, parts := 0, []string{}
	for _, action := range Actions {
		if n := s.total[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
			all += n
		}
	}
	text := terminal.Count(all, "statement")
	if all > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// sorted returns the groups in the order of their outcomes, the most serious first; of the
// same outcome, the group with the most statements is first.
func (s *Summary) sorted() []*group {
	var all []*group
	for _, g := range s.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Actions, a.action), slices.Index(Actions, b.action)),
			cmp.Compare(b.statements, a.statements),
			cmp.Compare(a.table, b.table), cmp.Compare(a.reason, b.reason),
		)
	})
	return all
}

// examples returns the most frequent shapes (statements without their values) of a group.
func (g *group) examples() (fingerprints []string) {
	for one := range g.shapes {
		fingerprints = append(fingerprints, one)
	}
	slices.SortFunc(fingerprints, func(a, b string) int {
		return cmp.Or(cmp.Compare(g.shapes[b].statements, g.shapes[a].statements),
			cmp.Compare(g.shapes[a].first.line, g.shapes[b].first.line), cmp.Compare(a, b))
	})
	return fingerprints[:min(len(fingerprints), maxExamples)]
}

// print prints the summary for people.
func (s *Summary) print(w *bufio.Writer, c terminal.Colours, literals bool) error {
	for _, g := range s.sorted() {
		name := g.table
		if g.column != "" {
			name += "." + g.column
		}
		if name == "" {
			name = "other statements"
		}
		// The width is computed from the plain word: the codes for its colour take no room.
		fmt.Fprintf(w, "%s%s %s  %s", c.Paint(terminal.ActionColours[g.action], g.action), strings.Repeat(" ", len("refuse")-len(g.action)), name, terminal.Count(g.statements, "statement"))
		switch n := len(g.shapes); {
		case g.more:
			fmt.Fprintf(w, ", more than %s", terminal.Count(n, "shape"))
		case n > 1:
			fmt.Fprintf(w, ", %s", terminal.Count(n, "shape"))
		}
		fmt.Fprintln(w)
		if g.reason != "" {
			fmt.Fprintf(w, "       %s\n", g.reason)
		}
		if g.hint != "" {
			fmt.Fprintf(w, "       hint: %s\n", g.hint)
		}
		for _, fingerprint := range g.examples() {
			one := g.shapes[fingerprint]
			fmt.Fprintf(w, "       %d, as in %s: %s\n", one.statements, one.first.where(), example(s.policy.dialect, one.first.text, literals || !one.first.log))
		}
	}
	_, err := fmt.Fprintln(w, s.line())
	return err
}

// groupJSON is the JSON form of a group.
type groupJSON struct {
	Action string `json:"action"` // what the statements of the group have in common, with table, column and reason
	Table  string `json:"table"`  // of a pass the table of its INSERT, as it is written
	Column string `json:"column"` // the key column
	Reason string `json:"reason"` // why, for refuse, and for a keep that is decided at execution

	Statements int           `json:"statements"`     // how many there are; each INSERT of a text counts
	Shapes     int           `json:"shapes"`         // how many differ in more than their values; at most 10,000 in all groups
	Hint       string        `json:"hint,omitempty"` // the entry of the policy that may be meant
	Examples   []exampleJSON `json:"examples"`       // the most frequent shapes, at most three, each with its shape (a fingerprint), its number of statements, and the file, line and sql of the first
}

// exampleJSON is the JSON form of a shape.
type exampleJSON struct {
	Shape      string `json:"shape"`
	Statements int    `json:"statements"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	SQL        string `json:"sql"`
}

// printJSON prints one object for each group.
func (s *Summary) printJSON(w *bufio.Writer, literals bool) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, g := range s.sorted() {
		one := groupJSON{g.action, g.table, g.column, g.reason, g.statements, len(g.shapes), g.hint, []exampleJSON{}}
		for _, fingerprint := range g.examples() {
			found := g.shapes[fingerprint]
			one.Examples = append(one.Examples, exampleJSON{
				fingerprint, found.statements, found.first.file, found.first.line,
				example(s.policy.dialect, found.first.text, literals || !found.first.log),
			})
		}
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	return nil
}
