package compile_test

import (
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// TestIdempotence compiles the filled texts of the golden cases again: with
// bound keys nothing is left but to look at the arguments, and there is nothing
// to fill in those that were bound; with literal keys the statement is kept. It
// holds whatever fill says, since a key that was filled is none of the things
// that count as "no key".
//
// The bound text of a plan that is Unbound is nobody's to send.
func TestIdempotence(t *testing.T) {
	again := 0
	for _, a := range archives(t) {
		topic := strings.TrimSuffix(filepath.Base(a.path), ".txtar")
		for _, c := range a.cases {
			for _, d := range c.dialects {
				lookup := a.lookup(t, d)
				p := compile.Query(d, lookup, c.in)
				if p.Action != plans.Fill && !p.AtExecution {
					continue
				}
				again++
				t.Run(topic+"/"+c.name+"/"+d.Name, func(t *testing.T) { checkIdempotence(t, lookup, p, c.in) })
			}
		}
	}
	t.Logf("%d plans", again)
}

// TestIdempotenceGenerated is the same for INSERTs of all kinds of parts.
func TestIdempotenceGenerated(t *testing.T) {
	const each = 500 // texts a dialect
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(1, 2)), d, 0}
			lookup, again := fuzzLookup(d), 0
			for range each {
				query := g.insert()
				p := compile.Query(d, lookup, query)
				if p.Action == plans.Refuse {
					t.Errorf("Compile(%q) refuses: %v", query, p.Refusal)
				}
				if p.Action != plans.Fill && !p.AtExecution {
					continue
				}
				again++
				checkIdempotence(t, lookup, p, query)
			}
			if again < each/2 {
				t.Errorf("only %d of %d texts are filled", again, each)
			}
		})
	}
}

// checkIdempotence checks that nothing is left to fill in what a plan sends.
func checkIdempotence(t *testing.T, lookup plans.Lookup, p *plans.Plan, query string) {
	t.Helper()
	d := p.Dialect
	for _, session := range []bool{false, true} {
		if p.Unbound() != "" || session && !p.Session {
			continue
		}
		text := bind.Text(p, session)
		again := compile.Query(d, lookup, text)
		if again.Action != plans.Keep || bind.Text(again, false) != text {
			t.Errorf("%s: Compile(%q) = %q, which again is to %s, %q (%v)", d.Name, query, text, again.Action, bind.Text(again, false), again.Refusal)
		}
		if !again.AtExecution && !session && !unseen(p, query) {
			t.Errorf("%s: Compile(%q) = %q, which again is not decided at execution", d.Name, query, text)
		}
		for _, value := range []driver.Value{nil, "7"} {
			checkBoundAgain(t, p, again, query, value, session)
		}
	}
	if p.Load {
		return // the rows of a bulk load are arguments
	}
	h := bind.AssumedHoles(p)
	text := bind.InlineAssumed(p, h, testKeys(p, h), false)
	again := compile.Query(d, lookup, text)
	if again.Action != plans.Keep || again.AtExecution && !p.AtExecution {
		t.Errorf("%s: Compile(%q) with literals = %q, which again is to %s, at execution: %v (%v)", d.Name, query, text, again.Action, again.AtExecution, again.Refusal)
	}
}

// unseen reports whether a bound key of a plan is kept without a look at its
// value: where neither NULL nor zero counts as "no key", and where the key comes
// as a column of rows that a query or MERGE gives, or in CASE.
func unseen(p *plans.Plan, query string) bool {
	if strings.Contains(strings.ToLower(query), "merge") || slices.ContainsFunc(bind.Places(p, false), func(place bind.Place) bool { return compile.InCase(p, place) }) {
		return true
	}
	return slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool {
		return in.Query != nil || in.Selects || slices.ContainsFunc(in.Target.Keys, func(k plans.Key) bool {
			return k.Fill&(plans.FillNull|plans.FillZero) == 0
		})
	})
}

