package compile_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/steps"
	"github.com/keyfill/keyfill/internal/testturn"
)

// TestLinear: a golden case that is twice as long, by a part that is repeated, costs about
// twice as much to compile and to bind. There are some 25 ways to make each case longer.
func TestLinear(t *testing.T) {
	steps.Counted(t)
	program := steps.Build(t, "./testdata/linear", module+"/internal/rewrite/scan", module+"/internal/rewrite/words", module+"/internal/rewrite/reader", module+"/internal/rewrite/effects", module+"/internal/rewrite/selects", module+"/internal/rewrite/plans", module+"/internal/rewrite/bind", module+"/internal/rewrite/rowcount", module+"/internal/rewrite/inserts", module+"/internal/rewrite/compile", module+"/dialect")
	whole, n := t, 0
	for _, a := range archives(t) {
		before := n
		t.Run(strings.TrimSuffix(filepath.Base(a.path), ".txtar"), func(t *testing.T) {
			for _, l := range longs(t, a) {
				if n++; testturn.Of(whole, n, 1000) {
					program.Check(t, l.name, map[string]any{"Dialect": l.dialect, "Targets": l.targets, "Text": l.text})
				}
			}
			t.Logf("%d texts", n-before)
		})
	}
	t.Logf("%d texts", n)
}

// long is a golden case that is made longer.
type long struct {
	name, dialect string
	targets       map[string]*plans.Target
	text          steps.Text
}

// longs returns the golden cases of an archive in all ways to make them longer, each text
// once.
func longs(t *testing.T, a *archive) (all []long) {
	type identity struct {
		dialect string
		text    steps.Text
	}
	seen := map[identity]bool{} // several cases have the same part
	for _, c := range a.cases {
		for _, d := range c.dialects {
			h := fnv.New64a()
			h.Write([]byte(filepath.Base(a.path) + c.name + d.Name))
			targets := a.byTable(t, d)
			for _, g := range growths(d, targets, c, rand.New(rand.NewPCG(h.Sum64(), 0))) {
				if id := (identity{d.Name, g.text}); !seen[id] {
					seen[id] = true
					all = append(all, long{c.name + " " + d.Name + " " + g.name, d.Name, targets, g.text})
				}
			}
		}
	}
	return all
}

const module = "github.com/keyfill/keyfill"

// growth is a way to make a text longer.
type growth struct {
	name string
	text steps.Text
}

// grown is a text whose growths are looked for.
type grown struct {
	d    *dialect.Dialect
	q    string
	toks []compile.Token // that are code
	rand *rand.Rand
	all  []growth
}

// growths returns ways to make a golden case longer: of parts of the same kind, a random
// one is repeated.
func growths(d *dialect.Dialect, targets map[string]*plans.Target, c *goldenCase, random *rand.Rand) []growth {
	g := &grown{d: d, q: c.in, rand: random}
	for _, tok := range compile.Tokens(d, c.in) {
		if tok.Kind != compile.KindSpace && tok.Kind != compile.KindComment {
			g.toks = append(g.toks, tok)
		}
	}
	if len(g.toks) == 0 {
		return nil
	}
	g.statements(targets)
	g.lists()
	g.ctes()
	g.branches()
	g.brackets()
	g.comments()
	g.spans()
	return g.all
}

func (g *grown) add(name string, text steps.Text) {
	g.all = append(g.all, growth{name, text})
}

func (g *grown) text(i int) string { return g.q[g.toks[i].Start:g.toks[i].End] }

func (g *grown) isWord(i int, word string) bool { return strings.EqualFold(g.text(i), word) }

// statements repeats the statement: as it is, and into a table of its own each.
func (g *grown) statements(targets map[string]*plans.Target) {
	g.add("statements", steps.Text{Unit: g.q + ";\n"})
	for i := range g.toks {
		if targets[g.d.Fold(g.text(i), false)] != nil {
			at := g.toks[i].End
			g.add("tables", steps.Text{Unit: g.q[:at] + steps.Number + g.q[at:] + ";\n"})
			return
		}
	}
}

// pairs returns the pairs of brackets, outermost and from left to right first.
func (g *grown) pairs() (pairs [][2]int) {
	var open []int
	for i := range g.toks {
		switch g.text(i) {
		case "(":
			open = append(open, len(pairs))
			pairs = append(pairs, [2]int{i, -1})
		case ")":
			if len(open) > 0 {
				pairs[open[len(open)-1]][1] = i
				open = open[:len(open)-1]
			}
		}
	}
	closed := pairs[:0]
	for _, p := range pairs {
		if p[1] > 0 {
			closed = append(closed, p)
		}
	}
	return closed
}

// last returns where the last element of a pair of brackets begins.
func (g *grown) last(p [2]int) int {
	depth, begin := 0, p[0]+1
	for i := p[0] + 1; i < p[1]; i++ {
		switch g.text(i) {
		case "(":
			depth++
		case ")":
			depth--
		case ",":
			if depth == 0 {
				begin = i + 1
			}
		}
	}
	return begin
}

