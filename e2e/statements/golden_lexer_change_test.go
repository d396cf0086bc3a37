package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// twoWays is one row where a backslash escapes a quote, else two.
const twoWays = `INSERT INTO orders (a, b) VALUES ('\', 1), (' , 2) -- ', 3)`

// lexerChange is a way to change the settings of a session in its midst.
type lexerChange struct {
	name  string
	texts []string
	args  []any // of the last
}

// mysqlChanges are for sql_mode; to_default and to_ansi are made by the test.
var mysqlChanges = []lexerChange{
	{name: "set", texts: []string{"SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'"}},
	{name: "back", texts: []string{"SET sql_mode = DEFAULT"}},
	{name: "text", texts: []string{"SET @m = 'NO_BACKSLASH_ESCAPES'", "EXECUTE IMMEDIATE CONCAT('SET sql', '_mode = @m')"}},
	{name: "variable", texts: []string{"SET @@session.`sql_mode` = ''"}},
	{name: "server's prepare", texts: []string{"PREPARE s FROM 'SET sql_mode = ''NO_BACKSLASH_ESCAPES'''", "EXECUTE s"}},
	{name: "procedure", texts: []string{"CALL to_default()"}}, // which the server puts back
	{name: "function", texts: []string{"SELECT to_ansi()"}},
	{name: "other's", texts: []string{"SET GLOBAL max_connections = @@max_connections"}},
	{name: "argument", texts: []string{"SET sql_mode = ?"}, args: []any{"ANSI"}},
	{name: "argument back", texts: []string{"SET sql_mode = ?"}, args: []any{"NO_BACKSLASH_ESCAPES"}},
}

// postgresChanges are for standard_conforming_strings.
var postgresChanges = []lexerChange{
	{name: "set", texts: []string{"SET standard_conforming_strings = off"}},
	{name: "reset", texts: []string{"RESET ALL"}},
	{name: "function", texts: []string{"SELECT set_config('standard_conforming_strings', 'off', false)"}},
	{name: "rolled back", texts: []string{"BEGIN", "SET standard_conforming_strings = on", twoWays, "ROLLBACK"}},
	{name: "local", texts: []string{"BEGIN; SET LOCAL standard_conforming_strings = on", twoWays, "COMMIT"}},
	{name: "in the insert", texts: []string{"INSERT INTO orders (a) VALUES (set_config('standard_conforming_strings', 'on', false))"}},
	{name: "twice", texts: []string{"SET standard_conforming_strings = on; RESET standard_conforming_strings", "SET standard_conforming_strings = off"}},
	{name: "one only", texts: []string{"RESET standard_conforming_strings"}},
	{name: "argument", texts: []string{"SELECT set_config('standard_conforming_strings', $1, false)"}, args: []any{"off"}},
}

// TestLexerChanges: what changes the settings of a session is seen, or makes it
// be asked again, on the connection alone that it was sent on.
func TestLexerChanges(t *testing.T) {
	t.Parallel()
	for _, e := range []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.MySQLMulti, harness.PgxDefault, harness.PgxMode("exec"), harness.PQDefault} {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			db := e.Scratch(t)
			harness.Exec(t, db.Raw, "CREATE TABLE orders (id VARCHAR(36), a VARCHAR(200), b VARCHAR(200))")
			changes, setting, values := postgresChanges, "SELECT set_config('standard_conforming_strings', $1, false)", []string{"on", "off", "on"}
			if !e.IsPostgres() {
				changes, setting, values = mysqlChanges, "SET sql_mode = ?", []string{"", "NO_BACKSLASH_ESCAPES", "ANSI"}
				harness.Exec(t, db.Raw, "CREATE PROCEDURE to_default() SET sql_mode = DEFAULT")
				harness.Exec(t, db.Raw, "CREATE FUNCTION to_ansi() RETURNS INT BEGIN SET SESSION sql_mode = 'ANSI'; RETURN 1; END")
			}
			c := newChangingConn(t, db)
			c.check("at first")
			for _, change := range changes {
				for i, text := range change.texts {
					var args []any
					if i == len(change.texts)-1 {
						args = change.args
					}
					if _, err := c.conn.ExecContext(c.ctx, text, args...); err != nil {
						t.Fatalf("%s: %s: %v", change.name, text, err)
					}
				}
				c.check(change.name)
			}
			// A prepared statement runs unseen.
			stmt, err := c.conn.PrepareContext(c.ctx, setting)
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			for _, v := range values {
				if _, err := stmt.Exec(v); err != nil {
					t.Fatal(err)
				}
				c.check("prepared " + v)
			}
			if !c.seen[1] || !c.seen[2] {
				t.Error("the settings have not changed")
			}
		})
	}
}

