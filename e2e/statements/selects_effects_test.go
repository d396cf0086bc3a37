package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// countedT opens the database with integer keys for t.
func countedT(t *testing.T, s *harness.Scratch) *sql.DB {
	t.Helper()
	createSelectTables(t, s)
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
	return db
}

// TestSelectLeavesRowsOut: without RETURNING a Query does not say which keys are
// stored.
func TestSelectLeavesRowsOut(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db := countedT(t, s)
		harness.Exec(t, s.Raw, "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.a = 3 THEN RETURN NULL; END IF; RETURN NEW; END'")
		harness.Exec(t, s.Raw, "CREATE TRIGGER skip BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION skip()")
		ctx, rec := keyfill.Record(context.Background())
		rows, err := db.QueryContext(ctx, "INSERT INTO t (a) SELECT a FROM s")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if n := len(idsOf(t, s.Raw)); n != 5 {
			t.Fatalf("%d rows", n)
		}
		for _, k := range rec.Keys("t") {
			if k.Outcome != keyfill.Unknown {
				t.Errorf("row %d is %v", k.Row, k.Outcome)
			}
		}
	})
}

// TestSelectAborts: a query that fails leaves an aborted transaction aborted, and
// one that does not leaves no savepoint.
//
//deviation:insert-select | For an `INSERT … SELECT` in a transaction keyfill sets and releases the savepoint `keyfill_rows`. | PostgreSQL; MySQL and MariaDB where the count is rolled back | – | name the key column
func TestSelectAborts(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db := countedT(t, s)
		harness.Exec(t, s.Raw, "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE plpgsql AS 'BEGIN RETURN 1 / (x - 3); END'")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO u VALUES (1, 'a')"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := tx.Exec("INSERT INTO t (a) SELECT f(a) FROM s WHERE a > 3"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.Exec("SAVEPOINT mine; ROLLBACK TO keyfill_rows"); err == nil || !strings.Contains(err.Error(), "keyfill_rows") {
			t.Errorf("our savepoint is there: %v", err)
		}
		if _, err := tx.Exec("ROLLBACK TO mine"); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO t (a) SELECT f(a) FROM s"); err == nil || !strings.Contains(err.Error(), "zero") {
			t.Fatalf("a division by zero: %v", err)
		}
		if _, err := tx.Exec("INSERT INTO u VALUES (2, 'b')"); err == nil {
			t.Error("the transaction goes on")
		}
	})
}

// TestSelectView: what a view's function writes is written once.
func TestSelectView(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db := countedT(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE done (a INT)")
		harness.Exec(t, s.Raw, "CREATE FUNCTION log(x INT) RETURNS INT LANGUAGE sql AS 'INSERT INTO done VALUES (x); SELECT x'")
		harness.Exec(t, s.Raw, "CREATE VIEW v AS SELECT log(a) AS a FROM s")
		for i, form := range []string{"direct", "prepared", "transaction"} {
			if _, err := harness.SendOnce(context.Background(), db, form, "INSERT INTO t (a) SELECT a FROM v", nil); err != nil {
				t.Fatal(err)
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM done"); n != 6*(i+1) {
				t.Errorf("%s: %d rows, want %d", form, n, 6*(i+1))
			}
		}
	})
}

// TestSelectChains: if a transaction follows another automatically, nothing of it is
// committed for a count.
//
//deviation:insert-select | A query with a function whose effects have to be undone is refused where it is not known whether a transaction is open, as with a `completion_type` other than NO_CHAIN. | MySQL, MariaDB | after a `COMMIT` in a procedure | `BeginTx`
func TestSelectChains(t *testing.T) {
	t.Parallel()
	s := harness.MySQLMulti.Scratch(t)
	db := countedT(t, s)
	harness.Exec(t, s.Raw, "CREATE FUNCTION f(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO u (a) VALUES (x); RETURN x; END")
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "SET completion_type = 1"); err != nil {
		t.Fatal(err)
	}
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	exec := func(query string) error {
		_, err := c.ExecContext(ctx, query)
		return err
	}
	if err := exec("INSERT INTO u VALUES (7, 'chained')"); err != nil {
		t.Fatal(err)
	}
	var own *keyfill.Error
	if err := exec("INSERT INTO t (a) SELECT f(a) FROM s"); !errors.As(err, &own) {
		t.Errorf("a count that cannot be undone: %v", err)
	}
	if err := exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM u WHERE a = 7"); n != 0 {
		t.Error("the transaction was committed")
	}
}

