package keys_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestFollowExplicit: keys that the application brings move the sequence above
// them, in this process and in one that starts later, however they are sent.
func TestFollowExplicit(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, FollowExplicit: true, Block: 10,
		}})
		db, _ := s.Open(t, cfg)
		own := s.Placeholders("INSERT INTO t (id, a) VALUES (?, ?)")
		none := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		harness.Exec(t, db, none, 1)
		harness.Exec(t, db, own, 1000, 2)
		harness.Exec(t, db, none, 3)
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (2000, 4)")
		harness.Exec(t, db, none, 5)
		stmt, err := db.Prepare(own)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		if _, err := stmt.Exec(3000, 6); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, none, 7)
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
		harness.Exec(t, db, none, 9)
		// A key below what was drawn moves nothing.
		harness.Exec(t, db, own, 500, 10)
		harness.Exec(t, db, none, 11)
		later, _ := s.Open(t, cfg)
		harness.Exec(t, db, own, 5000, 12)
		harness.Exec(t, later, none, 13)
		got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a")
		want := []int64{1, 1000, 1001, 2000, 2001, 3000, 3001, 4000, 4001, 500, 4002, 5000}
		// The first process may have fetched a block already.
		if last := len(got) - 1; last != len(want) || !slices.Equal(got[:last], want) || got[last] <= 5000 {
			t.Errorf("stored %v, want %v and one above 5000", got, want)
		}
	})
}
