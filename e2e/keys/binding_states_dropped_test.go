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
//
//deviation:integer-keys | With `ensure_schema`, a state table or row that is removed while the process runs is made again, on SQLite before the next transaction, 100 blocks above the greatest key and this process's numbers, since other processes may hold blocks. | all | `DROP TABLE keyfill_sequences` | no `ensure_schema`: an error
//deviation:integer-keys | With `transaction: joined` and `scope:`, if the row of a source was removed, keyfill makes a new one above the numbers that this process has seen committed; in an empty table it begins at the start. | all | `DELETE FROM keyfill_sequences` | no `ensure_schema`: an error
//deviation:integer-keys | If the row of a state with `name:` was removed, an INSERT is an error while the state's columns hold rows. The same holds for a used state in a `store:`, unless that store is a SQLite database. | all | `DROP TABLE keyfill_sequences` in a `store:` | raise the state by hand
//deviation:integer-keys | A process that starts after a state table or row was removed makes it again directly above the greatest key, where processes that still run may hold blocks. | all | `DROP TABLE keyfill_sequences` beside a process that runs | end all programs first
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
