package compile_test

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// checkLoad checks that the text of a bulk load has its keys' columns more and
// nothing else, and that nothing is left to do in it.
func checkLoad(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string) {
	t.Helper()
	checkPlaces(t, d, p, query)
	out := bind.Text(p, false)
	again := compile.Query(d, fuzzLookup(d), out)
	if again.Action != plans.Keep || bind.Text(again, false) != out {
		t.Fatalf("%s: Compile(%q) = %q, which again is to %s, %q (%v)", d.Name, query, out, again.Action, bind.Text(again, false), again.Refusal)
	}
	if !p.Inserts[0].Name.Bulk {
		checkEdits(t, d, p, query)
		return
	}
	const word = len("INSERTBULK ")
	if out[:word] != query[:word] {
		t.Fatalf("%s: Compile(%q) = %q begins otherwise", d.Name, query, out)
	}
	type object struct {
		TableName   string
		ColumnsName []string
		Options     any
	}
	var from, to object
	if err := errors.Join(json.Unmarshal([]byte(query[word:]), &from), json.Unmarshal([]byte(out[word:]), &to)); err != nil {
		t.Fatalf("%s: Compile(%q) = %q: %v", d.Name, query, out, err)
	}
	n := len(from.ColumnsName)
	if len(to.ColumnsName) != n+bind.Added(p, false) || !slices.Equal(from.ColumnsName, to.ColumnsName[:n]) {
		t.Fatalf("%s: Compile(%q) = %q: the columns are %q", d.Name, query, out, to.ColumnsName)
	}
	for _, place := range bind.Places(p, false) {
		k := p.Inserts[0].Target.Keys[place.Key].Column
		if got := to.ColumnsName[place.Arg-1]; d.Fold(got, true) != k {
			t.Fatalf("%s: Compile(%q) = %q: argument %d is of %q, want %q", d.Name, query, out, place.Arg, got, k)
		}
	}
	if from.ColumnsName, to.ColumnsName = nil, nil; !reflect.DeepEqual(from, to) {
		t.Fatalf("%s: Compile(%q) = %q is of %+v, want %+v", d.Name, query, out, to, from)
	}
}

