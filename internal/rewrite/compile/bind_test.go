package compile_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// compiled compiles a query with the targets that are given as in the header of
// a golden archive.
func compiled(t *testing.T, d *dialect.Dialect, query string, targets ...string) *plans.Plan {
	t.Helper()
	if len(targets) == 0 {
		targets = []string{"orders key=id:integer fill=missing,null,default,zero"}
	}
	a := &archive{targets: targets}
	return compile.Query(d, a.lookup(t, d), query)
}

// values returns nameless arguments.
func values(vs ...driver.Value) []driver.NamedValue {
	args := make([]driver.NamedValue, len(vs))
	for i, v := range vs {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}

// named returns named arguments from pairs of a name and a value.
func named(pairs ...any) []driver.NamedValue {
	var args []driver.NamedValue
	for i := 0; i < len(pairs); i += 2 {
		args = append(args, driver.NamedValue{Name: pairs[i].(string), Ordinal: i/2 + 1, Value: pairs[i+1]})
	}
	return args
}

// show writes arguments as name=value, the name only where there is one.
func show(args []driver.NamedValue) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		if a.Name != "" {
			fmt.Fprintf(&b, "%s=", a.Name)
		}
		fmt.Fprintf(&b, "%v", a.Value)
	}
	return b.String()
}

// integerKeys returns 1001, 1002 … for the holes.
func integerKeys(p *plans.Plan, h bind.Holes) [][]driver.Value {
	keys := make([][]driver.Value, len(p.Draws))
	n := int64(1000)
	for i, count := range h.Counts {
		for range count {
			n++
			keys[i] = append(keys[i], n)
		}
	}
	return keys
}

