package approaches_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/bench/approaches"
	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/testdb"
)

// run is which cells are measured, and for how long.
type run struct {
	measures    bool // false: only what does not depend on a clock is of interest
	time        time.Duration
	connections []int
	engines     []approaches.Engine
	forms       []approaches.Form
	methods     []measure.Method
}

// newRun returns what the environment asks for; without KEYFILL_APPROACHES=1 all
// methods for a moment.
func newRun(t *testing.T) run {
	r := run{time: 50 * time.Millisecond, connections: []int{4}}
	if r.measures = os.Getenv("KEYFILL_APPROACHES") == "1"; r.measures {
		r.time, r.connections = 2*time.Second, []int{1, 2, 4, 8, 16}
	}
	var err error
	if text := os.Getenv("KEYFILL_APPROACHES_TIME"); text != "" {
		if r.time, err = time.ParseDuration(text); err != nil || r.time <= 0 {
			t.Fatalf("KEYFILL_APPROACHES_TIME is a time like 2s, not %q", text)
		}
	}
	if text := os.Getenv("KEYFILL_APPROACHES_CONNECTIONS"); text != "" {
		r.connections = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || n < 1 {
				t.Fatalf("KEYFILL_APPROACHES_CONNECTIONS is numbers like 1,2,4, not %q", text)
			}
			r.connections = append(r.connections, n)
		}
		slices.Sort(r.connections)
		r.connections = slices.Compact(r.connections)
	}
	r.engines = choose(t, "ENGINES", approaches.Engines(), func(e approaches.Engine) string { return e.Name })
	r.forms = choose(t, "FORMS", approaches.Forms(), func(f approaches.Form) string { return f.Name })
	if !r.measures {
		// The durable ones differ in the server's settings alone: one is enough.
		r.forms = slices.DeleteFunc(r.forms, func(f approaches.Form) bool { return f.Durable && f.Held > 0 })
	}
	r.methods = choose(t, "METHODS", measure.Methods(), func(m measure.Method) string { return m.Name })
	return r
}

// choose returns the members of all whose names KEYFILL_APPROACHES_<variable> lists;
// unset it is all of them.
func choose[V any](t *testing.T, variable string, all []V, name func(V) string) []V {
	t.Helper()
	variable = "KEYFILL_APPROACHES_" + variable
	text := os.Getenv(variable)
	if text == "" {
		return all
	}
	var chosen []V
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		i := slices.IndexFunc(all, func(v V) bool { return name(v) == part })
		if i < 0 {
			var names []string
			for _, v := range all {
				names = append(names, name(v))
			}
			t.Fatalf("%s: there is no %q, only %s", variable, part, strings.Join(names, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// TestApproaches measures all cells and prints a table for each engine and form.
// Without KEYFILL_APPROACHES=1 the cells last for a moment, and nothing is printed:
// no key comes twice, and every method stores rows.
func TestApproaches(t *testing.T) {
	r := newRun(t)
	if r.measures {
		where, err := machine.Describe()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s; %v a cell\n", where, r.time)
	}
	for _, e := range r.engines {
		t.Run(e.Name, func(t *testing.T) {
			for _, durable := range []bool{true, false} {
				r.sameServer(t, e, durable)
			}
		})
	}
}

// sameServer measures the forms that a server with or without durable commits is
// for.
func (r run) sameServer(t *testing.T, e approaches.Engine, durable bool) {
	forms := slices.DeleteFunc(slices.Clone(r.forms), func(f approaches.Form) bool { return f.Durable != durable })
	if len(forms) == 0 {
		return
	}
	start := map[string]func() *testdb.Engine{"mariadb": testdb.MariaDB, "postgresql": testdb.PostgreSQL}[e.Name]()
	if durable {
		start = start.Durable()
	}
	server := testdb.Start(t, start)
	dsn := server.DSN(server.Database(t, e.Driver))
	for i, f := range forms {
		t.Run(f.Name, func(t *testing.T) {
			version, err := e.Describe(t.Context(), dsn, f)
			if err != nil {
				t.Fatal(err)
			}
			table := &approaches.Table{Heading: version + ", " + f.Title, Connections: r.connections}
			for j, m := range r.methods {
				r.measure(t, table, dsn, approaches.Cell{
					Engine: e, Form: f, Method: m, Time: r.time, Table: fmt.Sprintf("t%d_%d", i, j),
				})
			}
			if r.measures {
				if err := table.Print(os.Stdout); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// measure adds the line of a method to the table.
func (r run) measure(t *testing.T, table *approaches.Table, dsn string, c approaches.Cell) {
	var results []approaches.Result
	name := c.Table
	t.Run(c.Method.Name, func(t *testing.T) {
		for _, n := range r.connections {
			c.Connections = n
			c.Table = fmt.Sprintf("%s_%d", name, n)
			// A cell ends soon after its time; this is for one that hangs.
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.Time+time.Minute)
			result, err := c.Run(ctx, dsn)
			cancel()
			switch {
			case err != nil:
				t.Errorf("%d connections: %v", n, err)
			case result.Stored < int64(n):
				t.Errorf("%d connections: %d rows are stored, want one of each at least", n, result.Stored)
			}
			t.Logf("%d connections: %.0f rows a second, %v by the engine, %d refused, all in %v",
				n, result.Rate, result.Ends, result.Refused, time.Since(begin).Round(time.Millisecond))
			results = append(results, result)
		}
	})
	if len(results) == len(r.connections) {
		table.Add(c.Method, results) // not where -run has left it out
	}
}
