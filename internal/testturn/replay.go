package testturn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Suite holds the choices of tests, to be replayed for other turns.
type Suite struct {
	roots []*node
	tests map[string]*node
}

// node is a test with its choices, and the subtests that make choices of their own.
type node struct {
	name     string
	after    int // how many choices the parent had made when the subtest began
	choices  []Choice
	children []*node
}

// Reached counts the combinations of choices of one test and its subtests, and the
// successive turns in which each of them has its turn.
type Reached struct {
	Test         string
	Combinations int
	Turns        int
	Missed       []string // the combinations that no turn reaches
}

// Add reads the records of a program. Tests that run more than once, and processes that
// tests start, count once.
func (s *Suite) Add(r io.Reader) error {
	if s.tests == nil {
		s.tests = map[string]*node{}
	}
	here := map[string]bool{}
	for d := json.NewDecoder(r); ; {
		var r Record
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("testturn: a record of choices: %w", err)
		}
		isChoice := r.Choice.Size > 0 || r.Choice.Groups != nil
		n := s.tests[r.Test]
		switch {
		case isChoice && here[r.Test]:
			n.choices = append(n.choices, r.Choice)
		case isChoice:
		case n == nil:
			here[r.Test] = true
			s.begin(r)
		default:
			here[r.Test] = false
		}
	}
}

func (s *Suite) begin(r Record) {
	n := &node{name: r.Test, after: r.After}
	s.tests[r.Test] = n
	if parent := s.tests[r.Parent]; parent != nil {
		parent.children = append(parent.children, n)
	} else {
		s.roots = append(s.roots, n)
	}
}

// Replay finds for each test the number of turns, from the first one, that reach all
// combinations of its choices. Combinations that none of limit turns reaches are in Missed.
func (s *Suite) Replay(limit int) (all []Reached) {
	for _, root := range s.roots {
		want := map[string]bool{}
		root.expect("", nil, want)
		got := map[string]bool{}
		r := Reached{Test: root.name, Combinations: len(want)}
		for turn := range uint64(limit) {
			before := len(got)
			root.visit(Start(turn+1, root.name), "", got)
			if len(got) > before {
				r.Turns = int(turn) + 1
			}
			if len(got) == len(want) {
				break
			}
		}
		for _, cell := range slices.Sorted(maps.Keys(want)) {
			if !got[cell] {
				r.Missed = append(r.Missed, cell)
			}
		}
		all = append(all, r)
	}
	return all
}

// taken is one outcome of a choice: text names it, and subtest is the subtest that runs
// for it, empty if the choice says nothing about subtests.
type taken struct{ text, subtest string }

// outcomes returns all possible outcomes of a choice.
func (c Choice) outcomes() (all []taken) {
	for i := range c.Size {
		all = append(all, taken{text: fmt.Sprintf("%d/%d", i, c.Size)})
	}
	for _, name := range slices.Concat(c.Groups...) {
		all = append(all, taken{name, name})
	}
	return all
}

// read returns the outcome of a choice for a number.
func (c Choice) read(at *Cursor) taken {
	group, place := at.Read(c)
	if c.Groups == nil {
		return c.outcomes()[place]
	}
	return taken{c.Groups[group][place], c.Groups[group][place]}
}

// expect adds to want all combinations of a test and its subtests, after the choices in
// made.
func (n *node) expect(in string, made []taken, want map[string]bool) {
	cell := n.cell(in, made)
	for _, child := range n.children {
		if child.after == len(made) && n.runs(child, made) {
			child.expect(cell, nil, want)
		}
	}
	if len(made) == len(n.choices) {
		want[cell] = true
		return
	}
	for _, one := range n.choices[len(made)].outcomes() {
		n.expect(in, append(slices.Clone(made), one), want)
	}
}

// visit adds to got the combinations that a number reaches.
func (n *node) visit(at Cursor, in string, got map[string]bool) {
	var made []taken
	for {
		cell := n.cell(in, made)
		for _, child := range n.children {
			if child.after == len(made) && n.runs(child, made) {
				child.visit(at.Child(child.name), cell, got)
			}
		}
		if len(made) == len(n.choices) {
			got[cell] = true
			return
		}
		made = append(made, n.choices[len(made)].read(&at))
	}
}

// cell returns the name of a combination: the name of the parent's, the test, and its
// choices.
func (n *node) cell(in string, made []taken) string {
	cell := strings.TrimSpace(in + " " + n.name)
	for _, one := range made {
		cell += " " + one.text
	}
	return cell
}

// runs reports whether a subtest runs after choices of its parent: it does unless a choice
// among subtests has selected others.
func (n *node) runs(child *node, made []taken) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(child.name, n.name+"/"), "/")
	named, chosen := false, false
	for i, one := range made {
		for _, group := range n.choices[i].Groups {
			named = named || slices.Contains(group, name)
		}
		chosen = chosen || one.subtest == name
	}
	return !named || chosen
}