func TestBind(t *testing.T) {
	my, pg, lite, ms, ora := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()
	tests := []struct {
		name   string
		d      *dialect.Dialect
		query  string
		args   []driver.NamedValue
		text   string // bound
		bound  string // arguments
		inline string
		own    string // arguments of the inlined text; "" for none
	}{
		{
			"question", my, "INSERT INTO orders (a) VALUES (?), (?) ON DUPLICATE KEY UPDATE a = ?", values("x", "y", "z"),
			"INSERT INTO orders (a, `id`) VALUES (?, ?), (?, ?) ON DUPLICATE KEY UPDATE a = ?", "x, 1001, y, 1002, z",
			"INSERT INTO orders (a, `id`) VALUES (?, 1001), (?, 1002) ON DUPLICATE KEY UPDATE a = ?", "x, y, z",
		},
		{
			"dollar", pg, "INSERT INTO orders (a) VALUES ($2), ($1)", values("x", "y"),
			`INSERT INTO orders (a, "id") VALUES ($2, $3), ($1, $4)`, "x, y, 1001, 1002",
			`INSERT INTO orders (a, "id") VALUES ($2, 1001), ($1, 1002)`, "x, y",
		},
		{
			"at number", ms, "INSERT INTO orders (a) VALUES (@p1)", values("x"),
			"INSERT INTO orders (a, [id]) VALUES (@p1, @p2)", "x, 1001",
			"INSERT INTO orders (a, [id]) VALUES (@p1, 1001)", "x",
		},
		{
			"at name", ms, "INSERT INTO orders (a) VALUES (@a)", named("a", "x"),
			"INSERT INTO orders (a, [id]) VALUES (@a, @kf1)", "a=x, kf1=1001",
			"INSERT INTO orders (a, [id]) VALUES (@a, 1001)", "a=x",
		},
		{
			"colon name in SQLite", lite, "INSERT INTO orders (a) VALUES (:a), (:a)", named("a", "x"),
			`INSERT INTO orders (a, "id") VALUES (:a, :kf1), (:a, :kf2)`, "a=x, kf1=1001, kf2=1002",
			`INSERT INTO orders (a, "id") VALUES (:a, 1001), (:a, 1002)`, "a=x",
		},
		{
			"question number", lite, "INSERT INTO orders (a) VALUES (?2), (?1)", values("x", "y"),
			`INSERT INTO orders (a, "id") VALUES (?2, ?3), (?1, ?4)`, "x, y, 1001, 1002",
			`INSERT INTO orders (a, "id") VALUES (?2, 1001), (?1, 1002)`, "x, y",
		},
		{
			"colon number", ora, "INSERT INTO orders (a) VALUES (:1) RETURNING id INTO :2", values("x", "out"),
			`INSERT INTO orders (a, "ID") VALUES (:1, :3) RETURNING id INTO :2`, "x, 1001, out",
			`INSERT INTO orders (a, "ID") VALUES (:1, 1001) RETURNING id INTO :2`, "x, out",
		},
		{
			"colon names, nameless arguments", ora, "INSERT INTO orders (a) VALUES (:a) RETURNING id INTO :b", values("x", "out"),
			`INSERT INTO orders (a, "ID") VALUES (:a, :kf1) RETURNING id INTO :b`, "x, 1001, out",
			`INSERT INTO orders (a, "ID") VALUES (:a, 1001) RETURNING id INTO :b`, "x, out",
		},
		{
			"colon names, named arguments", ora, "INSERT INTO orders (a) VALUES (:a) RETURNING id INTO :b", named("b", "out", "a", "x"),
			`INSERT INTO orders (a, "ID") VALUES (:a, :kf1) RETURNING id INTO :b`, "b=out, a=x, kf1=1001",
			`INSERT INTO orders (a, "ID") VALUES (:a, 1001) RETURNING id INTO :b`, "b=out, a=x",
		},
		{
			"no arguments", pg, "INSERT INTO orders (a) VALUES ('x')", nil,
			`INSERT INTO orders (a, "id") VALUES ('x', $1)`, "1001",
			`INSERT INTO orders (a, "id") VALUES ('x', 1001)`, "",
		},
		{
			"own placeholder with a key", my, "INSERT INTO orders (id, a) VALUES (?, ?)", values(int64(7), "x"),
			"INSERT INTO orders (id, a) VALUES (?, ?)", "7, x",
			"INSERT INTO orders (id, a) VALUES (?, ?)", "7, x",
		},
		{
			"own placeholder without one", my, "INSERT INTO orders (id, a) VALUES (?, ?)", values(nil, "x"),
			"INSERT INTO orders (id, a) VALUES (?, ?)", "1001, x",
			"INSERT INTO orders (id, a) VALUES (?, ?)", "1001, x",
		},
		{
			"own placeholders of several rows", pg, "INSERT INTO orders (id, a) VALUES ($1, $2), ($3, $4), ($5, $6)", values(int64(7), "x", nil, "y", int64(0), "z"),
			"INSERT INTO orders (id, a) VALUES ($1, $2), ($3, $4), ($5, $6)", "7, x, 1001, y, 1002, z",
			"INSERT INTO orders (id, a) VALUES ($1, $2), ($3, $4), ($5, $6)", "7, x, 1001, y, 1002, z",
		},
		{
			"own placeholders and holes", my, "INSERT INTO orders (id, a) VALUES (?, ?), (NULL, ?), (?, ?)", values(nil, "x", "y", int64(7), "z"),
			"INSERT INTO orders (id, a) VALUES (?, ?), (?, ?), (?, ?)", "1001, x, 1002, y, 7, z",
			"INSERT INTO orders (id, a) VALUES (?, ?), (1002, ?), (?, ?)", "1001, x, y, 7, z",
		},
		{
			"own name", ms, "INSERT INTO orders (id, a) VALUES (@Id, @a)", named("a", "x", "id", nil),
			"INSERT INTO orders (id, a) VALUES (@Id, @a)", "a=x, id=1001",
			"INSERT INTO orders (id, a) VALUES (@Id, @a)", "a=x, id=1001",
		},
		{
			"shared placeholder with a key", pg, "INSERT INTO orders (id, a) VALUES ($1, $1)", values(int64(7)),
			"INSERT INTO orders (id, a) VALUES ($2, $1)", "7, 7",
			"INSERT INTO orders (id, a) VALUES ($1, $1)", "7",
		},
		{
			"shared placeholder without one", pg, "INSERT INTO orders (id, a) VALUES ($1, $1)", values(nil),
			"INSERT INTO orders (id, a) VALUES ($2, $1)", "<nil>, 1001",
			"INSERT INTO orders (id, a) VALUES (1001, $1)", "<nil>",
		},
		{
			"placeholder shared by keys alone", pg, "INSERT INTO orders (id, a) VALUES ($1, 'x'), ($1, 'y')", values(nil),
			"INSERT INTO orders (id, a) VALUES ($1, 'x'), ($2, 'y')", "1001, 1002",
			"INSERT INTO orders (id, a) VALUES ($1, 'x'), (1002, 'y')", "1001",
		},
		{
			"cast", pg, "INSERT INTO orders (id, a) VALUES (CAST($1 AS bigint)::bigint, $2)", values(nil, "x"),
			"INSERT INTO orders (id, a) VALUES (CAST($1 AS bigint)::bigint, $2)", "1001, x",
			"INSERT INTO orders (id, a) VALUES (CAST($1 AS bigint)::bigint, $2)", "1001, x",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := compiled(t, tt.d, tt.query)
			h, err := bind.FindHoles(p, tt.args)
			if err != nil {
				t.Fatalf("Holes(%s) of %q: %v", show(tt.args), tt.query, err)
			}
			keys := integerKeys(p, h)
			if got := bind.Text(p, false); got != tt.text {
				t.Errorf("BoundText of %q = %q, want %q", tt.query, got, tt.text)
			}
			out := bind.Arguments(p, tt.args, h, keys, false)
			if got := show(out); got != tt.bound {
				t.Errorf("Bind(%s) of %q = %s, want %s", show(tt.args), tt.query, got, tt.bound)
			}
			for i, a := range out {
				if a.Ordinal != i+1 {
					t.Errorf("Bind(%s) of %q: argument %d has ordinal %d", show(tt.args), tt.query, i+1, a.Ordinal)
				}
			}
			text, own := bind.Inline(p, tt.args, h, keys, false)
			if text != tt.inline || show(own) != tt.own {
				t.Errorf("Inline(%s) of %q = %q, %s, want %q, %s", show(tt.args), tt.query, text, show(own), tt.inline, tt.own)
			}
		})
	}
}

