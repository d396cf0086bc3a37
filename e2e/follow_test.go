package e2e_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// TestFollowExplicit: keys that the application brings move the sequence above
// them, in this process and in one that starts later, however they are sent.
func TestFollowExplicit(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, mysqlInterp, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := fillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, FollowExplicit: true, Block: 10,
		}})
		db, _ := s.open(t, cfg)
		own := s.placeholders("INSERT INTO t (id, a) VALUES (?, ?)")
		none := s.placeholders("INSERT INTO t (a) VALUES (?)")
		exec(t, db, none, 1)
		exec(t, db, own, 1000, 2)
		exec(t, db, none, 3)
		exec(t, db, "INSERT INTO t (id, a) VALUES (2000, 4)")
		exec(t, db, none, 5)
		stmt, err := db.Prepare(own)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		if _, err := stmt.Exec(3000, 6); err != nil {
			t.Fatal(err)
		}
		exec(t, db, none, 7)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(own, 4000, 8); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		exec(t, db, none, 9)
		// A key below what was drawn moves nothing.
		exec(t, db, own, 500, 10)
		exec(t, db, none, 11)
		later, _ := s.open(t, cfg)
		exec(t, db, own, 5000, 12)
		exec(t, later, none, 13)
		got := integersOf(t, s.raw, "SELECT id FROM t ORDER BY a")
		want := []int64{1, 1000, 1001, 2000, 2001, 3000, 3001, 4000, 4001, 500, 4002, 5000}
		// The first process may have fetched a block already.
		if last := len(got) - 1; last != len(want) || !slices.Equal(got[:last], want) || got[last] <= 5000 {
			t.Errorf("stored %v, want %v and one above 5000", got, want)
		}
	})
}
