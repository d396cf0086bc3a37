package compile_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// TestRefusedBeside: an INSERT after a refused one is found, so that a text is
// sent unfilled only where the policies of both tables allow it.
func TestRefusedBeside(t *testing.T) {
	t.Parallel()
	targets := map[string]*plans.Target{
		"a": {Table: "a", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing | plans.FillNull, Integer: true, Counted: true}}},
		"b": {Table: "b", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing, Integer: true, Counted: true}}},
	}
	lookup := func(_, name string) *plans.Target { return targets[name] }
	for _, c := range []struct {
		d       *dialect.Dialect
		refused string
		reason  rewrite.Reason
	}{
		{dialect.PostgreSQL(), "INSERT INTO a (x) OVERRIDING USER VALUE VALUES (1)", rewrite.ErrUserValue},
		{dialect.SQLite(), "INSERT INTO a (rowid, x) VALUES (1, 1)", rewrite.ErrRowID},
		{dialect.MySQL(), "INSERT INTO a (x) SELECT y FROM (SELECT y/3 AS y FROM z) v", rewrite.ErrSelectValues},
	} {
		p := compile.Query(c.d, lookup, c.refused+"; INSERT INTO b (x) VALUES (1)")
		if p.Action != plans.Refuse || p.Refusal.Reason != c.reason || len(p.Refusal.Others) != 1 || p.Refusal.Others[0] != targets["b"] {
			t.Errorf("%s: %v, %+v: want the reason %s, and the table b beside", c.refused, p.Action, p.Refusal, string(c.reason))
		}
	}
}
