package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/rewrite"
)

// scopeEngines are those through which numberings within a parent are tried.
var scopeEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// linesIn returns "order/no" of all lines in the order of their items.
func linesIn(t *testing.T, s *harness.Scratch) string {
	t.Helper()
	rows, err := s.Raw.Query("SELECT order_id, no FROM order_lines ORDER BY item, order_id, no")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var order, no int64
		if err := rows.Scan(&order, &no); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d/%d", order, no))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestScope: the lines of each parent are 1, 2, 3 …, however the parent is said.
func TestScope(t *testing.T) {
	t.Parallel()
	harness.Each(t, scopeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		db, m := s.Open(t, harness.LinesOf(harness.ByOrder))
		ctx, rec := keyfill.Record(context.Background())
		insert := func(query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(ctx, s.Placeholders(query), args...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		insert("INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
		insert("INSERT INTO order_lines (order_id, item) VALUES (?, ?)", 7, "b")
		insert("INSERT INTO order_lines (item, order_id) VALUES (?, 8)", "c")
		insert("INSERT INTO order_lines (order_id, item) VALUES (9, 'd1'), (7, 'd2'), (9, 'd3'), (-1, 'd4'), ('8', 'd5')")
		insert("INSERT INTO order_lines (item, order_id) VALUES (?, ?), (?, ?)", "e1", 8, "e2", "8")
		insert("INSERT INTO order_lines (no, order_id, item) VALUES (NULL, ?, ?), (NULL, 8, 'f2')", 7, "f1")
		if s.Server == harness.MariaDB {
			insert("INSERT INTO order_lines SET item = ?, order_id = ?", "f3", 8)
		} else {
			insert("INSERT INTO order_lines (item, order_id) VALUES (?, ?)", "f3", 8)
		}
		if s.IsPostgres() {
			insert("INSERT INTO order_lines (item, order_id) VALUES (?, ?::bigint)", "g", 7)
		} else {
			insert("INSERT INTO order_lines (item, order_id) VALUES (?, ?)", "g", 7)
		}
		insert("INSERT INTO order_lines VALUES (11, NULL, 'g'), (11, NULL, 'g')")
		stmt, err := db.PrepareContext(ctx, s.Placeholders("INSERT INTO order_lines (order_id, item) VALUES (?, ?)"))
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for i, order := range []int{7, 10, 7, 10} {
			if _, err := stmt.ExecContext(ctx, order, fmt.Sprintf("h%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := linesIn(t, s), "7/1 7/2 8/1 9/1 7/3 9/2 -1/1 8/2 8/3 8/4 7/4 8/5 8/6 7/5 11/1 11/2 7/6 10/1 7/7 10/2"; got != want {
			t.Errorf("lines\n%s, want\n%s", got, want)
		}
		for _, k := range rec.Keys("order_lines") {
			if k.Outcome != keyfill.Stored {
				t.Errorf("key of row %d is %v", k.Row, k.Outcome)
			}
		}
		if got := m.Stats().Tables["order_lines"]; got.Keys != 20 {
			t.Errorf("%d keys counted, want 20", got.Keys)
		}
		rows := harness.IntegersOf(t, s.Raw, "SELECT next_value FROM keyfill_sequences WHERE name LIKE 'order_lines.no[%' ORDER BY name")
		if !slices.Equal(rows, []int64{2, 3, 3, 8, 7, 3}) {
			t.Errorf("the rows of the parents stand at %v", rows)
		}
	})
}

// TestScopeGoesOn: a parent that had rows before, some of them brought by the
// statement's own transaction, goes on above them.
func TestScopeGoesOn(t *testing.T) {
	t.Parallel()
	harness.Each(t, scopeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		harness.Exec(t, s.Raw, "INSERT INTO order_lines (order_id, no, item) VALUES (7, 41, 'a'), (8, 5, 'b')")
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (7, 'c'), (8, 'd'), (9, 'e')")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{
			"INSERT INTO order_lines (order_id, no, item) VALUES (10, 3, 'f')",
			"INSERT INTO order_lines (order_id, item) VALUES (10, 'g')",
		} {
			if _, err := tx.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got, want := linesIn(t, s), "7/41 8/5 7/42 8/6 9/1 10/3 10/4"; got != want {
			t.Errorf("lines %s, want %s", got, want)
		}
	})
}

// TestScopeRolledBack: the numbers of a transaction go back with its rows, the rows of
// new parents too, be it all of them or the ones after a savepoint; and so do the numbers
// of a statement that fails.
func TestScopeRolledBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, scopeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
		one := s.Placeholders("INSERT INTO order_lines (order_id, item) VALUES (?, ?)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, order := range []int{7, 7, 8} {
			if _, err := tx.Exec(one, order, "lost"); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if tx, err = db.Begin(); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"b", "SAVEPOINT one", "lost", "ROLLBACK TO SAVEPOINT one", "c"} {
			if strings.Contains(text, "SAVEPOINT") {
				_, err = tx.Exec(text)
			} else {
				_, err = tx.Exec(one, 7, text)
			}
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		// The second row is there already.
		if _, err := db.Exec("INSERT INTO order_lines (order_id, no, item) VALUES (7, NULL, 'lost'), (7, 1, 'lost')"); err == nil {
			t.Error("a row was stored twice")
		}
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (8, 'd'), (7, 'e')")
		if got, want := linesIn(t, s), "7/1 7/2 7/3 8/1 7/4"; got != want {
			t.Errorf("lines %s, want %s", got, want)
		}
	})
}

// TestScopeRefused: statements whose parent is not known are refused, and neither
// the table nor the state sees anything of them.
//
//deviation:filled-inserts | With `scope:` or `from:`, an INSERT is an error where the value of such a column is no argument and no plain literal, or is a value that the engine may store as another one. | all | `INSERT INTO order_lines (order_id) VALUES (1 + 1)`; 70000 for a SMALLINT on MySQL; a text that ends in a space | `unsupported: unfilled` for the first kind
func TestScopeRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, scopeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE names (name VARCHAR(50))")
		harness.Exec(t, s.Raw, "INSERT INTO names VALUES ('x')")
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		for _, tt := range []struct {
			query string
			args  []any
			text  string // in the error; empty for rewrite.ErrScope
		}{
			{"INSERT INTO order_lines (item) VALUES ('a')", nil, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES (7 + 1, 'a')", nil, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES ((SELECT 7), 'a')", nil, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES (NULL, 'a')", nil, ""},
			{"INSERT INTO order_lines (order_id, item) SELECT 7, name FROM names", nil, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES (?, ?)", []any{nil, "a"}, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES (?, ?)", []any{sql.NullInt64{}, "a"}, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES (?, 'a'), (?, 'b')", []any{7, nil}, ""},
			{"INSERT INTO order_lines (order_id, item) VALUES (?, ?)", []any{7.0, "a"}, "is given that is no integer"},
			{"INSERT INTO order_lines (order_id, item) VALUES (?, ?)", []any{"7a", "a"}, "is given that is no integer"},
			{"INSERT INTO order_lines (order_id, item) VALUES ('7.0', 'a')", nil, "is given that is no integer"},
		} {
			_, err := db.Exec(s.Placeholders(tt.query), tt.args...)
			var own *keyfill.Error
			switch {
			case !errors.As(err, &own) || own.Column != "no":
				t.Errorf("%s %v: %v", tt.query, tt.args, err)
			case tt.text == "" && !errors.Is(err, rewrite.ErrScope):
				t.Errorf("%s %v: %v, want %v", tt.query, tt.args, err, rewrite.ErrScope)
			case !strings.Contains(err.Error(), tt.text), strings.Contains(err.Error(), "7a"):
				t.Errorf("%s %v: %v, want %q", tt.query, tt.args, err, tt.text)
			}
		}
		if got := linesIn(t, s); got != "" {
			t.Errorf("lines %s were stored", got)
		}
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
		if got := linesIn(t, s); got != "7/1" {
			t.Errorf("lines %s, want 7/1", got)
		}
	})
}

// TestScopeReturning: rows that are read back have the numbers that are stored, in a
// transaction of the statement's own and in the application's.
func TestScopeReturning(t *testing.T) {
	t.Parallel()
	harness.Each(t, scopeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		query := s.Placeholders("INSERT INTO order_lines (order_id, item) VALUES (?, 'a'), (?, 'b'), (?, 'c') RETURNING no")
		read := func(rows *sql.Rows, err error) (got []int64) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var no int64
				if err := rows.Scan(&no); err != nil {
					t.Fatal(err)
				}
				got = append(got, no)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := read(db.Query(query, 7, 8, 7)); !slices.Equal(got, []int64{1, 1, 2}) {
			t.Errorf("rows %v, want 1, 1 and 2", got)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if got := read(tx.Query(query, 8, 7, 8)); !slices.Equal(got, []int64{2, 3, 3}) {
			t.Errorf("rows %v, want 2, 3 and 3", got)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		var no int64
		one := s.Placeholders("INSERT INTO order_lines (order_id, item) VALUES (?, 'd') RETURNING no")
		if err := db.QueryRow(one, 7).Scan(&no); err != nil || no != 4 {
			t.Errorf("number %d, %v, want 4", no, err)
		}
	})
}

// TestScopeNotAsked: numbers of no parent are not given.
func TestScopeNotAsked(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		_, m := s.Open(t, harness.LinesOf(harness.ByOrder))
		if first, err := m.Reserve(context.Background(), "order_lines", 1); err == nil {
			t.Errorf("Reserve gives %d", first)
		}
		if keys, err := m.Keys(context.Background(), "order_lines", 1); err == nil {
			t.Errorf("Keys gives %v", keys)
		}
	})
}

// TestScopeExplained: EXPLAIN draws nothing.
func TestScopeExplained(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
		rows, err := db.Query("EXPLAIN INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
		if got := harness.IntegersOf(t, s.Raw, "SELECT next_value FROM keyfill_sequences WHERE name = 'order_lines.no[7]'"); !slices.Equal(got, []int64{2}) {
			t.Errorf("the row of the parent stands at %v", got)
		}
	})
}
