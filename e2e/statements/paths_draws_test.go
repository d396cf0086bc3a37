package statements_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// drawCases are INSERTs into "notes" and how many keys they take. The
// placeholders are question marks.
var drawCases = []struct {
	name  string
	query string
	args  []any
	keys  int
}{
	{"no argument", "INSERT INTO notes (body) VALUES ('a')", nil, 1},
	{"an argument", "INSERT INTO notes (body) VALUES (?)", []any{"a"}, 1},
	{"rows", "INSERT INTO notes (body) VALUES (?), (?), (?)", []any{"a", "b", "c"}, 3},
	{"own key", "INSERT INTO notes (id, body) VALUES (?, ?)", []any{"01900000-0000-7000-8000-000000000001", "a"}, 0},
	{"empty key", "INSERT INTO notes (id, body) VALUES (?, ?)", []any{"", "a"}, 1},
	{"null key", "INSERT INTO notes (id, body) VALUES (?, ?)", []any{nil, "a"}, 1},
	{"types", "INSERT INTO notes (body, n, x, b, at) VALUES (?, ?, ?, ?, ?)",
		[]any{"a", int64(1), 1.5, []byte("b"), time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)}, 1},
	{"nil", "INSERT INTO notes (body, n) VALUES (?, ?)", []any{"a", nil}, 1},
}

// notes creates the table of drawCases and opens it through keyfill with
// counted entropy.
func notes(t *testing.T, s *harness.Scratch) (*sql.DB, *keyfill.Mount, *harness.Entropy) {
	t.Helper()
	blob, at := "BLOB", "DATETIME(6)"
	if s.IsPostgres() {
		blob, at = "BYTEA", "TIMESTAMPTZ"
	}
	harness.Exec(t, s.Raw, fmt.Sprintf(`CREATE TABLE notes (id CHAR(36) NOT NULL PRIMARY KEY, body TEXT, n BIGINT,
		x DOUBLE PRECISION, b %s, at %s)`, blob, at))
	rand := new(harness.Entropy)
	cfg := harness.FillID("notes", policy.Table{Source: "uuidv4"})
	db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Rand: rand})
	return db, m, rand
}

// TestOneDraw asks that keys are drawn once for each execution, although
// go-sql-driver answers a direct Exec and Query with driver.ErrSkip, so that
// database/sql prepares the statement and asks again.
func TestOneDraw(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		db, _, rand := notes(t, s)
		for _, c := range drawCases {
			query := s.Placeholders(c.query)
			run := func(path string, f func() error) {
				t.Run(c.name+"/"+path, func(t *testing.T) {
					harness.Exec(t, s.Raw, "DELETE FROM notes")
					var err error
					if n := harness.Drawn(rand, func() { err = f() }); err != nil || n != c.keys {
						t.Fatalf("%d keys are drawn, want %d; error %v", n, c.keys, err)
					}
					if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM notes"); n != max(c.keys, 1) {
						t.Errorf("%d rows are stored", n)
					}
				})
			}
			run("exec", func() error {
				_, err := db.Exec(query, c.args...)
				return err
			})
			run("query", func() error {
				rows, err := db.Query(query+" RETURNING id", c.args...)
				if err != nil {
					return err
				}
				for rows.Next() {
				}
				return rows.Err()
			})
			run("prepared", func() error {
				stmt, err := db.Prepare(query)
				if err != nil {
					return err
				}
				defer stmt.Close()
				_, err = stmt.Exec(c.args...)
				return err
			})
			run("transaction", func() error {
				tx, err := db.Begin()
				if err != nil {
					return err
				}
				defer tx.Rollback()
				if _, err := tx.Exec(query, c.args...); err != nil {
					return err
				}
				return tx.Commit()
			})
		}
	})
}

// TestOneDrawOfDriverTypes is for values that go-sql-driver passes on although they are
// no driver.Value: they have to be found again among the parked ones.
func TestOneDrawOfDriverTypes(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		db, _, rand := notes(t, s)
		for _, arg := range []any{uint(7), uint64(1 << 63), json.RawMessage(`{"a": 1}`), json.RawMessage(nil)} {
			n := harness.Drawn(rand, func() { harness.Exec(t, db, "INSERT INTO notes (body) VALUES (?)", arg) })
			if n != 1 {
				t.Errorf("%T: %d keys are drawn, want 1", arg, n)
			}
		}
	})
}

// TestOneDrawWithQuestionMarks is for a text that go-sql-driver cannot
// interpolate, because it counts a question mark in a string as a placeholder:
// whether it answers ErrSkip differs from call to call.
func TestOneDrawWithQuestionMarks(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		db, _, rand := notes(t, s)
		for i := range 4 {
			query := "INSERT INTO notes (body, n) VALUES ('what?', ?)"
			if i%2 == 1 {
				query = "INSERT INTO notes (body, n) VALUES ('what', ?)"
			}
			if n := harness.Drawn(rand, func() { harness.Exec(t, db, query, int64(i)) }); n != 1 {
				t.Errorf("%s: %d keys are drawn, want 1", query, n)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM notes WHERE body = 'what?'"); n != 2 {
			t.Errorf("%d rows with the question mark, want 2", n)
		}
	})
}

// TestOneDrawInSharedTransaction is for goroutines that share a transaction: the
// statements of one come between the two halves of another's.
func TestOneDrawInSharedTransaction(t *testing.T) {
	t.Parallel()
	const goroutines, inserts = 8, 10
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		db, _, rand := notes(t, s)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		query := s.Placeholders("INSERT INTO notes (body, n) VALUES (?, ?)")
		n := harness.Drawn(rand, func() {
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					for i := range inserts {
						// Every second one has arguments that others have too.
						if _, err := tx.Exec(query, "body", int64(i%2*(g*inserts+i))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
		if n != goroutines*inserts {
			t.Errorf("%d keys are drawn, want %d", n, goroutines*inserts)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM notes"); n != goroutines*inserts {
			t.Errorf("%d keys are stored, want %d", n, goroutines*inserts)
		}
	})
}

// TestOpenRows reads the rows of an INSERT … RETURNING to the end, which are more than a
// driver reads ahead. Through go-sql-driver they come from a statement that database/sql
// prepared after the driver had skipped: it must still be open.
func TestOpenRows(t *testing.T) {
	t.Parallel()
	const n = 64
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		db, _, rand := notes(t, s)
		b := s.Builder()
		var values []string
		for i := range n {
			values = append(values, "("+b.Bind(strings.Repeat("x", 2000)+fmt.Sprint(i))+")")
		}
		ctx, rec := keyfill.Record(context.Background())
		var keys []string
		draws := harness.Drawn(rand, func() {
			rows, err := db.QueryContext(ctx, "INSERT INTO notes (body) VALUES "+strings.Join(values, ", ")+" RETURNING id, body", b.Args...)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var id, body string
				if err := rows.Scan(&id, &body); err != nil {
					t.Fatal(err)
				}
				if want := fmt.Sprint(len(keys)); strings.TrimLeft(body, "x") != want {
					t.Fatalf("row %s is %q", want, strings.TrimLeft(body, "x"))
				}
				keys = append(keys, id)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		})
		if len(keys) != n || draws != n {
			t.Errorf("%d rows and %d draws, want %d", len(keys), draws, n)
		}
		for i, k := range rec.Keys("notes") {
			if fmt.Sprint(k.Key) != keys[i] || k.Outcome != keyfill.Stored {
				t.Errorf("row %d: %v is recorded as %v, but %s came back", i, k.Key, k.Outcome, keys[i])
			}
		}
	})
}
