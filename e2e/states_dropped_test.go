package e2e_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// insertWhenRemade inserts a row, for a while again where a fetch has met the tables
// as they were dropped.
func insertWhenRemade(t *testing.T, db *sql.DB) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := db.Exec(insertT)
		if err == nil {
			return
		}
		if !errors.Is(err, store.ErrTables) || time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

// TestStatesDropped: tables of states that are dropped while processes run are made
// again with ensure_schema, and what each process has of a block from before is not
// another one's by then.
func TestStatesDropped(t *testing.T) {
	for _, block := range []int64{0, 1, 10} {
		for _, start := range []int64{0, 5} {
			for _, rows := range []bool{false, true} {
				t.Run(fmt.Sprintf("block %d, start %d, rows alone %v", block, start, rows), func(t *testing.T) {
					each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
						createIDs(t, s, "t")
						var all []*sql.DB
						for range 3 {
							db, _ := s.open(t, inPlace(counted(func(s *policy.Source) { s.Block, s.Start = block, start })))
							exec(t, db, insertT)
							all = append(all, db)
						}
						for range 2 {
							if rows {
								exec(t, s.raw, "DELETE FROM keyfill_sequences")
							} else {
								for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
									exec(t, s.raw, "DROP TABLE IF EXISTS "+table)
								}
							}
							for i := range 150 {
								insertWhenRemade(t, all[i%3])
							}
						}
						if n := count(t, s.raw, "SELECT COUNT(*) FROM t"); n != 303 {
							t.Errorf("%d rows, want 303", n)
						}
					})
				})
			}
		}
	}
}
