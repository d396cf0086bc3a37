package rewrite_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// An INSERT in a value of a row is noted before the one that it stands in; the
// keys of the rows in front of it are not its own. PostgreSQL refuses the text
// for its meaning, so it is no golden case.
func TestPlacesAroundAnotherInsert(t *testing.T) {
	d := dialect.PostgreSQL()
	targets := map[string]*rewrite.Target{}
	for _, text := range []string{"orders key=id:integer", "customers key=id:integer"} {
		target, err := parseTarget(d, text)
		if err != nil {
			t.Fatal(err)
		}
		targets[target.Table] = target
	}
	const query = "INSERT INTO orders (a) VALUES (1), ((WITH c AS (INSERT INTO customers (id) VALUES (7) RETURNING id) SELECT id FROM c)), (2)"
	p := rewrite.Compile(d, func(_, table string) *rewrite.Target { return targets[table] }, query)
	places := p.Places(false)
	if p.Action != rewrite.Fill || len(places) != 3 || len(p.Draws) != 1 {
		t.Fatalf("Compile(%q) is to %s: places %+v, draws %+v", query, p.Action, places, p.Draws)
	}
	for row, place := range places {
		if in := p.Inserts[place.Insert]; in.Target.Table != "orders" || place.Row != row {
			t.Errorf("Places of %q: %+v is of table %q, want row %d of orders", query, place, in.Target.Table, row)
		}
	}
}
