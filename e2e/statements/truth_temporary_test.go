package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// temporaryCase is what one connection does with a temporary table, and where
// its INSERT goes: to the configured table, which is filled, or to the temporary
// one, which is not.
type temporaryCase struct {
	name   string
	before []string // what comes before the INSERT
	insert string   // empty for INSERT INTO people (name) VALUES (?)
	filled bool
	only   string // the dialect; empty for all
}

var temporaryCases = []temporaryCase{
	{name: "created", before: []string{"CREATE TEMPORARY TABLE people (name VARCHAR(20))"}},
	{name: "in another case", before: []string{"create temporary table PEOPLE (name VARCHAR(20))"}, only: "sqlite"},
	{name: "folded", before: []string{"create temp table PEOPLE (name VARCHAR(20))"}, only: "postgres"},
	{name: "if not exists", before: []string{"CREATE TEMPORARY TABLE IF NOT EXISTS people (name VARCHAR(20))"}},
	{name: "as select", before: []string{"CREATE TEMPORARY TABLE people AS SELECT 'a' AS name WHERE 1 = 0"}},
	{name: "select into", before: []string{"SELECT 'a'::text AS name INTO TEMP people WHERE false"}, only: "postgres"},
	{name: "in the schema", before: []string{"CREATE TABLE pg_temp.people (name VARCHAR(20))"}, only: "postgres"},
	{name: "in the schema", before: []string{"CREATE TABLE temp.people (name VARCHAR(20))"}, only: "sqlite"},
	{name: "its schema named", before: []string{"CREATE TEMP TABLE people (name VARCHAR(20))"},
		insert: "INSERT INTO pg_temp.people (name) VALUES (?)", only: "postgres"},
	{name: "its schema named", before: []string{"CREATE TEMP TABLE people (name VARCHAR(20))"},
		insert: "INSERT INTO temp.people (name) VALUES (?)", only: "sqlite"},
	{name: "the other's schema named", before: []string{"CREATE TEMP TABLE people (name VARCHAR(20))"},
		insert: "INSERT INTO public.people (name) VALUES (?)", only: "postgres", filled: true},
	{name: "the other's schema named", before: []string{"CREATE TEMP TABLE people (name VARCHAR(20))"},
		insert: "INSERT INTO main.people (name) VALUES (?)", only: "sqlite", filled: true},
	{name: "in the quoted schema", before: []string{`CREATE TABLE "pg_temp".people (name VARCHAR(20))`}, only: "postgres"},
	{name: "in the quoted schema", before: []string{`CREATE TABLE "temp".people (name VARCHAR(20))`}, only: "sqlite"},
	{name: "in the bracketed schema", before: []string{"CREATE TABLE [temp].people (name VARCHAR(20))"}, only: "sqlite"},
	{name: "in the schema as a string", before: []string{"CREATE TABLE 'temp'.people (name VARCHAR(20))"}, only: "sqlite"},
	{name: "a view", before: []string{"CREATE TEMP TABLE others (name VARCHAR(20))", "CREATE TEMP VIEW people AS SELECT name FROM others"}, only: "postgres"},
	{name: "a view in the schema", before: []string{"CREATE TEMP TABLE others (name VARCHAR(20))", "CREATE OR REPLACE VIEW pg_temp.people AS SELECT name FROM others"}, only: "postgres"},
	{name: "a view", before: []string{"CREATE TEMP VIEW people AS SELECT 'x' AS name",
		"CREATE TEMP TRIGGER g INSTEAD OF INSERT ON people BEGIN SELECT 1; END"}, only: "sqlite"},
	{name: "in a comment", before: []string{"CREATE /*!32302 TEMPORARY */ TABLE people (name VARCHAR(20))"}, only: "mariadb"},
	{name: "first in the search path", before: []string{"SET search_path = pg_temp, public", "CREATE TABLE people (name VARCHAR(20))"}, only: "postgres"},
	{name: "renamed to it", before: []string{"CREATE TEMP TABLE x (name VARCHAR(20))", "ALTER TABLE x RENAME TO people"}, only: "postgres"},
	{name: "renamed to it", before: []string{"CREATE TEMP TABLE x (name VARCHAR(20))", "ALTER TABLE temp.x RENAME TO people"}, only: "sqlite"},
	{name: "renamed to it", before: []string{"CREATE TEMPORARY TABLE x (name VARCHAR(20))", "ALTER TABLE x RENAME TO people"}, only: "mariadb"},
	{name: "quoted", before: []string{`CREATE TEMP TABLE "people" (name VARCHAR(20))`}, only: "postgres"},
	{name: "quoted", before: []string{"CREATE OR REPLACE TEMPORARY TABLE `people` (name VARCHAR(20))"}, only: "mariadb"},
	{name: "no column list", before: []string{"CREATE TEMPORARY TABLE people (name VARCHAR(20))"},
		insert: "INSERT INTO people VALUES (?)"},
	{name: "dropped", before: []string{"CREATE TEMPORARY TABLE people (name VARCHAR(20))", "DROP TABLE people"}, filled: true},
	{name: "another one", before: []string{"CREATE TEMPORARY TABLE others (name VARCHAR(20))"}, filled: true},
	{name: "undone", before: []string{"BEGIN", "CREATE TEMPORARY TABLE people (name VARCHAR(20))", "ROLLBACK"}, only: "postgres", filled: true},
	{name: "undone", before: []string{"BEGIN", "CREATE TEMPORARY TABLE people (name VARCHAR(20))", "ROLLBACK"}, only: "sqlite", filled: true},
	{name: "not undone", before: []string{"BEGIN", "CREATE TEMPORARY TABLE people (name VARCHAR(20))", "ROLLBACK"}, only: "mariadb"},
	{name: "its drop undone", before: []string{"CREATE TEMP TABLE people (name VARCHAR(20))", "BEGIN", "DROP TABLE people", "ROLLBACK"}, only: "postgres"},
	{name: "gone with the transaction", before: []string{"BEGIN", "CREATE TEMP TABLE people (name VARCHAR(20)) ON COMMIT DROP", "COMMIT"},
		only: "postgres", filled: true},
	{name: "behind in the search path", before: []string{"SET search_path = public, pg_temp", "CREATE TEMP TABLE people (name VARCHAR(20))"},
		only: "postgres", filled: true},
	{name: "renamed", before: []string{"CREATE TEMP TABLE people (name VARCHAR(20))", "ALTER TABLE people RENAME TO others"},
		only: "postgres", filled: true},
}

