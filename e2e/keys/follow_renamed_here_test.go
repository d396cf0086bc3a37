package keys_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestRenamedHere: a table that takes another one's name in the transaction that has
// changed tables before is compared with its numbering, as that transaction sees it.
func TestRenamedHere(t *testing.T) {
	t.Parallel()
	for name, joined := range map[string]bool{"reserved": false, "joined": true} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				src := harness.Counted(func(s *policy.Source) {
					s.OnBehind = keysource.RemedyAdvance
					if joined {
						s.Block, s.Transaction = 0, policy.TransactionJoined
					}
				})
				harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX t_id ON t (id)",
					"CREATE TABLE n (id BIGINT NOT NULL, a INT)", "CREATE INDEX n_id ON n (id)", "INSERT INTO n VALUES (3, 1), (4, 1), (5, 1)")
				db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &src}}})
				db.SetMaxOpenConns(1)
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				for _, q := range []string{
					"ALTER TABLE t ADD b INT", "INSERT INTO t (a) VALUES (1), (1)",
					"ALTER TABLE t RENAME TO old", "ALTER TABLE n RENAME TO t",
					"INSERT INTO t (a) VALUES (9)", "INSERT INTO t (a) VALUES (9)", "INSERT INTO t (a) VALUES (9)",
				} {
					if _, err := tx.Exec(q); err != nil {
						t.Fatalf("%s: %v", q, err)
					}
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				wantDistinct(t, s, 6)
			})
		})
	}
}

// wantDistinct fails unless t has so many rows, each of which has a key of its own.
func wantDistinct(t *testing.T, s *harness.Scratch, rows int) {
	t.Helper()
	ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
	if len(slices.Compact(slices.Clone(ids))) != len(ids) || len(ids) != rows {
		t.Errorf("the keys are %v, want %d different ones", ids, rows)
	}
}

// TestWordOfNames: a text that has the word of a RENAME, but renames nothing, gives up
// no number that is in hand.
func TestWordOfNames(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		src := harness.Counted(func(s *policy.Source) { s.Block = 100 })
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, exchange INT)", "CREATE TABLE v (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &src}, "v": {Column: "id", InPlace: &src}}})
		db.SetMaxOpenConns(1)
		for range 6 {
			harness.Exec(t, db, "INSERT INTO t (exchange) VALUES (1)")
			harness.Exec(t, db, "INSERT INTO v (a) VALUES (1)")
			harness.Count(t, db, "SELECT count(exchange) FROM t")
		}
		for _, table := range []string{"t", "v"} {
			if ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+table+" ORDER BY id"); !slices.Equal(ids, []int64{1, 2, 3, 4, 5, 6}) {
				t.Errorf("%s has %v, want 1 to 6", table, ids)
			}
		}
	})
}
