package compile_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// TestSetRow: the plan of a row of VALUES that is a set says so, with the name of its
// table, and names the columns whose value is a row constructor without a type.
func TestSetRow(t *testing.T) {
	target := &plans.Target{Table: "t", Columns: []string{"id", "a", "C"},
		Keys: []plans.Key{{Column: "id", Counted: true, Integer: true, Fill: plans.FillMissing}}}
	for _, c := range []struct {
		query       string
		set         bool
		constructed []string
	}{
		{"INSERT INTO t (a) VALUES (unnest($1))", true, nil},
		{"INSERT INTO t (a, c) VALUES (unnest($1), ROW(1, 'x'))", true, []string{"c"}},
		{"INSERT INTO t (a, C) VALUES (unnest($1), (1, 'x'))", true, []string{"c"}},
		{`INSERT INTO t AS n ("C", "(", "a,b") VALUES (ROW(), unnest($1), (((ROW(1)))))`, true, []string{"C", "a,b"}},
		{"INSERT INTO t (a, c.n[2]) VALUES (unnest($1), (1, 'x'))", true, []string{"c"}},
		{"INSERT INTO t (a, c) VALUES (unnest($1), ROW(1, 'x')::pair)", true, nil},
		{"INSERT INTO t (a, c) VALUES (unnest($1), (1))", true, nil},
		{"INSERT INTO t (a, c) VALUES (unnest($1), (SELECT 1, 'x'))", true, nil},
		{"INSERT INTO t (a, c) VALUES (unnest($1), (1, 'x') = (1, 'x'))", true, nil},
		{"INSERT INTO t (a, c) SELECT a, ROW(1, 'x') FROM s", false, nil},
	} {
		pl := compile.Query(dialect.PostgreSQL(), func(_, name string) *plans.Target {
			if name == "t" {
				return target
			}
			return nil
		}, c.query)
		if pl.Action != plans.Fill || pl.Inserts[0].Query == nil {
			t.Errorf("%s: %v %v", c.query, pl.Action, pl.Refusal)
			continue
		}
		q := pl.Inserts[0].Query
		if q.SetRow != c.set || !slices.Equal(q.Constructed, c.constructed) || q.Table != (plans.TableName{Table: "t", Text: "t"}) {
			t.Errorf("%s: a set %v, constructed %q, table %q, want %v, %q, t", c.query, q.SetRow, q.Constructed, q.Table, c.set, c.constructed)
		}
	}
	q := `INSERT INTO "S" . t (a) VALUES (unnest($1))`
	pl := compile.Query(dialect.PostgreSQL(), func(string, string) *plans.Target { return target }, q)
	if got, want := pl.Inserts[0].Query.Table, (plans.TableName{Schema: "S", Table: "t", Text: `"S" . t`}); got != want {
		t.Errorf("%s: table %q, want %q", q, got, want)
	}
	// Without a column list the columns are those of the table.
	target.Keys[0].Fill = plans.FillMissing
	target.Columns = []string{"a", "C"}
	pl = compile.Query(dialect.PostgreSQL(), func(string, string) *plans.Target { return target }, "INSERT INTO t VALUES (unnest($1), ROW(1, 2))")
	if pl.Action != plans.Fill || !slices.Equal(pl.Inserts[0].Query.Constructed, []string{"C"}) {
		t.Errorf("no column list: %v %v", pl.Action, pl.Refusal)
	}
}
