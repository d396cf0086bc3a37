package keys_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// recycledID is the policy for a table whose id comes from series of a size.
func recycledID(e harness.Engine, series int64) *policy.Config {
	return harness.KeyKind{Source: harness.Mapped(policy.KindRecycled, func(s *policy.Source) {
		s.Series, s.Block, s.Lease = series, 10, time.Hour
	})}.Config(e)
}

// TestRecycledTable: processes that are there at once have series of their own,
// and one that is closed leaves the rest of its series to the next one.
func TestRecycledTable(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		one, _ := s.Open(t, recycledID(s.Engine, 1000))
		other, _ := s.Open(t, recycledID(s.Engine, 1000))
		harness.Exec(t, one, "INSERT INTO t (a) VALUES (1), (2)")
		harness.Exec(t, other, "INSERT INTO t (a) VALUES (3), (4)")
		harness.Exec(t, one, "INSERT INTO t (a) VALUES (5)")
		back := closeLeased(t, s, one)
		next, _ := s.Open(t, recycledID(s.Engine, 1000))
		harness.Exec(t, next, "INSERT INTO t (a) VALUES (6)")
		harness.Exec(t, other, "INSERT INTO t (a) VALUES (7)")
		got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a"))
		// A lease that has run out leaves a gap: the rest of the block.
		if got != "[1 2 1001 1002 3 4 1003]" && (back || got != "[1 2 1001 1002 3 11 1003]") {
			t.Errorf("stored %s", got)
		}
	})
}

// TestRecycledRollback: numbers of a transaction that is rolled back are not given to
// another one.
func TestRecycledRollback(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, recycledID(s.Engine, 20))
		for i := range 30 {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			query, args := manyRows(s, 0, i%7+1)
			if _, err := tx.Exec(query, args...); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				err = tx.Rollback()
			} else {
				err = tx.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		}
	})
}
