package joined_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSeriesDropped: keyfill_series that is dropped alone while the process runs is
// made again with ensure_schema, and no number comes twice.
func TestSeriesDropped(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{1, 3} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.CreateIDs(t, s, "t")
				db, _ := s.Open(t, harness.InPlace(harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Block, s.Series = block, 100 })))
				harness.Exec(t, db, harness.InsertT)
				harness.Exec(t, s.Raw, "DROP TABLE keyfill_series")
				for range 10 {
					harness.InsertWhenRemade(t, db)
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 11 {
					t.Errorf("%d rows, want 11", n)
				}
			})
		})
	}
}