// The caller's slice is not written to, nor what lies behind it.
func TestBindLeavesArguments(t *testing.T) {
	for _, query := range []string{
		"INSERT INTO orders (a, b) VALUES (?, ?)",
		"INSERT INTO orders (id, a) VALUES (?, ?)",
		"INSERT INTO orders (id, a) VALUES (?, ?), (NULL, 1)",
	} {
		p := compiled(t, dialect.MySQL(), query)
		room := values(nil, "x", "behind", "behind", "behind")
		before := slices.Clone(room)
		args := room[:2]
		h, err := bind.FindHoles(p, args)
		if err != nil {
			t.Fatal(err)
		}
		bind.Arguments(p, args, h, integerKeys(p, h), false)
		bind.Inline(p, args, h, integerKeys(p, h), false)
		if !slices.Equal(room, before) {
			t.Errorf("Bind of %q wrote the caller's arguments: %s, were %s", query, show(room), show(before))
		}
	}
}

// placeholder returns the n-th placeholder of a dialect.
func placeholder(d *dialect.Dialect, n int) string {
	switch {
	case d.Params.Question:
		return "?"
	case d.Params.Dollar:
		return fmt.Sprintf("$%d", n)
	case d.Params.AtNumber:
		return fmt.Sprintf("@p%d", n)
	}
	return fmt.Sprintf(":%d", n)
}

