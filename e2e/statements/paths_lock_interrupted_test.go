package statements_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// interrupter does to one statement that takes SQLite's lock to write what SQLite and
// mattn/go-sqlite3 do when a context ends in it: the statement fails, the transaction
// is gone, and those that follow may be done before the driver looks at the context.
type interrupter struct {
	sqlmw.NullInterceptor
	cancel context.CancelFunc // of the caller's context; nil: nothing is interrupted
	in     int                // how many locks are still taken
	done   bool
}

func (i *interrupter) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	if i.cancel != nil && !i.done && strings.HasPrefix(query, "UPDATE") && strings.HasSuffix(query, "WHERE 0") {
		if i.in--; i.in < 0 {
			i.done = true
			if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK", nil); err != nil {
				return nil, err
			}
			i.cancel()
			return nil, context.Canceled
		}
	}
	return conn.ExecContext(context.WithoutCancel(ctx), query, args)
}

func (i *interrupter) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	rows, err := conn.QueryContext(context.WithoutCancel(ctx), query, args)
	return ctx, rows, err
}

func (i *interrupter) ConnPrepareContext(ctx context.Context, conn driver.ConnPrepareContext, query string) (context.Context, driver.Stmt, error) {
	stmt, err := conn.PrepareContext(context.WithoutCancel(ctx), query)
	return ctx, stmt, err
}

func (i *interrupter) StmtExecContext(ctx context.Context, stmt driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	return stmt.ExecContext(context.WithoutCancel(ctx), args)
}

func (i *interrupter) StmtQueryContext(ctx context.Context, stmt driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	rows, err := stmt.QueryContext(context.WithoutCancel(ctx), args)
	return ctx, rows, err
}

// TestLockInterrupted: if SQLite ends a transaction at an interrupted lock, the INSERT
// fails, and neither its row nor a number is committed.
//
//deviation:integer-keys | Inside a transaction the first INSERT into a table, prepared or not, takes the lock to write with an UPDATE `WHERE 0`, before it reads the catalog. | SQLite | `tx.Prepare` takes it, not only `Exec` | insert once outside of transactions
func TestLockInterrupted(t *testing.T) {
	t.Parallel()
	worker := 3
	policies := map[string]*policy.Config{
		"sequence":     harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Create: new(true), Start: 1}}),
		"joined":       harness.JoinedID("t"),
		"recycled":     harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindRecycled, Create: new(true), Start: 1}}),
		"max plus one": harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindMaxPlusOne}}),
		"snowflake":    harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSnowflake, Worker: &worker}}),
		"scope":        harness.LinesOf(harness.ByOrder),
	}
	for name, cfg := range policies {
		t.Run(name, func(t *testing.T) {
			// One after the other: a process has a snowflake's worker once.
			for _, e := range []harness.Engine{harness.SQLiteFile, harness.MattnFile} {
				s := e.Scratch(t)
				harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE l (a INT)",
					"CREATE TABLE order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, a INT, PRIMARY KEY (order_id, no))")
				harness.Must(t, s.Raw, store.DDL(s.Dialect)...)
				insert := []string{"INSERT INTO t (a) VALUES (?)", "INSERT INTO order_lines (order_id) VALUES (?)", "INSERT INTO t VALUES (NULL, ?)"}
				for _, query := range insert {
					if (name == "scope") != strings.Contains(query, "order_lines") {
						continue
					}
					n := 0
					for interrupts(t, s, cfg, query, n) {
						n++
					}
					if n == 0 {
						t.Errorf("%s: no lock was taken", query)
					}
					t.Logf("%s: %s: %d locks", e.Name, query, n)
				}
			}
		})
	}
}

// interrupts runs an INSERT in a transaction whose lock number n is interrupted, and
// reports whether there was one.
func interrupts(t *testing.T, s *harness.Scratch, cfg *policy.Config, query string, n int) bool {
	t.Helper()
	i := &interrupter{in: n}
	inner := harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, i))
	db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: inner, As: s.Connector.Driver()}, cfg)
	defer db.Close()
	before := committed(t, s)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO l (a) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i.cancel = cancel
	_, err = tx.ExecContext(ctx, query, 1)
	if !i.done {
		if err != nil {
			t.Errorf("%s, without an interrupt: %v", query, err)
		}
		return false
	}
	if err == nil {
		t.Errorf("%s, interrupted in lock %d: no error", query, n+1)
	}
	_ = tx.Rollback()
	if after := committed(t, s); after != before {
		t.Errorf("%s, interrupted in lock %d: committed by itself:\n%s\nwhere before was\n%s", query, n+1, after, before)
	}
	return true
}

// committed is what a transaction could change, as another connection sees it.
func committed(t *testing.T, s *harness.Scratch) string {
	t.Helper()
	var b strings.Builder
	for _, q := range []string{"SELECT id FROM t", "SELECT a FROM l", "SELECT no FROM order_lines", "SELECT name || '=' || next_value FROM keyfill_sequences ORDER BY name",
		"SELECT name || '=' || next_value FROM keyfill_series ORDER BY name, next_value"} {
		rows, err := s.Raw.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var v any
			if err := rows.Scan(&v); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s: %v; ", q, v)
		}
		rows.Close()
	}
	return b.String()
}