// TestTemporary: a temporary table of the name of a configured one is not the configured
// table on the connection that made it, while it is there.
//
//deviation:filled-inserts | On a connection that has made temporary tables, a query asks whether a configured name is one of them before each INSERT into it. | MySQL, MariaDB, PostgreSQL, SQLite | `SHOW CREATE TABLE t`; `pg_class`; `sqlite_temp_master` | other names for temporary tables
//deviation:filled-inserts | After a text with `search_path` and `pg_temp`, a query for temporary tables precedes each INSERT of the connection into a configured table. | PostgreSQL | `SET search_path = pg_temp, public` | –
func TestTemporary(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.LoadEngines, func(t *testing.T, s *harness.Scratch) {
		for _, c := range temporaryCases {
			if c.only != "" && c.only != s.Dialect.Name {
				continue
			}
			for _, path := range []string{"exec", "query", "prepared"} {
				t.Run(c.name+"/"+path, func(t *testing.T) {
					s := s
					if s.Memory {
						s = s.Engine.Scratch(t)
					}
					testTemporary(t, s, c, connPaths[path])
				})
			}
		}
	})
}

// connPaths are the ways to send an INSERT on one connection.
var connPaths = map[string]func(ctx context.Context, conn *sql.Conn, query string, args ...any) error{
	"exec": func(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
		_, err := conn.ExecContext(ctx, query, args...)
		return err
	},
	"query": func(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
		rows, err := conn.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	},
	"prepared": func(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
		stmt, err := conn.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		_, err = stmt.ExecContext(ctx, args...)
		return errors.Join(err, stmt.Close())
	},
}

func testTemporary(t *testing.T, s *harness.Scratch, c temporaryCase, send func(context.Context, *sql.Conn, string, ...any) error) {
	harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people")
	harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name VARCHAR(20))")
	db, m := s.Open(t, harness.FillID("people", policy.Table{}))
	ctx, rec := keyfill.Record(context.Background())
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range c.before {
		if _, err := conn.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	insert := c.insert
	if insert == "" {
		insert = "INSERT INTO people (name) VALUES (?)"
	}
	for range 2 {
		if err := send(ctx, conn, s.Placeholders(insert), "a"); err != nil {
			t.Fatal(err)
		}
	}
	want := 0
	if c.filled {
		want = 2
	}
	// Where there is one connection the temporary table hides the other one.
	qualified := map[string]string{"postgres": "public.people", "sqlite": "main.people"}[s.Dialect.Name]
	if qualified == "" {
		qualified = "people"
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+qualified+" WHERE name = 'a'"); n != want {
		t.Errorf("%d rows are in the configured table, want %d", n, want)
	}
	if n := len(rec.Keys("people")); n != want {
		t.Errorf("%d keys are recorded, want %d", n, want)
	}
	filled := uint64(0)
	for _, of := range m.Stats().Tables {
		filled += of.Filled
	}
	if filled != uint64(want) {
		t.Errorf("%d statements are counted as filled, want %d", filled, want)
	}
}

