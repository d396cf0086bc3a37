package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/rewrite"
)

// TestJoinedPrepared: statements that begin or end a transaction, or may, are
// followed when they are executed after Prepare: nothing comes of one that is only
// prepared, or refused.
func TestJoinedPrepared(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		ctx := context.Background()
		one := "INSERT INTO t (a) VALUES (1)"
		prepared := func(t *testing.T, c *sql.Conn, query string) *sql.Stmt {
			t.Helper()
			stmt, err := c.PrepareContext(ctx, query)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { stmt.Close() })
			return stmt
		}
		conn := func(t *testing.T) *sql.Conn {
			t.Helper()
			harness.Exec(t, s.Raw, "DELETE FROM t")
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			harness.Must(t, c, one)
			return c
		}
		rows := func(t *testing.T, want int) {
			t.Helper()
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != want {
				t.Errorf("%d rows, want %d", n, want)
			}
		}
		t.Run("not executed", func(t *testing.T) {
			c := conn(t)
			prepared(t, c, "BEGIN")
			harness.Must(t, c, one)
			rows(t, 2)
		})
		t.Run("refused", func(t *testing.T) {
			c := conn(t)
			_, err := c.PrepareContext(ctx, "BEGIN; INSERT INTO t (a) VALUES (1); COMMIT")
			if !errors.As(err, new(rewrite.Reason)) {
				t.Fatalf("%v is not keyfill's", err)
			}
			harness.Must(t, c, one)
			rows(t, 2)
		})
		t.Run("executed", func(t *testing.T) {
			c := conn(t)
			for _, query := range []string{"BEGIN", "ROLLBACK"} {
				if _, err := prepared(t, c, query).ExecContext(ctx); err != nil {
					t.Fatal(err)
				}
				if query == "BEGIN" {
					harness.Must(t, c, one)
				}
			}
			rows(t, 1)
			harness.Must(t, c, one)
			rows(t, 2)
		})
		if s.Dialect.Name != "mariadb" {
			return
		}
		t.Run("procedure with an argument", func(t *testing.T) {
			harness.Must(t, s.Raw, "CREATE PROCEDURE q (n INT) SET @x = n")
			c := conn(t)
			if _, err := c.ExecContext(ctx, "CALL q(?)", 1); err != nil {
				t.Fatal(err)
			}
			_, err := c.ExecContext(ctx, one)
			harness.RefusedFor(t, "behind a procedure", err, rewrite.ErrTransaction)
			for range 2 {
				tx, err := c.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, one)
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			harness.Must(t, c, one)
			rows(t, 4)
		})
	})
}

// TestScopeRefusedInside: a parent that is refused before a number is drawn leaves
// the transaction as it is.
func TestScopeRefusedInside(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		insert := s.Placeholders("INSERT INTO order_lines (order_id, item) VALUES (?, 'a')")
		harness.Exec(t, db, insert, 1)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		harness.Must(t, tx, "INSERT INTO order_lines (order_id, item) VALUES (1, 'b')")
		for _, parent := range []any{1.5, true, "no number"} {
			if _, err := tx.Exec(insert, parent); err == nil {
				t.Errorf("%v is a parent", parent)
			}
		}
		harness.Must(t, tx, "INSERT INTO order_lines (order_id, item) VALUES (1, 'c')")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := harness.KeysOf(t, s.Raw, context.Background(), "SELECT no FROM order_lines ORDER BY no"); len(got) != 3 || got[2] != "3" {
			t.Errorf("the numbers are %v, want 1, 2 and 3", got)
		}
	})
}
