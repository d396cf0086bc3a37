package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// people creates a table and opens it through keyfill.
func people(t *testing.T, s *harness.Scratch) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE people (name VARCHAR(40), id CHAR(36) NOT NULL PRIMARY KEY, n INT)")
	return s.Open(t, harness.FillID("people", policy.Table{}))
}

// TestNamedArguments fills statements whose arguments have names, in SQLite, and
// leaves the error to the drivers that take none.
func TestNamedArguments(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	db, _ := people(t, s)
	for i, c := range []struct {
		query string
		args  []any
	}{
		{"INSERT INTO people (name, n) VALUES (:name, :n)", []any{sql.Named("name", "a"), sql.Named("n", 7)}},
		{"INSERT INTO people (name, n) VALUES (@name, @n)", []any{sql.Named("n", 7), sql.Named("name", "a")}},
		{"INSERT INTO people (name, n) VALUES ($name, $n)", []any{sql.Named("name", "a"), sql.Named("n", 7)}},
		{"INSERT INTO people (name, id, n) VALUES (:name, :id, :n)",
			[]any{sql.Named("id", ""), sql.Named("name", "a"), sql.Named("n", 7)}},
		{"INSERT INTO people (name, id, n) VALUES (:name, NULL, :n) ON CONFLICT (id) DO UPDATE SET name = :name",
			[]any{sql.Named("n", 7), sql.Named("name", "a")}},
		{"INSERT INTO people (name, n) VALUES (?2, ?1)", []any{7, "a"}},
		{"INSERT INTO people (id, name, n) VALUES (?3, ?2, ?1)", []any{7, "a", nil}},
	} {
		harness.Exec(t, s.Raw, "DELETE FROM people")
		if _, err := db.Exec(c.query, c.args...); err != nil {
			t.Errorf("case %d: %v", i, err)
			continue
		}
		if _, err := harness.PreparedExec(db, c.query, c.args...); err != nil {
			t.Errorf("case %d, prepared: %v", i, err)
			continue
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE name = 'a' AND n = 7 AND length(id) = 36"); n != 2 {
			t.Errorf("case %d: %d rows, want 2", i, n)
		}
	}
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := people(t, s)
		_, err := db.Exec("INSERT INTO people (name) VALUES (:name)", sql.Named("name", "a"))
		if err == nil {
			t.Error("a name is no error")
		}
	})
}

// TestStatementCache: a query without arguments is the same text each time where
// pgx prepares and caches by text, and a literal key is never prepared.
//
//deviation:filled-inserts | Server logs, statement caches and `pg_stat_statements` show the filled text. A text without placeholders has its key as a literal, so it differs each time. | all | `VALUES ('a', '01a1…')` for `VALUES ('a')` | use placeholders
func TestStatementCache(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	db, _ := people(t, s)
	db.SetMaxOpenConns(1)
	for range 20 {
		if err := harness.Drain(db, "INSERT INTO people (name) VALUES ('a') RETURNING id"); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, "INSERT INTO people (name) VALUES ('b')")
		harness.Exec(t, db, "INSERT INTO people (name) VALUES ($1)", "c")
	}
	if n := harness.Count(t, db, "SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO people%'"); n != 2 {
		t.Errorf("%d statements are cached, want 2", n)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM people"); n != 60 {
		t.Errorf("%d keys are stored, want 60", n)
	}
}

// TestStatementsAreClosed: no prepared statement stays open on the server, when
// the driver skips, when the statement fails and when its rows are left unread.
func TestStatementsAreClosed(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	db, _ := people(t, s)
	db.SetMaxOpenConns(1)
	for i := range 10 {
		harness.Exec(t, db, "INSERT INTO people (name) VALUES (?)", "a")
		if _, err := db.Exec("INSERT INTO people (name) VALUES (?)", strings.Repeat("x", 41)); err == nil {
			t.Fatal("the value fits")
		}
		rows, err := db.Query("INSERT INTO people (name, n) VALUES (?, ?), (?, ?) RETURNING id", "b", i, "c", i)
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		rows.Close()
		if _, err := harness.PreparedExec(db, "INSERT INTO people (name) VALUES ('d')"); err != nil {
			t.Fatal(err)
		}
	}
	var name string
	var n int
	if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").Scan(&name, &n); err != nil || n < 40 {
		t.Fatalf("%d statements were prepared, error %v: is this the session?", n, err)
	}
	var closed int
	if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Com_stmt_close'").Scan(&name, &closed); err != nil || closed != n {
		t.Errorf("%d of %d prepared statements are closed, error %v", closed, n, err)
	}
}