// TestTemporaryOfOthers: what another connection made is not there on this one,
// and what keyfill did not see made is the configured table's.
func TestTemporaryOfOthers(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name VARCHAR(20))")
		db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
		ctx := context.Background()
		one, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		if _, err := one.ExecContext(ctx, "CREATE TEMPORARY TABLE people (name VARCHAR(20))"); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, s.Placeholders("INSERT INTO people (name) VALUES (?)"), "other")
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
		tx, err := one.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(s.Placeholders("INSERT INTO people (name) VALUES (?)"), "one"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := one.QueryRowContext(ctx, "SELECT COUNT(*) FROM people").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows in the temporary table, error %v, want 1", n, err)
		}
	})
}

// TestTemporaryInText: the CREATE and the INSERT in one text.
//
//deviation:filled-inserts | An INSERT after `CREATE TEMP TABLE t` in one text is passed, even if a search path that keyfill did not see set (of the DSN, the role or the database) has `pg_temp` after another schema with a `t`. | PostgreSQL | `ALTER ROLE r SET search_path = public, pg_temp` | send the INSERT alone, or name its schema
func TestTemporaryInText(t *testing.T) {
	t.Parallel()
	engines := []harness.Engine{harness.SQLiteFile, harness.MySQLMulti, harness.PgxSimple, harness.PQDefault}
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		for i, c := range []struct {
			text   string
			filled int
		}{
			{"CREATE TEMPORARY TABLE people (name VARCHAR(20)); INSERT INTO people (name) VALUES ('a')", 0},
			{"CREATE TEMPORARY TABLE IF NOT EXISTS people (name VARCHAR(20)); INSERT INTO people (name) VALUES ('a'); INSERT INTO people VALUES ('b')", 0},
			{"CREATE TABLE staff (name VARCHAR(20)); INSERT INTO people (name) VALUES ('a')", 1},
			{"CREATE TEMPORARY TABLE others (name VARCHAR(20)); INSERT INTO people (name) VALUES ('a'); INSERT INTO others (name) VALUES ('b')", 1},
		} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people")
				harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name VARCHAR(20))")
				db, m := s.Open(t, harness.FillID("people", policy.Table{}))
				db.SetMaxOpenConns(1)
				harness.Exec(t, db, c.text)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != c.filled {
					t.Errorf("%d rows are in the configured table, want %d", n, c.filled)
				}
				if n := m.Stats().Tables["people"].Filled; n != uint64(c.filled) {
					t.Errorf("%d INSERTs are counted as filled, want %d", n, c.filled)
				}
			})
		}
	})
}

// TestTemporaryFoundRows: the question whether a table is a temporary one leaves
// FOUND_ROWS() as it is (seen on MariaDB 10.11), and is not asked where the
// INSERT's own text reads ROW_COUNT(), which is refused.
//
//deviation:filled-inserts | `INSERT … VALUES (ROW_COUNT())` is refused if the connection has a temporary table of that name: keyfill's own query would change the value of `ROW_COUNT()`. An engine without that function refuses the INSERT too. | MySQL, MariaDB, PostgreSQL, SQLite | `CREATE TEMPORARY TABLE t`; `INSERT INTO t (n) VALUES (ROW_COUNT())` | pass the number as an argument
func TestTemporaryFoundRows(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) PRIMARY KEY, n INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE notes (id CHAR(36) PRIMARY KEY, n INT)")
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"people": {Column: "id"}, "notes": {Column: "id"}}})
		conn := harness.ConnOf(t, db)
		harness.Must(t, conn, "CREATE TEMPORARY TABLE people (n INT)")
		for _, table := range []string{"people", "notes"} {
			rows, err := conn.QueryContext(ctx, "SELECT SQL_CALC_FOUND_ROWS seq FROM seq_1_to_5 LIMIT 1")
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
			harness.Must(t, conn, "INSERT INTO "+table+" (n) VALUES (1)")
			var n int
			if err := conn.QueryRowContext(ctx, "SELECT FOUND_ROWS()").Scan(&n); err != nil || n != 5 {
				t.Errorf("%s: FOUND_ROWS() is %d, error %v, want 5", table, n, err)
			}
		}
		// Where the name is no temporary table's nothing has to be asked.
		harness.Must(t, conn, "UPDATE people SET n = 2", "INSERT INTO notes (n) VALUES (ROW_COUNT())")
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM notes WHERE n = 1 AND length(id) = 36"); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO people (n) VALUES (ROW_COUNT())"); !errors.Is(err, rewrite.ErrReadsCount) {
			t.Errorf("error %v, want %v", err, rewrite.ErrReadsCount)
		}
	})
}
