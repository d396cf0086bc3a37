package apps_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestHiddenCounter: where the sql_mode of MariaDB hides AUTO_INCREMENT in SHOW CREATE
// TABLE, the counter is known all the same: numbers of deleted rows are not given again,
// and below: is proven.
func TestHiddenCounter(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"NO_TABLE_OPTIONS", "ANSI"} {
		e := harness.MySQLDefault
		e.Params = "sql_mode=%27" + mode + "%27"
		t.Run(mode, func(t *testing.T) {
			s := e.Scratch(t)
			createNumbered(t, s, 3)
			harness.Must(t, s.Raw, "DELETE FROM t", "CREATE TABLE u LIKE t", "INSERT INTO u (a) VALUES (1)")
			db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}))
			harness.Exec(t, db, harness.InsertT)
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t"); len(got) != 1 || got[0] != 4 {
				t.Errorf("behind 3 deleted rows: keys %d, want 4", got)
			}
			harness.Must(t, s.Raw, "DELETE FROM keyfill_sequences")
			raise(t, s, 1000)
			other, _ := s.Open(t, below(s, 1000, 0, nil))
			harness.Exec(t, other, harness.InsertT)
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t"); len(got) != 2 || got[1] >= 1000 {
				t.Errorf("below a counter of 1000: keys %d", got)
			}
		})
	}
}
