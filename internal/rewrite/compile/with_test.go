package compile_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// unreferenced are WITH clauses that no statement refers to, with the dialects that have
// them. Each holds words that would decide something in the INSERT's own query.
var unreferenced = []struct{ clause, on string }{
	{"WITH w_1 AS (SELECT 1 AS a UNION SELECT 2)", "postgres sqlite sqlserver"},
	{"WITH w_1 (a) AS (SELECT 'x' FROM w_2 GROUP BY ROLLUP (b) ORDER BY 1 LIMIT 1 OFFSET 2)", "postgres"},
	{"WITH w_1 (a) AS (SELECT 'x' FROM w_2 EXCEPT SELECT 'y' ORDER BY 1 LIMIT 1 OFFSET 2)", "sqlite"},
	{"WITH w_1 (a) AS ((SELECT DISTINCT 'x' FROM w_2) INTERSECT (SELECT 'y')), w_3 AS (SELECT 1 AS a)", "postgres sqlserver"},
	{"WITH w_1 AS (INSERT INTO w_2 VALUES (1))", "postgres"},
	{"WITH w_1 AS (INSERT INTO w_2 SELECT 1 UNION ALL SELECT 2 RETURNING a), w_3 AS (DELETE FROM w_4)", "postgres"},
}

// TestUnreferencedWith: a WITH clause in front that nothing refers to changes neither
// what becomes of an INSERT nor how its text changes, in any golden case.
func TestUnreferencedWith(t *testing.T) {
	cases := 0
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				if !wordplaces.IsInsert(d, c.in) {
					continue
				}
				for _, w := range unreferenced {
					if goldens.Has(w.on, d) {
						cases++
						compareWith(t, d, a.lookup(t, d), filepath.Base(a.path)+" "+c.name, w.clause, c.in)
					}
				}
			}
		}
	}
	if cases < 1000 {
		t.Errorf("only %d cases", cases)
	}
}

// compareWith compares the plans of a text without and behind a WITH clause.
func compareWith(t *testing.T, d *dialect.Dialect, lookup plans.Lookup, name, clause, in string) {
	t.Helper()
	plain, behind := compile.Query(d, lookup, in), compile.Query(d, lookup, clause+" "+in)
	if plain.Action != behind.Action || plain.AtExecution != behind.AtExecution {
		t.Errorf("%s: %s behind %q: %v, want %v", name, in, clause, behind.Action, plain.Action)
		return
	}
	if plain.Action == plans.Refuse {
		if got, want := behind.Refusal.Reason, plain.Refusal.Reason; got != want {
			t.Errorf("%s: %s behind %q: %q, want %q", name, in, clause, got, want)
		}
		return
	}
	want := clause + " " + bind.Text(plain, false)
	if at := strings.Index(bind.Text(plain, false), "WITH kf"); d.Numbering.First && at >= 0 {
		// The definition of the query joins the clause.
		text := bind.Text(plain, false)
		want = clause + ", " + text[:at] + text[at+len("WITH "):]
	}
	if got := bind.Text(behind, false); got != want {
		t.Errorf("%s: %s behind %q:\ngot  %s\nwant %s", name, in, clause, got, want)
	}
	if !slices.Equal(compile.SlotsOf(plain), compile.SlotsOf(behind)) {
		t.Errorf("%s: %s behind %q: slots %v, want %v", name, in, clause, compile.SlotsOf(behind), compile.SlotsOf(plain))
	}
}