// loads are bulk loads, of columns a and b unless they say otherwise.
var loads = []struct {
	name, query string
	d           *dialect.Dialect
	args        []driver.Value
	want        []driver.Value // nil: ErrArguments
	text        string         // "" where it is the query
}{
	{"missing", "COPY orders (a, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{"x", nil}, []driver.Value{"x", nil, int64(1001)}, `COPY orders (a, b, "id") FROM STDIN`},
	{"missing and a value short", "COPY orders (a, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{"x"}, nil, `COPY orders (a, b, "id") FROM STDIN`},
	{"missing and a value too many", "COPY orders (a, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{"x", "y", int64(7)}, nil, `COPY orders (a, b, "id") FROM STDIN`},
	{"listed and NULL", "COPY orders (a, id, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{"x", nil, "y"}, []driver.Value{"x", int64(1001), "y"}, ""},
	{"listed and zero", "COPY orders (id, a, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{int64(0), "x", "y"}, []driver.Value{int64(1001), "x", "y"}, ""},
	{"listed and a key", "COPY orders (a, id, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{nil, int64(7), nil}, []driver.Value{nil, int64(7), nil}, ""},
	{"listed and a value short", "COPY orders (a, id, b) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{nil, nil}, nil, ""},
	{"one of two keys listed", "COPY parts (id, item) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{nil, "x"}, []driver.Value{"01900000-0000-7000-8000-000000000001", "x", int64(1002)}, `COPY parts (id, item, "line_no") FROM STDIN`},
	{"two keys listed out of order", "COPY parts (id, item, line_no) FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{nil, "x", nil}, []driver.Value{"01900000-0000-7000-8000-000000000002", "x", int64(1001)}, ""},
	{"no list", "COPY receipts FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{nil, "x", "y", "z"}, []driver.Value{int64(1001), "x", "y", "z"}, `COPY receipts ("id", "customer", "total", "note") FROM STDIN`},
	{"no list and fewer values", "COPY receipts FROM STDIN", dialect.PostgreSQL(),
		[]driver.Value{nil, "x", "y"}, nil, `COPY receipts ("id", "customer", "total", "note") FROM STDIN`},
	{"bulk", `INSERTBULK {"TableName":"orders","ColumnsName":["a","b"]}`, dialect.SQLServer(),
		[]driver.Value{"x", nil}, []driver.Value{"x", nil, int64(1001)}, `INSERTBULK {"TableName":"orders","ColumnsName":["a","b","id"]}`},
	{"bulk, listed and NULL", `INSERTBULK {"TableName":"orders","ColumnsName":["a","ID"]}`, dialect.SQLServer(),
		[]driver.Value{"x", nil}, []driver.Value{"x", int64(1001)}, ""},
}

// TestLoad: a row's keys stand where their columns are in the text, and the
// caller's values where they were.
func TestLoad(t *testing.T) {
	for _, tt := range loads {
		t.Run(tt.name, func(t *testing.T) {
			p := compile.Query(tt.d, fuzzLookup(tt.d), tt.query)
			if !p.Load || p.TooMany() || !p.Alone() {
				t.Fatalf("Compile(%q): load %v, too many %v, alone %v", tt.query, p.Load, p.TooMany(), p.Alone())
			}
			text := tt.text
			if text == "" {
				text = tt.query
			}
			if got := bind.Text(p, false); got != text {
				t.Errorf("BoundText = %q, want %q", got, text)
			}
			var args []driver.NamedValue
			for i, v := range tt.args {
				args = append(args, driver.NamedValue{Ordinal: i + 1, Value: v})
			}
			before := slices.Clone(args)
			h, err := bind.FindHoles(p, args)
			if tt.want == nil {
				if !errors.Is(err, rewrite.ErrArguments) {
					t.Errorf("Holes: error %v, want %v", err, rewrite.ErrArguments)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []driver.Value
			for i, a := range bind.Arguments(p, args, h, testKeys(p, h), false) {
				if a.Ordinal != i+1 || a.Name != "" {
					t.Errorf("argument %d is %+v", i+1, a)
				}
				got = append(got, a.Value)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Bind = %v, want %v", got, tt.want)
			}
			if !slices.Equal(args, before) {
				t.Errorf("the caller's arguments are %v, were %v", args, before)
			}
			for i := range args {
				if got := bind.FinalIndex(p, i, false); got != i {
					t.Errorf("Final(%d) = %d", i, got)
				}
			}
		})
	}
}

// TestLoadBulkTable: the name of the table in SQL, and the spelling of columns
// as the table has them.
func TestLoadBulkTable(t *testing.T) {
	d := dialect.SQLServer()
	target := &plans.Target{Table: "orders", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}, Columns: []string{"Name", "ID"}}
	for name, want := range map[string]string{
		"orders":                 "[orders]",
		"Shop..Orders":           "[Shop]..[Orders]",
		`[d]]b].dbo."or""ders"`:  `[d]]b].[dbo].[or"ders]`,
		` [dbo] . orders `:       "[dbo].[orders]",
		"[a.b].orders":           "[a.b].[orders]",
		"sch[ema.orders":         "[sch[ema].[orders]",
		"server.db.[dbo].orders": "[server].[db].[dbo].[orders]",
	} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		p := compile.Query(d, func(_, table string) *plans.Target {
			if table == "orders" || table == `or"ders` {
				return target
			}
			return nil
		}, `INSERTBULK {"TableName":`+string(text)+`,"ColumnsName":["Name"]}`)
		if p.Action != plans.Fill || p.Inserts[0].Name.TableText != want {
			t.Errorf("%s: %s, %+v; want %s", name, p.Action, p.Inserts, want)
		} else if out := `INSERTBULK {"TableName":` + string(text) + `,"ColumnsName":["Name","ID"]}`; bind.Text(p, false) != out {
			t.Errorf("%s: %s, want %s", name, bind.Text(p, false), out)
		}
	}
}
