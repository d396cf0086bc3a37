package apps_test

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestOtherWrappers puts another wrapper around keyfill and inside of it. Around
// it sees the original SQL, inside the filled SQL, and in both orders each key
// is drawn once.
func TestOtherWrappers(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}) {
		for _, w := range harness.SpyWrappers {
			t.Run(e.Name+"/"+w.Name, func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name TEXT)")

				t.Run("around", func(t *testing.T) {
					spy, rand := new(harness.Spy), new(harness.Entropy)
					cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
					inner, err := keyfill.WrapConnector(s.Connector, keyfill.Options{Policy: cfg, Rand: rand})
					if err != nil {
						t.Fatal(err)
					}
					db := sql.OpenDB(w.Wrap(t, inner, spy))
					defer db.Close()
					if _, err := keyfill.From(db); !errors.Is(err, keyfill.ErrNotOurs) {
						t.Errorf("From: %v, want %v", err, keyfill.ErrNotOurs)
					}
					throughBoth(t, s, db, rand, func(t *testing.T, query string) {
						if seen := spy.Take(); !slices.Equal(seen, []string{query}) {
							t.Errorf("the wrapper around saw %q, want %q", seen, query)
						}
					})
					checkUnwrap(t, s, db)
				})

				t.Run("inside", func(t *testing.T) {
					spy, rand := new(harness.Spy), new(harness.Entropy)
					cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
					inner := w.Wrap(t, s.Connector, spy)
					if _, err := keyfill.OpenDB(inner, keyfill.Options{Policy: cfg}); err == nil || !strings.Contains(err.Error(), "dialect:") {
						t.Errorf("an unknown driver without a dialect: error %v", err)
					}
					cfg.Dialect = s.Dialect.Name
					db, _ := harness.OpenConnector(t, inner, keyfill.Options{Policy: cfg, Rand: rand})
					throughBoth(t, s, db, rand, func(t *testing.T, query string) {
						seen := spy.Take()
						filled := func(q string) bool {
							return strings.Contains(q, "(name, "+s.Dialect.QuoteIdent("id")+")")
						}
						if len(seen) == 0 || !filled(seen[0]) || slices.Contains(seen, query) {
							t.Errorf("the wrapper inside saw %q of %q", seen, query)
						}
					})
				})
			})
		}
	}
}

// throughBoth inserts on every path and asks for one draw a row. check is called
// with the text after each.
func throughBoth(t *testing.T, s *harness.Scratch, db *sql.DB, rand *harness.Entropy, check func(t *testing.T, query string)) {
	harness.Exec(t, s.Raw, "DELETE FROM people")
	rows := 0
	step := func(path, query string, n int, f func(query string) error) {
		t.Run(path, func(t *testing.T) {
			query := s.Placeholders(query)
			var err error
			if got := harness.Drawn(rand, func() { err = f(query) }); err != nil || got != n {
				t.Errorf("%d keys are drawn, want %d; error %v", got, n, err)
			}
			rows += n
			check(t, query)
		})
	}
	step("exec", "INSERT INTO people (name) VALUES (?)", 1, func(query string) error {
		_, err := db.Exec(query, "a")
		return err
	})
	step("exec without arguments", "INSERT INTO people (name) VALUES ('a')", 1, func(query string) error {
		_, err := db.Exec(query)
		return err
	})
	step("query", "INSERT INTO people (name) VALUES (?), (?) RETURNING id", 2, func(query string) error {
		return harness.Drain(db, query, "a", "b")
	})
	step("query without arguments", "INSERT INTO people (name) VALUES ('a') RETURNING id", 1, func(query string) error {
		return harness.Drain(db, query)
	})
	step("prepared", "INSERT INTO people (name) VALUES (?)", 2, func(query string) error {
		stmt, err := db.Prepare(query)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for range 2 {
			if _, err := stmt.Exec("a"); err != nil {
				return err
			}
		}
		return nil
	})
	step("transaction", "INSERT INTO people (name) VALUES (?)", 1, func(query string) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Exec(query, "a"); err != nil {
			return err
		}
		return tx.Commit()
	})
	if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM people"); n != rows {
		t.Errorf("%d keys are stored, want %d", n, rows)
	}
}

// checkUnwrap asks that Unwrap reaches the driver's connection through both.
func checkUnwrap(t *testing.T, s *harness.Scratch, db *sql.DB) {
	t.Helper()
	connType := func(db *sql.DB, unwrap bool) (name string) {
		conn, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		err = conn.Raw(func(dc any) error {
			if unwrap {
				dc = keyfill.Unwrap(dc)
			}
			name = reflect.TypeOf(dc).String()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	if got, want := connType(db, true), connType(s.Raw, false); got != want {
		t.Errorf("Unwrap gives %s, want the driver's %s", got, want)
	}
	if got, want := connType(s.Raw, true), connType(s.Raw, false); got != want {
		t.Errorf("Unwrap of a connection that is not ours gives %s, want %s", got, want)
	}
}
