package e2e_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// TestSeriesDropped: keyfill_series that is dropped alone while the process runs is
// made again with ensure_schema, and no number comes twice.
func TestSeriesDropped(t *testing.T) {
	for _, block := range []int64{1, 3} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			each(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
				createIDs(t, s, "t")
				db, _ := s.open(t, inPlace(mapped(policy.KindRecycled, func(s *policy.Source) { s.Block, s.Series = block, 100 })))
				exec(t, db, insertT)
				exec(t, s.raw, "DROP TABLE keyfill_series")
				for range 10 {
					insertWhenRemade(t, db)
				}
				if n := count(t, s.raw, "SELECT COUNT(*) FROM t"); n != 11 {
					t.Errorf("%d rows, want 11", n)
				}
			})
		})
	}
}
