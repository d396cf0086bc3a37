package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestNumberInUse: where the greatest number of a period cannot be read from the texts, a number
// in use fails its own INSERT, and not all later ones.
func TestNumberInUse(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		for name, change := range map[string]func(*policy.Source){
			"without periods": nil,
			"periods":         func(p *policy.Source) { p.Block, p.Period.Every, p.Period.Column = 1, policy.PeriodYear, "issued_on" },
		} {
			t.Run(name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE)")
				defer harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences")
				format := "{n:03}/x"
				if change != nil {
					format = "{n:03}/{year}"
				}
				db, _ := s.Open(t, formatted(format, change))
				insert := "INSERT INTO t (issued_on) VALUES ('2026-05-01')"
				harness.Exec(t, db, insert)
				harness.Must(t, s.Raw, "INSERT INTO t VALUES ('002/2026', '2026-05-01'), ('002/x', '2026-05-01')")
				harness.MustFail(t, db, insert)
				harness.Must(t, db, insert, insert)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 5 {
					t.Errorf("%d rows, want 5", n)
				}
			})
		}
	})
}