// TestManyArguments crosses the engines' limits of arguments: then the keys are
// literals, and a Prepare is refused.
//
//deviation:filled-inserts | `Prepare` of an INSERT is an error if its arguments and keys together are more than the engine takes. Executed directly, it gets literals. | all | 40,000 rows of one argument, prepared | –
//deviation:filled-inserts | If an INSERT that is executed directly has more arguments than the engine takes, keyfill prepares, executes and closes it. | PostgreSQL with pgx | 40,000 rows of one argument | –
func TestManyArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		harness.Engine
		limit int
	}{
		{harness.SQLiteFile, 32766}, {harness.MySQLDefault, 65535}, {harness.PgxDefault, 65535}, {harness.PQDefault, 65535},
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := c.Scratch(t)
			db, _ := people(t, s)
			for over := range 2 {
				// Each row has an argument and a key; a statement over the limit
				// has room for the arguments alone.
				rows := c.limit/2 + over
				b := s.Builder()
				values := make([]string, rows)
				for i := range values {
					values[i] = "(" + b.Bind(fmt.Sprint(i)) + ")"
				}
				query := "INSERT INTO people (name) VALUES " + strings.Join(values, ", ")
				harness.Exec(t, s.Raw, "DELETE FROM people")
				harness.Exec(t, db, query, b.Args...)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM people"); n != rows {
					t.Errorf("%d rows are stored, want %d", n, rows)
				}
				harness.Exec(t, s.Raw, "DELETE FROM people")
				_, err := harness.PreparedExec(db, query, b.Args...)
				if refused := 2*rows > c.limit; refused {
					var e *keyfill.Error
					if !errors.As(err, &e) {
						t.Errorf("%d rows, prepared: %v, want a refusal", rows, err)
					}
				} else if err != nil {
					t.Errorf("%d rows, prepared: %v", rows, err)
				}
			}
		})
	}
}

// TestCancelledContext: what is cancelled before it is sent stores nothing and
// draws no key, and the connection stays good.
func TestCancelledContext(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.LoadEngines, func(t *testing.T, s *harness.Scratch) {
		db, _, rand := notes(t, s)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		n := harness.Drawn(rand, func() {
			if _, err := db.ExecContext(ctx, "INSERT INTO notes (body) VALUES ('a')"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := db.ExecContext(ctx, "INSERT INTO notes (body) VALUES ('b')"); err != nil {
			t.Error(err)
		}
		if stored := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM notes"); n != 0 || stored != 1 {
			t.Errorf("%d keys are drawn and %d rows stored, want 0 and 1", n, stored)
		}
	})
}

// TestEngineErrors: an error of the engine comes back as the driver's own, and
// the keys are recorded as not stored.
func TestEngineErrors(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		db, _ := people(t, s)
		harness.Exec(t, s.Raw, "CREATE UNIQUE INDEX people_name ON people (name)")
		insert := s.Placeholders("INSERT INTO people (name) VALUES (?)")
		harness.Exec(t, db, insert, "a")
		_, want := s.Raw.Exec(s.Placeholders("INSERT INTO people (name, id) VALUES (?, ?)"), "a", harness.Key)
		if want == nil {
			t.Fatal("two rows have the same name")
		}
		ctx, rec := keyfill.Record(context.Background())
		_, got := db.ExecContext(ctx, insert, "a")
		if got == nil || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
			t.Errorf("error %T %v, want %T %v", got, got, want, want)
		}
		keys := rec.Keys("people")
		if len(keys) != 1 || keys[0].Outcome != keyfill.NotStored {
			t.Errorf("recorded %v", keys)
		}
	})
}
