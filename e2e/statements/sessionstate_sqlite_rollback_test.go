package statements_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestSQLiteOrRollback: a statement with OR ROLLBACK that succeeds leaves the transaction
// as it was, and one that fails ends it, as without keyfill.
func TestSQLiteOrRollback(t *testing.T) {
	t.Parallel()
	for _, e := range sqliteDrivers {
		for name, source := range harness.AlteredSources {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, a INT UNIQUE)")
				db, _ := s.Open(t, harness.InPlace(source))
				ctx, c := context.Background(), harness.ConnOf(t, db)
				for _, insert := range []string{"INSERT OR ROLLBACK INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (2)",
					"INSERT OR ROLLBACK INTO t VALUES (NULL, 3)", "UPDATE OR ROLLBACK t SET a = a", "INSERT INTO t (a) VALUES (4)"} {
					harness.Must(t, c, insert)
				}
				harness.MustFail(t, c, "INSERT OR ROLLBACK INTO t (a) VALUES (1)")
				harness.Must(t, c, "INSERT INTO t (a) VALUES (5)")
				tx, err := c.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, "INSERT OR ROLLBACK INTO t (a) VALUES (6)", "INSERT INTO t (a) VALUES (7)")
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				harness.Must(t, c, "BEGIN", "INSERT OR ROLLBACK INTO t (a) VALUES (8)", "INSERT INTO t (a) VALUES (9)", "COMMIT")
				if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t WHERE a BETWEEN 1 AND 9"); n != 9 {
					t.Errorf("%d rows, want 9", n)
				}

				// Without keyfill, Tx goes on outside of the transaction that is gone.
				if tx, err = c.BeginTx(ctx, nil); err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, "INSERT INTO t (a) VALUES (10)")
				harness.MustFail(t, tx, "INSERT OR ROLLBACK INTO t (a) VALUES (1)")
				if err := tx.Commit(); err == nil {
					t.Error("the transaction was committed")
				}
				harness.Must(t, c, "INSERT INTO t (a) VALUES (11)")
				harness.Must(t, c, "BEGIN", "INSERT INTO t (a) VALUES (12)")
				harness.MustFail(t, c, "INSERT OR ROLLBACK INTO t (a) VALUES (1)")
				harness.Must(t, c, "INSERT INTO t (a) VALUES (13)")
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a IN (10, 12)"); n != 0 {
					t.Errorf("%d rows of transactions that were rolled back", n)
				}
			})
		}
	}
}