// changingConn is a connection through keyfill whose settings change.
type changingConn struct {
	*harness.Scratch
	t    *testing.T
	ctx  context.Context
	conn *sql.Conn
	seen map[int]bool // how many rows were stored
}

// newChangingConn returns a connection that is closed when the test ends.
func newChangingConn(t *testing.T, s *harness.Scratch) *changingConn {
	t.Helper()
	filling, _ := s.Open(t, lexerSession{Engine: s.Engine}.config(false))
	ctx := context.Background()
	conn, err := filling.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &changingConn{s, t, ctx, conn, map[int]bool{}}
}

// check compares what is stored with what the session says of itself.
func (c *changingConn) check(name string) {
	c.t.Helper()
	query := "SELECT @@sql_mode"
	if c.IsPostgres() {
		query = "SHOW standard_conforming_strings"
	}
	var is string
	if err := c.conn.QueryRowContext(c.ctx, query).Scan(&is); err != nil {
		c.t.Fatal(err)
	}
	want := 1 // the backslash escapes the quote
	if is == "on" || strings.Contains(is, "NO_BACKSLASH_ESCAPES") {
		want = 2
	}
	takeRows(c.t, c.Scratch)
	if _, err := c.conn.ExecContext(c.ctx, twoWays); err != nil {
		c.t.Errorf("%s: %s: %v", name, is, err)
	}
	got := takeRows(c.t, c.Scratch)
	c.seen[len(got)] = true
	if len(got) != want || slices.ContainsFunc(got, func(r lexerRow) bool { return !r.id.Valid }) {
		c.t.Errorf("%s: under %q stored %v, want %d rows with keys", name, is, got, want)
	}
}

// TestLexerTransaction: what was SET in a transaction of database/sql goes with
// it, and so does what is known of it.
func TestLexerTransaction(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id VARCHAR(36), a VARCHAR(200), b VARCHAR(200))")
		filling, _ := s.Open(t, lexerSession{Engine: s.Engine}.config(false))
		filling.SetMaxOpenConns(1)
		for _, commit := range []bool{false, true} {
			tx, err := filling.Begin()
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"SET LOCAL standard_conforming_strings = off", twoWays} {
				if _, err := tx.Exec(text); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			want := 2
			if commit {
				want++
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			harness.Exec(t, filling, twoWays)
			if got := takeRows(t, s); len(got) != want || slices.ContainsFunc(got, func(r lexerRow) bool { return !r.id.Valid }) {
				t.Errorf("commit %v: stored %v, want %d rows with keys", commit, got, want)
			}
		}
		// A transaction that has failed answers no question: its error is the
		// driver's own.
		tx, err := filling.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("SELECT 1/0"); err == nil {
			t.Fatal("no error")
		}
		if _, err := tx.Exec("SET LOCAL standard_conforming_strings = off"); err == nil {
			t.Fatal("no error")
		}
		_, err = tx.Exec(twoWays)
		var e *keyfill.Error
		if err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "25P02") && !strings.Contains(err.Error(), "aborted") {
			t.Errorf("the error is %v, want the driver's", err)
		}
	})
}

// TestLexerUnwrapped: what is sent on the driver's own connection is not seen.
func TestLexerUnwrapped(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id VARCHAR(36), a VARCHAR(200), b VARCHAR(200))")
		filling, _ := s.Open(t, lexerSession{Engine: s.Engine}.config(false))
		ctx := context.Background()
		conn, err := filling.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		set, rows := []string{"SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SET sql_mode = ''"}, []int{1, 2, 1}
		if s.IsPostgres() {
			set, rows = []string{"SET standard_conforming_strings = off", "SET standard_conforming_strings = on"}, []int{2, 1, 2}
		}
		var below driver.ExecerContext
		for i, want := range rows {
			if _, err := conn.ExecContext(ctx, twoWays); err != nil {
				t.Fatal(err)
			}
			if got := takeRows(t, s); len(got) != want {
				t.Errorf("%d. stored %v, want %d rows", i+1, got, want)
			}
			if i == len(set) {
				break
			}
			err := conn.Raw(func(c any) error {
				if below == nil {
					below = keyfill.Unwrap(c).(driver.ExecerContext)
				}
				_, err := below.ExecContext(ctx, set[i], nil)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
