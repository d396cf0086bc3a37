package compile_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// An INSERT in a value of a row is noted before the one that it stands in; the
// keys of the rows before it are not its own. PostgreSQL refuses the text
// for its meaning, so it is no golden case.
func TestPlacesAroundAnotherInsert(t *testing.T) {
	d := dialect.PostgreSQL()
	targets := map[string]*plans.Target{}
	for _, text := range []string{"orders key=id:integer", "customers key=id:integer"} {
		target, err := parseTarget(d, text)
		if err != nil {
			t.Fatal(err)
		}
		targets[target.Table] = target
	}
	const query = "INSERT INTO orders (a) VALUES (1), ((WITH c AS (INSERT INTO customers (id) VALUES (7) RETURNING id) SELECT id FROM c)), (2)"
	p := compile.Query(d, func(_, table string) *plans.Target { return targets[table] }, query)
	places := bind.Places(p, false)
	if p.Action != plans.Fill || len(places) != 3 || len(p.Draws) != 1 {
		t.Fatalf("Compile(%q) is to %s: places %+v, draws %+v", query, p.Action, places, p.Draws)
	}
	for row, place := range places {
		if in := p.Inserts[place.Insert]; in.Target.Table != "orders" || place.Row != row {
			t.Errorf("Places of %q: %+v is of table %q, want row %d of orders", query, place, in.Target.Table, row)
		}
	}
}

// An INSERT in the brackets of a row constructor has no table that is looked up: the value
// is read without one, to find out whether it is a set.
func TestInsertInRowConstructor(t *testing.T) {
	d := dialect.PostgreSQL()
	target, err := parseTarget(d, "orders key=id:integer")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"INSERT INTO orders (a, b) VALUES ((f(INSERT INTO orders)), 1)",
		"INSERT INTO orders (a, b) VALUES (ROW(f(INSERT INTO customers (a) VALUES (1)), 2), 1)",
	} {
		p := compile.Query(d, func(_, table string) *plans.Target {
			if table == target.Table {
				return target
			}
			return nil
		}, query)
		if want := strings.Contains(query, "INTO orders)"); (p.Action == plans.Refuse) != want {
			t.Errorf("Compile(%q) is to %s, want it refused: %v", query, p.Action, want)
		}
	}
}