// TestSelectOwnError: an error of the query is the engine's, not the one about rows that
// have come.
func TestSelectOwnError(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	db := countedT(t, s)
	harness.Exec(t, s.Raw, "INSERT INTO s (a) VALUES (-9223372036854775808)")
	if _, err := db.Exec("INSERT INTO t (a) SELECT abs(a) FROM s"); err == nil || !strings.Contains(err.Error(), "integer overflow") ||
		strings.Contains(err.Error(), "counted") {
		t.Errorf("an overflow: %v", err)
	}
}

// TestSelectArguments: arguments are sent as the driver sends them without us, in
// each of its modes.
func TestSelectArguments(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		db := countedT(t, s)
		for _, arg := range []any{"x", 5, 2.5, true, []byte(`\x41`), nil} {
			const query = "INSERT INTO %s (b) SELECT $1 FROM s"
			harness.Exec(t, s.Raw, "DELETE FROM t")
			harness.Exec(t, s.Raw, "DELETE FROM t0")
			_, want := s.Raw.Exec(strings.Replace(query, "%s", "t0", 1), arg)
			_, got := db.Exec(strings.Replace(query, "%s", "t", 1), arg)
			if (got == nil) != (want == nil) {
				t.Errorf("%T: error %v, by hand %v", arg, got, want)
			}
			columns := "SELECT b FROM "
			if got, want := harness.RowsOf(t, s.Raw, columns+"t"), harness.RowsOf(t, s.Raw, columns+"t0"); strings.Join(got, "") != strings.Join(want, "") {
				t.Errorf("%T: stored %q, by hand %q", arg, got, want)
			}
		}
		var r *plans.Refusal
		if _, err := db.Exec("INSERT INTO t (b) SELECT $1 FROM s", "x", "y"); !errors.As(err, &r) && err == nil {
			t.Error("an argument too many is taken")
		}
	})
}

// TestSelectExhausted: where there are no keys for the rows that have come, the
// error says so, nothing is stored, and no savepoint is left.
func TestSelectExhausted(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLMulti, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		b := &beforehand{call: func() { harness.Exec(t, s.Raw, "INSERT INTO s (a) VALUES (7), (7), (7), (7), (7)") }}
		spied := harness.AsDriver{Connector: harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, b)), As: harness.Registered(t, s.Driver)}
		db, _ := harness.OpenConnector(t, spied, harness.FillID("t", policy.Table{MaxBits: 31, InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Start: 1<<31 - 8,
		}}))
		for _, form := range []string{"direct", "prepared", "transaction"} {
			if s.Server == nil && form == "transaction" {
				continue // no other session writes then
			}
			ctx, rec := keyfill.Record(context.Background())
			_, err := harness.SendOnce(ctx, db, form, "INSERT INTO t (a) SELECT a FROM s", nil)
			if err == nil {
				t.Errorf("%s: no error", form)
			}
			for _, k := range rec.Keys("t") {
				if k.Outcome == keyfill.Stored {
					t.Errorf("%s: row %d is %v", form, k.Row, k.Outcome)
				}
			}
			if n := len(idsOf(t, s.Raw)); n != 0 {
				t.Errorf("%s: %d rows", form, n)
			}
		}
		if s.Server == nil {
			return
		}
		b.call = func() {}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO t (a) SELECT a FROM s"); err == nil {
			t.Fatal("no error")
		}
		if _, err := tx.Exec("RELEASE SAVEPOINT keyfill_rows"); err == nil {
			t.Error("our savepoint is there")
		}
	})
}

// TestSelectRowCount: ROW_COUNT() after an INSERT … SELECT counts its rows.
//
//deviation:insert-select | `FOUND_ROWS()` after an `INSERT … SELECT` is 1, from keyfill's own query that counts the rows. | MySQL, MariaDB | – | name the key column
func TestSelectRowCount(t *testing.T) {
	t.Parallel()
	s := harness.MySQLMulti.Scratch(t)
	db := countedT(t, s)
	harness.Exec(t, s.Raw, "CREATE FUNCTION f(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO u (a) VALUES (x); RETURN x; END")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO t (a) SELECT f(a) FROM s"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT ROW_COUNT()").Scan(&n); err != nil || n != 6 {
		t.Errorf("ROW_COUNT() is %d, %v", n, err)
	}
}