// lists repeats a row, a column and its value, and an element of a list.
func (g *grown) lists() {
	pairs := g.pairs()
	if len(pairs) == 0 {
		return
	}
	row := func(p [2]int) steps.Text {
		begin, end := g.toks[p[0]].Start, g.toks[p[1]].End
		return steps.Text{Head: g.q[:end], Unit: ", " + g.q[begin:end], Tail: g.q[end:]}
	}
	one := pairs[g.rand.IntN(len(pairs))]
	g.add("row", row(pairs[len(pairs)-1]))
	g.add("bracketed", row(one))
	element := func(p [2]int, number string) (unit string, end int) {
		end = g.toks[p[1]].Start
		if begin := g.last(p); begin < p[1] {
			first := g.toks[begin].End
			unit = g.q[g.toks[begin].Start:first] + number + g.q[first:end]
		}
		return ", " + unit, end
	}
	unit, end := element(one, steps.Number)
	g.add("element", steps.Text{Head: g.q[:end], Unit: unit, Tail: g.q[end:]})
	for i, p := range pairs[1:] {
		if before := pairs[i]; before[1] < p[0] {
			column, end := element(before, steps.Number)
			value, valueEnd := element(p, "")
			g.add("columns", steps.Text{Head: g.q[:end], Unit: column, Middle: g.q[end:valueEnd], Second: value, Tail: g.q[valueEnd:]})
			break
		}
	}
}

// ctes repeats a definition in front of the text, and one that is the text.
func (g *grown) ctes() {
	g.add("ctes", steps.Text{Head: "WITH ", Unit: "c" + steps.Number + " AS (SELECT 1), ", Tail: "c AS (SELECT 1) " + g.q})
	if goldens.Has("postgres", g.d) {
		g.add("insertsInCtes", steps.Text{Head: "WITH ", Unit: "c" + steps.Number + " AS (" + g.q + "), ", Tail: "c AS (SELECT 1) SELECT 1"})
	}
	if !g.isWord(0, "with") {
		return
	}
	for _, p := range g.pairs() {
		if p[0] > 1 && g.isWord(p[0]-1, "as") {
			name, begin, end := g.toks[1].End, g.toks[1].Start, g.toks[p[1]].End
			if g.isWord(1, "recursive") {
				name, begin = g.toks[2].End, g.toks[2].Start
			}
			g.add("definitions", steps.Text{Head: g.q[:begin], Unit: g.q[begin:name] + steps.Number + g.q[name:end] + ", ", Tail: g.q[begin:]})
			return
		}
	}
}

// branches repeats what follows the last word that begins a branch, for each of them.
func (g *grown) branches() {
	for _, word := range []string{"select", "when", "into", "on", "set", "returning", "output", "values", "from", "union"} {
		for i := len(g.toks) - 1; i > 0; i-- {
			if g.isWord(i, word) {
				begin := g.toks[i].Start
				unit := " " + g.q[begin:]
				if word == "select" {
					unit = " UNION ALL" + unit
				}
				g.add(word, steps.Text{Head: g.q, Unit: unit})
				if word == "into" { // INSERT ALL INTO … SELECT
					end := len(g.q)
					for j := i; j < len(g.toks); j++ {
						if g.isWord(j, "select") {
							end = g.toks[j].Start
						}
					}
					g.add("into before", steps.Text{Head: g.q[:begin], Unit: g.q[begin:end] + " ", Tail: g.q[begin:]})
				}
				break
			}
		}
	}
}

// brackets puts brackets in or around one.
func (g *grown) brackets() {
	if pairs := g.pairs(); len(pairs) > 0 {
		p := pairs[g.rand.IntN(len(pairs))]
		begin, end := g.toks[p[0]].Start, g.toks[p[1]].Start
		g.add("nested", steps.Text{Head: g.q[:begin], Unit: "(", Middle: g.q[begin:end], Second: ")", Tail: g.q[end:]})
		begin, end = g.toks[g.last(p)].Start, g.toks[p[1]].Start
		g.add("element in brackets", steps.Text{Head: g.q[:begin], Unit: "(", Middle: g.q[begin:end], Second: ")", Tail: g.q[end:]})
	}
	i := g.rand.IntN(len(g.toks))
	g.add("opened", steps.Text{Head: g.q[:g.toks[i].Start], Unit: "(", Tail: g.q[g.toks[i].Start:]})
}

// comments puts comments in front of a token.
func (g *grown) comments() {
	at := g.toks[g.rand.IntN(len(g.toks))].Start
	for _, unit := range []string{"/* a */ ", "-- a\n", "/*! a */ ", "/*"} {
		g.add("comments "+unit, steps.Text{Head: g.q[:at], Unit: unit, Tail: g.q[at:]})
	}
}

// spans repeats some tokens as they are, and with a number.
func (g *grown) spans() {
	for range 3 {
		i := g.rand.IntN(len(g.toks))
		j := i + g.rand.IntN(min(len(g.toks)-i, 8))
		begin, end := g.toks[i].Start, g.toks[j].End
		g.add("span", steps.Text{Head: g.q[:end], Unit: " " + g.q[begin:end], Tail: g.q[end:]})
		g.add("numbered span", steps.Text{Head: g.q[:end], Unit: " " + g.q[begin:end] + steps.Number, Tail: g.q[end:]})
	}
}

// TestCompileManyTemporaries: a text that makes twice as many temporary tables is about
// twice the work, in what is allocated and in how often a rule is looked for.
func TestCompileManyTemporaries(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
		work := func(n int) (allocated float64, lookups int) {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "CREATE TEMPORARY TABLE t%d (a int);\n", i)
			}
			b.WriteString("INSERT INTO customers (name) VALUES (1)")
			lookup := customers(d)
			counted := func(schema, table string) *plans.Target {
				lookups++
				return lookup(schema, table)
			}
			compile.Query(d, counted, b.String())
			return testing.AllocsPerRun(1, func() { compile.Query(d, lookup, b.String()) }), lookups
		}
		few, fewLookups := work(2000)
		many, manyLookups := work(4000)
		if many > 2.5*few || manyLookups > 2*fewLookups+10 {
			t.Errorf("%s: 2000 tables are %v allocations and %d lookups, 4000 tables are %v and %d", d.Name, few, fewLookups, many, manyLookups)
		}
	}
}
