package e2e_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// alteredSources are sources with a state, or none but the table.
var alteredSources = map[string]policy.Source{
	"sequence":   {Kind: policy.KindSequence, EnsureSchema: true},
	"named":      {Kind: policy.KindSequence, EnsureSchema: true, Name: "all"},
	"joined":     {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, OnBehind: keysource.RemedyAdvance},
	"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
}

// TestAltered: a transaction may make a table, or change one, and insert into it:
// what is to be known of it is asked there, and nothing waits.
func TestAltered(t *testing.T) {
	each(t, []engine{pgxDefault, pgxSimple, pqDefault}, func(t *testing.T, s *scratch) {
		for kind, source := range alteredSources {
			exec(t, s.raw, "DROP TABLE IF EXISTS t, keyfill_sequences, keyfill_workers, keyfill_series")
			db, _ := s.open(t, fillID("t", policy.Table{InPlace: &source}))
			ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second) // what waits, waits for ten
			conn := placeConn(t, db)
			do := func(queries ...string) {
				t.Helper()
				for _, query := range queries {
					if _, err := conn.ExecContext(ctx, query); err != nil {
						t.Fatalf("%s: %s: %v", kind, query, err)
					}
				}
			}
			create, insert := "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)", "INSERT INTO t (a) VALUES (1), (2)"
			do("BEGIN", create, insert, "ROLLBACK")
			do("BEGIN", create, "INSERT INTO t VALUES (70, 0)", insert, "COMMIT")
			do("BEGIN", "ALTER TABLE t ADD b INT", insert, "INSERT INTO t (a, b) VALUES (1, 1)", "COMMIT", insert)
			do("BEGIN", "LOCK TABLE t", "TRUNCATE t", insert, "ROLLBACK", insert)
			cancel()
			got := integersOf(t, s.raw, "SELECT id FROM t WHERE a > 0 ORDER BY id")
			if distinct := slices.Compact(slices.Clone(got)); len(distinct) != 9 || got[0] <= 70 {
				t.Errorf("%s: %v", kind, got)
			}
			if kind == "joined" && !slices.Equal(got, above(71, 9)) {
				t.Errorf("joined: %v", got)
			}
			conn.Close()
			db.Close()
		}
	})
}

// TestAlteredText: a text makes a table and inserts into it.
func TestAlteredText(t *testing.T) {
	each(t, []engine{pgxSimple, pqDefault}, func(t *testing.T, s *scratch) {
		for _, kind := range []string{"sequence", "named"} {
			source := alteredSources[kind]
			exec(t, s.raw, "DROP TABLE IF EXISTS t, keyfill_sequences, keyfill_workers, keyfill_series")
			db, _ := s.open(t, fillID("t", policy.Table{InPlace: &source}))
			exec(t, db, "CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY, a INT); INSERT INTO t (a) VALUES (1); INSERT INTO t (a) VALUES (2)")
			exec(t, db, "INSERT INTO t (a) VALUES (3)")
			got := integersOf(t, s.raw, "SELECT id FROM t ORDER BY a")
			if len(got) != 3 || !slices.IsSorted(got) || got[0] < 1 {
				t.Errorf("%s: %v", kind, got)
			}
			db.Close()
		}
	})
}

// TestAlteredBehindJoined: a number that the transaction itself has drawn is no sign
// that the numbering is behind, once the transaction changes a table.
func TestAlteredBehindJoined(t *testing.T) {
	each(t, []engine{pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		db, _ := s.open(t, fillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}}))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		must(t, tx, "INSERT INTO t (a) VALUES (1)", "CREATE TABLE other (n INT)", "INSERT INTO t (a) VALUES (2)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := integersOf(t, s.raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("keys %v, want 1 and 2", got)
		}
	})
}
