package statements_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestSelectAfterDDL: a statement that commits on the side leaves no transaction open, so
// that what a function changes while rows are counted is undone by one of keyfill's own.
func TestSelectAfterDDL(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE logged (a INT)")
		harness.Exec(t, s.Raw, "CREATE FUNCTION noted(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO logged VALUES (x); RETURN x; END")
		eachSelectKey(t, s, func(t *testing.T) {
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
			c := heldConn(t, db)
			execOn(t, c, "INSERT INTO t (a) SELECT a FROM s") // the catalog is asked
			for _, ddl := range []string{"CREATE TABLE other (a INT)", "ALTER TABLE other ADD b INT", "TRUNCATE other", "ANALYZE TABLE other", "DROP TABLE other"} {
				execOn(t, c, ddl)
				execOn(t, c, "INSERT INTO t (a) SELECT noted(a) FROM s")
				if n := harness.IntegersOf(t, s.Raw, "SELECT COUNT(*) FROM logged"); n[0] != 6 {
					t.Errorf("behind %s the function has noted %d rows, want 6", ddl, n[0])
				}
				harness.Exec(t, s.Raw, "DELETE FROM logged")
				execOn(t, c, "INSERT INTO t (a) SELECT a FROM s")
			}
		})
	})
}

// TestSelectAfterAria: a transaction that has changed a table of Aria has no savepoints.
// Rows are numbered without one, and where the count could not be undone the error says so.
//
//deviation:insert-select | After a change of an Aria table in the same transaction, a query with functions that may change something is refused: Aria has no savepoints. | MariaDB | `INSERT INTO t (a) SELECT f(a) FROM s` | send it before that change
func TestSelectAfterAria(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE aria (a INT) ENGINE=Aria")
		harness.Exec(t, s.Raw, "CREATE FUNCTION noted(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO u (a) VALUES (x); RETURN x; END")
		eachSelectKey(t, s, func(t *testing.T) {
			db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
			harness.Exec(t, s.Raw, "DELETE FROM t")
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("INSERT INTO aria VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("INSERT INTO t (a) SELECT a FROM s"); err != nil {
				t.Error(err)
			}
			_, err = tx.ExecContext(context.Background(), "INSERT INTO t (a) SELECT noted(a) FROM s")
			if err == nil || !strings.Contains(err.Error(), "a table without savepoints") {
				t.Errorf("error %v", err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if n := len(idsOf(t, s.Raw)); n != 6 {
				t.Errorf("%d rows, want 6", n)
			}
		})
	})
}

// TestSelectAfterCall: where it is not known whether a transaction is open, the engine
// cannot number the rows itself. A value that ROW_NUMBER() would change is refused then,
// and the error names BeginTx, since the key has AUTO_INCREMENT already.
//
//deviation:insert-select | A query whose values a temporary table may change is refused while it is not known whether a transaction is open, as after `CALL`, `SET autocommit` and `LOCK TABLES`. | MariaDB | `CALL p(); INSERT INTO t (a) SELECT b / 3 FROM s` | `BeginTx`
func TestSelectAfterCall(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a DOUBLE)", "CREATE TABLE s (a INT)",
			"INSERT INTO s VALUES (1), (2)", "CREATE PROCEDURE p() SELECT 1", "CREATE TABLE aria (a INT) ENGINE=Aria")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		const insert = "INSERT INTO t (a) SELECT a / 3 FROM s"
		c := heldConn(t, db)
		for _, before := range []string{"SET autocommit = 1", "CALL p()", "LOCK TABLES t WRITE, s READ"} {
			execOn(t, c, before)
			_, err := c.ExecContext(context.Background(), insert)
			if !errors.Is(err, rewrite.ErrSelectValues) || !strings.Contains(err.Error(), "begin it with BeginTx") {
				t.Errorf("behind %s: %v", before, err)
			}
			execOn(t, c, "UNLOCK TABLES")
			tx, err := c.BeginTx(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(insert); err != nil {
				t.Errorf("behind %s, in a transaction: %v", before, err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		tx, err := c.BeginTx(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO aria VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(insert); !errors.Is(err, rewrite.ErrSelectValues) || !strings.Contains(err.Error(), "Aria") {
			t.Errorf("behind a change of a table of Aria: %v", err)
		}
	})
}