// A statement may have as many arguments as the engine takes, not one more.
func TestTooMany(t *testing.T) {
	for _, d := range dialect.All() {
		for _, over := range []int{-1, 0, 1} {
			callers := d.Params.Max - 1 + over
			var columns, row []string
			for i := range callers {
				columns = append(columns, fmt.Sprintf("c%d", i))
				row = append(row, placeholder(d, i+1))
			}
			query := fmt.Sprintf("INSERT INTO orders (%s) VALUES (%s)", strings.Join(columns, ", "), strings.Join(row, ", "))
			p := compiled(t, d, query)
			if p.Action != plans.Fill || p.Placeholders() != callers || bind.Added(p, false) != 1 {
				t.Fatalf("%s: with %d arguments the plan is to %s, %d placeholders and %d more", d.Name, callers, p.Action, p.Placeholders(), bind.Added(p, false))
			}
			if got := p.TooMany(); got != (over > 0) {
				t.Errorf("%s: TooMany with %d arguments and a key = %v", d.Name, callers, got)
			}
		}
	}
}

// A number that no engine takes does not overflow.
func TestHugeNumbers(t *testing.T) {
	for _, n := range []string{"2147483648", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 400)} {
		for _, q := range []string{"INSERT INTO orders (a) VALUES ($" + n + ")", "INSERT INTO orders (id) VALUES ($" + n + ")"} {
			p := compiled(t, dialect.PostgreSQL(), q)
			if !p.TooMany() {
				t.Errorf("TooMany of %q = false", q)
			}
			if _, err := bind.FindHoles(p, values("x")); !errors.Is(err, rewrite.ErrArguments) {
				t.Errorf("Holes of %q = %v", q, err)
			}
		}
	}
}

// Places are where Bind puts the keys, for every golden case.
func TestPlaces(t *testing.T) {
	checked := 0
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				p := compile.Query(d, a.lookup(t, d), c.in)
				if p.Action != plans.Fill {
					continue
				}
				args := fuzzArgs(d, c.in, []byte{2}, false)
				h, err := bind.FindHoles(p, args)
				if err != nil {
					args = fuzzArgs(d, c.in, []byte{2}, true)
					if h, err = bind.FindHoles(p, args); err != nil {
						continue
					}
				}
				keys := testKeys(p, h)
				out := bind.Arguments(p, args, h, keys, false)
				used := make([]int, len(p.Draws))
				for _, place := range bind.Places(p, false) {
					draw := slices.Index(p.Draws, plans.Draw{Insert: place.Insert, Key: place.Key})
					want := keys[draw][used[draw]]
					used[draw]++
					if got := out[place.Arg-1].Value; fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s: argument %d of %q is %v, want %v", d.Name, place.Arg, c.in, got, want)
					}
					checked++
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d places were checked", checked)
	}
}

// Final says where a caller's argument travels.
func TestFinal(t *testing.T) {
	for _, tt := range []struct {
		d     *dialect.Dialect
		query string
		want  []int
	}{
		{dialect.MySQL(), "INSERT INTO orders (a) VALUES (?), (?) ON DUPLICATE KEY UPDATE a = ?", []int{0, 2, 4}},
		{dialect.MySQL(), "INSERT INTO orders (id, a) VALUES (NULL, ?), (?, ?)", []int{1, 2, 3}},
		{dialect.PostgreSQL(), "INSERT INTO orders (a) VALUES ($1), ($2) RETURNING $3", []int{0, 1, 2}},
		{dialect.Oracle(), "INSERT INTO orders (a) VALUES (:1) RETURNING id INTO :2", []int{0, 2}},
	} {
		p := compiled(t, tt.d, tt.query)
		for i, want := range tt.want {
			if got := bind.FinalIndex(p, i, false); got != want {
				t.Errorf("%s: Final(%d) of %q = %d, want %d", tt.d.Name, i, tt.query, got, want)
			}
		}
	}
}

func TestPlanConcurrent(t *testing.T) {
	p := compiled(t, dialect.MySQL(), "INSERT INTO orders (id, a) VALUES (?, ?), (NULL, ?)")
	args := values(nil, "x", "y")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				h, err := bind.FindHoles(p, args)
				if err != nil {
					t.Error(err)
					return
				}
				bind.Text(p, false)
				bind.Text(p, true)
				p.Reads()
				bind.Arguments(p, args, h, integerKeys(p, h), false)
				bind.Inline(p, args, h, integerKeys(p, h), false)
				bind.Places(p, false)
			}
		})
	}
	wg.Wait()
}