// checkBoundAgain binds keys to arguments that are all value and asks the plan of
// the filled text what is left to fill.
func checkBoundAgain(t *testing.T, p, again *plans.Plan, query string, value driver.Value, session bool) {
	t.Helper()
	args := make([]driver.NamedValue, p.Placeholders())
	for i := range args {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
	}
	h, err := bind.FindHoles(p, args)
	if err != nil {
		return // they go by name
	}
	if session && !h.Any() {
		return // it has the other text
	}
	bound := bind.Arguments(p, args, h, testKeys(p, h), session)
	if !again.AtExecution {
		return
	}
	left, err := bind.FindHoles(again, bound)
	if err != nil {
		t.Errorf("%s: %q with the arguments of its second run: %v", p.Dialect.Name, query, err)
		return
	}
	if left.Any() {
		t.Errorf("%s: %q, bound to %v, takes keys again: %v", p.Dialect.Name, query, value, left.Counts)
	}
}

// generator writes INSERTs that are filled or kept.
type generator struct {
	*rand.Rand
	d      *dialect.Dialect
	params int
}

// pick returns one of some texts.
func (g *generator) pick(texts ...string) string { return texts[g.IntN(len(texts))] }

// placeholder returns the dialect's next one.
func (g *generator) placeholder() string {
	g.params++
	switch p := &g.d.Params; {
	case p.Question:
		return "?"
	case p.Dollar:
		return fmt.Sprintf("$%d", g.params)
	case p.AtNumber:
		return fmt.Sprintf("@p%d", g.params)
	}
	return fmt.Sprintf(":%d", g.params)
}

// insert returns an INSERT into orders, whose key is an integer that is filled
// where it is zero, or into customers, whose key is not.
func (g *generator) insert() string {
	g.params = 0
	table := g.pick("orders", "customers")
	columns := []string{"name", "email", "note"}[:1+g.IntN(3)]
	key := g.IntN(2*len(columns)+1) - len(columns) // negative: not listed
	if key >= 0 {
		columns = slices.Insert(slices.Clone(columns), key, g.pick("id", g.d.QuoteIdent(g.d.Fold("id", false))))
	}
	var rows []string
	for range g.rows() {
		var values []string
		for i := range columns {
			if i == key {
				values = append(values, g.key(table))
				continue
			}
			values = append(values, g.pick(g.value(), "'x'", "1", "NULL", "(1 + 2)", "'a), ('"))
		}
		rows = append(rows, "("+strings.Join(values, g.pick(",", ", ", " /* , */ , "))+")")
	}
	return g.pick("INSERT INTO ", "insert  into ", "INSERT /* INTO x */ INTO\n") + g.pick(table, g.d.QuoteIdent(g.d.Fold(table, false))) +
		g.pick(" ", "\t-- (\n") + "(" + strings.Join(columns, ", ") + ")" + g.pick(" ", "\n") + "VALUES " + strings.Join(rows, g.pick(", ", ",\n")) + g.tail()
}

// rows returns how many rows a statement has.
func (g *generator) rows() int { return 1 + g.IntN(3) }

// value is a placeholder, drawn where it is used: pick draws all of its texts.
func (g *generator) value() string {
	if g.IntN(2) == 0 {
		return "'y'"
	}
	return g.placeholder()
}

// key returns what stands in the key's place.
func (g *generator) key(table string) string {
	switch g.IntN(8) {
	case 0, 1:
		return "NULL"
	case 2, 3:
		return g.placeholder()
	case 4:
		return "CAST(" + g.placeholder() + " AS char(36))"
	case 5:
		if g.d.Name != "sqlite" { // which has no such word
			return "DEFAULT"
		}
		return "(NULL)"
	case 6:
		if table == "orders" {
			return g.pick("0", "17")
		}
		return "'0190163d-8694-7397-9a39-a5b8a1b4b2a0'"
	}
	return "lower('a')"
}

// tail returns a clause of the dialect behind the rows.
func (g *generator) tail() string {
	switch goldens.Of(g.d) {
	case "mysql", "mariadb":
		return g.pick("", ";", " ON DUPLICATE KEY UPDATE note = "+g.value())
	case "postgres", "sqlite":
		return g.pick("", ";", " RETURNING id", " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET note = "+g.value()+" RETURNING *")
	}
	return g.pick("", ";")
}
