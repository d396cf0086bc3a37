package keys_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStatesDropped: tables of states that are dropped while processes run are made
// again with ensure_schema, and what each process has of a block from before is not
// another one's by then. Between two drops each process draws more than a block.
func TestStatesDropped(t *testing.T) {
	t.Parallel()
	engines, inserts := []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, 45
	if harness.Soaking() {
		engines, inserts = append(engines, harness.PQDefault), 150
	}
	for _, block := range []int64{0, 1, 10} {
		for _, start := range []int64{0, 5} {
			for _, rows := range []bool{false, true} {
				t.Run(fmt.Sprintf("block %d, start %d, rows alone %v", block, start, rows), func(t *testing.T) {
					harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
						harness.CreateIDs(t, s, "t")
						var all []*sql.DB
						for range 3 {
							db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.Start = block, start })))
							harness.Exec(t, db, harness.InsertT)
							all = append(all, db)
						}
						for range 2 {
							if rows {
								harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
							} else {
								for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
									harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
								}
							}
							for i := range inserts {
								harness.InsertWhenRemade(t, all[i%3])
							}
						}
						if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 3+2*inserts {
							t.Errorf("%d rows, want %d", n, 3+2*inserts)
						}
					})
				})
			}
		}
	}
}
