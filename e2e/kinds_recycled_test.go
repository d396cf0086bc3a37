package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/policy"
)

// recycledID is the policy for a table whose id comes from series of a size.
func recycledID(e engine, series int64) *policy.Config {
	return keyKind{source: mapped(policy.KindRecycled, func(s *policy.Source) {
		s.Series, s.Block, s.Lease = series, 10, time.Hour
	})}.config(e)
}

// TestRecycledTable: processes that are there at once have series of their own,
// and one that is closed leaves the rest of its series to the next one.
func TestRecycledTable(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		one, _ := s.open(t, recycledID(s.engine, 1000))
		other, _ := s.open(t, recycledID(s.engine, 1000))
		exec(t, one, "INSERT INTO t (a) VALUES (1), (2)")
		exec(t, other, "INSERT INTO t (a) VALUES (3), (4)")
		exec(t, one, "INSERT INTO t (a) VALUES (5)")
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
		next, _ := s.open(t, recycledID(s.engine, 1000))
		exec(t, next, "INSERT INTO t (a) VALUES (6)")
		exec(t, other, "INSERT INTO t (a) VALUES (7)")
		if got := integersOf(t, s.raw, "SELECT id FROM t ORDER BY a"); fmt.Sprint(got) != "[1 2 1001 1002 3 4 1003]" {
			t.Errorf("stored %v", got)
		}
	})
}

// TestRecycledRollback: what a transaction that is rolled back took, comes again
// for nobody else.
func TestRecycledRollback(t *testing.T) {
	each(t, []engine{sqliteFile, sqliteMemory, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, recycledID(s.engine, 20))
		for i := range 30 {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			query, args := s.manyRows(0, i%7+1)
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
			exec(t, db, "INSERT INTO t (a) VALUES (1)")
		}
	})
}
