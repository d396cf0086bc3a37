package statements_test

import (
	"context"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestAltered: a transaction may make a table, or change one, and insert into it:
// what is to be known of it is asked there, and nothing waits.
//
//deviation:filled-inserts | A transaction that has changed tables asks for the catalog and the greatest key on its own connection, and the next transaction asks again. A block of keys that the transaction reserves is dropped at its end. | PostgreSQL | `BEGIN; CREATE TABLE t …; INSERT INTO t (a) …` | –
func TestAltered(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for kind, source := range harness.AlteredSources {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t, keyfill_sequences, keyfill_workers, keyfill_series")
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
			ctx, cancel := context.WithTimeout(context.Background(), harness.Limit) // what waits for this transaction fails after a minute
			conn := harness.ConnOf(t, db)
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
			got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a > 0 ORDER BY id")
			if distinct := slices.Compact(slices.Clone(got)); len(distinct) != 9 || got[0] <= 70 {
				t.Errorf("%s: %v", kind, got)
			}
			if kind == "joined" && !slices.Equal(got, harness.Above(71, 9)) {
				t.Errorf("joined: %v", got)
			}
			conn.Close()
			db.Close()
		}
	})
}

// TestAlteredText: a text makes a table and inserts into it.
func TestAlteredText(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, kind := range []string{"sequence", "named"} {
			source := harness.AlteredSources[kind]
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t, keyfill_sequences, keyfill_workers, keyfill_series")
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
			harness.Exec(t, db, "CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY, a INT); INSERT INTO t (a) VALUES (1); INSERT INTO t (a) VALUES (2)")
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (3)")
			got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a")
			if len(got) != 3 || !slices.IsSorted(got) || got[0] < 1 {
				t.Errorf("%s: %v", kind, got)
			}
			db.Close()
		}
	})
}

// TestAlteredBehindJoined: a number that the transaction itself has drawn is no sign that
// the numbering stands too low, once the transaction changes a table.
func TestAlteredBehindJoined(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}}))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, tx, "INSERT INTO t (a) VALUES (1)", "CREATE TABLE other (n INT)", "INSERT INTO t (a) VALUES (2)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("keys %v, want 1 and 2", got)
		}
	})
}

// TestAlteredInto: a query, or EXPLAIN ANALYZE, makes a table too, which is found in its
// transaction.
func TestAlteredInto(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, creates := range []string{
			"SELECT 70::bigint AS id, 0 AS a INTO t",
			"EXPLAIN ANALYZE CREATE TABLE t AS SELECT 70::bigint AS id, 0 AS a",
		} {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t, keyfill_sequences, keyfill_workers, keyfill_series")
			source := harness.Counted(func(s *policy.Source) { s.Start = 71 })
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
			ctx, cancel := context.WithTimeout(context.Background(), harness.Limit) // what waits for this transaction fails after a minute
			conn := harness.ConnOf(t, db)
			for _, query := range []string{"BEGIN", creates, "INSERT INTO t (a) VALUES (1), (2)", "COMMIT"} {
				if _, err := conn.ExecContext(ctx, query); err != nil {
					t.Fatalf("%s: %s: %v", creates, query, err)
				}
			}
			cancel()
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a > 0 ORDER BY id"); !slices.Equal(got, []int64{71, 72}) {
				t.Errorf("%s: keys %v, want 71 and 72", creates, got)
			}
			conn.Close()
			db.Close()
		}
	})
}
