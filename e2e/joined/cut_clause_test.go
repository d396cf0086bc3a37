package joined_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/rewrite"
)

// cutEngines have the drivers that differ in what they do with arguments.
var cutEngines = []harness.Engine{harness.SQLiteFile, harness.MattnFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// clause returns an upsert clause about the key of t, with as many arguments as it has.
func clause(s *harness.Scratch, set string) string {
	if s.Dialect.Name == "mariadb" {
		return " ON DUPLICATE KEY UPDATE " + set
	}
	return " ON CONFLICT (id) DO UPDATE SET " + set
}

// TestCutClause: an upsert clause about a key without gaps is cut, on every path, with its
// arguments, so that a number that is there all the same is an error and changes no row.
//
//deviation:keys-of-a-transaction | An upsert clause whose only target is the numbered key, with `scope:` too, is cut from the text with its arguments: the results are as for an INSERT without it. A number that is there all the same is a duplicate-key error. | MySQL, MariaDB, PostgreSQL, SQLite | `INSERT INTO t (a) VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 2` | bring the key
//deviation:keys-of-a-transaction | The upsert clause is cut only if each unique index of the table is on the key, alone or with the columns of its `scope:`. | MySQL, MariaDB | `INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2` | bring the key
func TestCutClause(t *testing.T) {
	t.Parallel()
	harness.Each(t, cutEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, b INT)")
		db, m := s.Open(t, harness.JoinedID("t"))
		ctx, rec := keyfill.Record(context.Background())
		excluded := "a = excluded.a"
		if s.Dialect.Name == "mariadb" {
			excluded = "a = VALUES(a)"
		}
		two := s.Placeholders("INSERT INTO t (a, b) VALUES (?, ?), (?, ?)" + clause(s, "a = ?, b = ?"))
		inTx := func(f func(tx *sql.Tx) error) {
			t.Helper()
			if err := harness.InTx(db, f); err != nil {
				t.Error(err)
			}
		}
		res, err := db.ExecContext(ctx, two, 1, 10, 2, 20, 99, 98)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.RowsAffected(); err != nil || n != 2 {
			t.Errorf("%d rows are affected, %v", n, err)
		}
		if id, err := res.LastInsertId(); err == nil && id != 1 && id != 2 { // SQLite returns the last one
			t.Errorf("LastInsertId is %d", id)
		}
		stmt, err := db.PrepareContext(ctx, two)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stmt.Exec(3, 30, 4, 40, 97, 96); err != nil {
			t.Error(err)
		}
		if _, err := stmt.Exec(5, 50, 6, 60, 97); err == nil {
			t.Error("an argument too few: no error")
		}
		if err := stmt.Close(); err != nil {
			t.Error(err)
		}
		inTx(func(tx *sql.Tx) error {
			if _, err := tx.Exec(two, 5, 50, 6, 60, 95, 94); err != nil {
				return err
			}
			_, err := tx.Exec("INSERT INTO t (a) VALUES (7)" + clause(s, excluded))
			return err
		})
		if s.Dialect.Name != "mariadb" || strings.HasPrefix(s.Name, "mysql") {
			query := s.Placeholders("INSERT INTO t (a) VALUES (?)" + clause(s, "a = ?") + " RETURNING id, b, CAST(? AS CHAR(3))")
			var id int64
			var b sql.NullInt64
			var text string
			if err := db.QueryRow(query, 8, 93, "abc").Scan(&id, &b, &text); err != nil || id != 8 || text != "abc" {
				t.Errorf("RETURNING: %d, %q, %v", id, text, err)
			}
		}
		want := []string{"1 10", "2 20", "3 30", "4 40", "5 50", "6 60", "7 <nil>", "8 <nil>"}
		if got := stored(t, s.Raw); !slices.Equal(got, want) {
			t.Errorf("stored are %q, want %q", got, want)
		}
		if keys := rec.Keys("t"); len(keys) == 0 || keys[0].Outcome != keyfill.Stored {
			t.Errorf("recorded are %v", keys)
		}

		if refused := m.Stats().Tables["t"].Refused[keyfill.Reason(rewrite.ErrGap)]; refused != 0 {
			t.Errorf("%d are refused", refused)
		}

		// A row that brings its key is the program's, and none may be left out beside others.
		own := s.Placeholders("INSERT INTO t (id, a) VALUES (?, ?)" + clause(s, excluded))
		if _, err := db.Exec(own, 5, 19); err != nil || harness.Text(t, s.Raw, "SELECT a FROM t WHERE id = 5") != "19" {
			t.Errorf("with its key: %v", err)
		}
		null := map[bool]string{true: "DEFAULT", false: "NULL"}[s.IsPostgres()]
		_, err = db.Exec("INSERT INTO t (id, a) VALUES (5, 29), (" + null + ", 9)" + clause(s, excluded))
		harness.RefusedFor(t, "mixed rows", err, rewrite.ErrGap)
		if _, err := db.Exec("INSERT INTO t (id, a) VALUES (" + null + ", 9)" + clause(s, excluded)); err != nil || harness.Text(t, s.Raw, "SELECT count(*) FROM t WHERE id = 9 AND a = 9") != "1" {
			t.Errorf("with its column: %v", err)
		}

		// The number that is next is there.
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a, b) VALUES (10, 0, 0)")
		if _, err := db.Exec("INSERT INTO t (a) VALUES (11)" + clause(s, excluded)); err == nil {
			t.Error("the number is there: no error")
		}
		if got := harness.Text(t, s.Raw, "SELECT a FROM t WHERE id = 10"); got != "0" {
			t.Errorf("the row that was there has %s", got)
		}
	})
}

