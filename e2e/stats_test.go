package e2e_test

import (
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestStatsCountOnce asks that each execution is counted once, also where the
// driver answers driver.ErrSkip and database/sql comes back with a prepared
// statement.
func TestStatsCountOnce(t *testing.T) {
	const (
		fill   = "INSERT INTO people (name) VALUES (?)"
		keep   = "INSERT INTO people (id, name) VALUES ('k', ?)"
		pass   = "INSERT INTO others (name) VALUES (?)"
		refuse = "INSERT INTO people (name) SELECT ? FROM others WHERE 1 = 0"
	)
	refused := map[rewrite.Reason]uint64{rewrite.ErrSelect: 1}
	for _, c := range []struct {
		name  string
		query string
		rule  policy.Table
		want  keyfill.TableStats
		pass  uint64
	}{
		{name: "fill", query: fill, want: keyfill.TableStats{Filled: 1, Keys: 1}},
		{name: "keep", query: keep, want: keyfill.TableStats{Kept: 1}},
		{name: "pass", query: pass, pass: 1},
		{name: "unfilled", query: refuse, rule: policy.Table{Unsupported: policy.Unfilled},
			want: keyfill.TableStats{Refused: refused, Withheld: 1}},
		{name: "dry run", query: fill, rule: policy.Table{Mode: policy.ModeDryRun},
			want: keyfill.TableStats{Filled: 1, Withheld: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, loadEngines, func(t *testing.T, s *scratch) {
				exec(t, s.raw, "CREATE TABLE people (id CHAR(36), name TEXT)")
				exec(t, s.raw, "CREATE TABLE others (name TEXT)")
				db, m := s.open(t, fillID("people", c.rule))
				exec(t, db, s.placeholders(c.query), "a")
				got := m.Stats()
				if g := got.Tables["people"]; got.Passed != c.pass || g.Filled != c.want.Filled || g.Keys != c.want.Keys ||
					g.Kept != c.want.Kept || g.Withheld != c.want.Withheld || g.Refused[rewrite.ErrSelect] != c.want.Refused[rewrite.ErrSelect] {
					t.Errorf("passed %d and counted %+v, want %d and %+v", got.Passed, g, c.pass, c.want)
				}
			})
		})
	}
}