// TestCutClauseNumbered: on SQLite, where drivers read numbered placeholders in different
// ways, a clause that has some is not cut, and the INSERT is refused before anything is
// sent. Numbers before the clause do not matter.
func TestCutClauseNumbered(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, b INT)")
		db, _ := s.Open(t, harness.JoinedID("t"))
		n := 0
		for _, mark := range []string{"?", "$"} {
			values := strings.ReplaceAll("INSERT INTO t (a, b) VALUES (#1, #2) ON CONFLICT (id) DO UPDATE SET a = ", "#", mark)
			harness.Exec(t, db, values+"excluded.a", 1, 2)
			n++
			for _, set := range []string{mark + "1", "b + " + mark + "2"} {
				_, err := db.Exec(values+set, 1, 2)
				harness.RefusedFor(t, values+set, err, rewrite.ErrGap)
			}
			_, err := db.Exec(values+mark+"3", 1, 2, 3)
			harness.RefusedFor(t, values+mark+"3", err, rewrite.ErrGap)
		}
		harness.Exec(t, db, "INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET a = ?", 1, 2, 3)
		if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2"); got != n+1 {
			t.Errorf("%d rows are stored, want %d", got, n+1)
		}
	})
}

// stored returns the keys of t, with b.
func stored(t *testing.T, db *sql.DB) (rows []string) {
	t.Helper()
	found, err := db.Query("SELECT id, b FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var id int64
		var b any
		if err := found.Scan(&id, &b); err != nil {
			t.Fatal(err)
		}
		if text, ok := b.([]byte); ok {
			b = string(text)
		}
		rows = append(rows, fmt.Sprint(id, " ", b))
	}
	return rows
}

// TestCutClauseQuery: the rows of a query, and rows within a parent.
func TestCutClauseQuery(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, b INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE s (a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO s VALUES (1), (2)")
		db, _ := s.Open(t, harness.JoinedID("t"))
		if _, err := db.Exec(s.Placeholders("INSERT INTO t (a) SELECT a FROM s WHERE a < ?"+clause(s, "a = ?")), 9, 8); err != nil {
			t.Errorf("the rows of a query: %v", err)
		}
		if n := harness.Count(t, s.Raw, "SELECT count(*) FROM t WHERE id < 3"); n != 2 {
			t.Errorf("%d rows of a query are stored", n)
		}
		harness.CreateLines(t, s)
		lines, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		query := "INSERT INTO order_lines (order_id, item) VALUES (7, 'a'), (7, 'b')"
		harness.Exec(t, lines, query+strings.Replace(clause(s, "item = 'c'"), "(id)", "(no)", 1))
		if got := harness.Text(t, s.Raw, "SELECT max(no) FROM order_lines WHERE item <> 'c'"); got != "2" {
			t.Errorf("the last number is %s", got)
		}
	})
}

// TestClauseStays: beside another unique index, a clause without a target may be about that.
func TestClauseStays(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		_, err := db.Exec("INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2")
		harness.RefusedFor(t, "a table with another unique index", err, rewrite.ErrGap)
	})
}
