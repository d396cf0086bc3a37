package statements_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Each test in this file first does the naive thing through the raw driver and
// asks that it stores a wrong row without any error: that is the trap, seen on
// the versions in go.mod. Then it asks that keyfill does not.

// Placeholders follow the VALUES rows: the key's argument belongs before theirs. Appended
// at the end, the key goes to the upsert clause and its argument into the key column.
func TestTrapArgumentBehindValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		harness.Engine
		clause string
	}{
		{harness.SQLiteFile, "ON CONFLICT(id) DO UPDATE SET name = ?"},
		{harness.MySQLDefault, "ON DUPLICATE KEY UPDATE name = ?"},
		{harness.MySQLInterp, "ON DUPLICATE KEY UPDATE name = ?"},
	} {
		t.Run(c.Name, func(t *testing.T) {
			s := c.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE people (id VARCHAR(36) PRIMARY KEY, name TEXT, n INT)")

			harness.Exec(t, s.Raw, "INSERT INTO people (name, n, id) VALUES (?, ?, ?) "+c.clause, "a", 1, "upd", harness.Key)
			if got := harness.Text(t, s.Raw, "SELECT id FROM people"); got != "upd" {
				t.Errorf("the naive statement stored %q: this is no trap any more", got)
			}

			harness.Exec(t, s.Raw, "DELETE FROM people")
			db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
			harness.Exec(t, db, "INSERT INTO people (name, n) VALUES (?, ?) "+c.clause, "a", 1, "upd")
			if got := harness.Text(t, s.Raw, "SELECT id FROM people WHERE name = 'a' AND n = 1"); !harness.IsKey(got) {
				t.Errorf("id = %q", got)
			}
			// Once more with a key that is there: now the clause counts.
			harness.Exec(t, db, "INSERT INTO people (name, n, id) VALUES (?, ?, ?) "+c.clause,
				"b", 2, harness.Text(t, s.Raw, "SELECT id FROM people"), "upd")
			if got := harness.Text(t, s.Raw, "SELECT name FROM people"); got != "upd" {
				t.Errorf("name = %q after the update", got)
			}
		})
	}
}

// Two statements stand in one string: a key appended at the end becomes an
// argument of the second one, whose own goes into the key column of the first.
func TestTrapTwoStatements(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)")
	harness.Exec(t, s.Raw, "CREATE TABLE log (what TEXT)")

	harness.Exec(t, s.Raw, "INSERT INTO people (name, id) VALUES (?, ?); INSERT INTO log (what) VALUES (?)", "a", "b", harness.Key)
	if got := harness.Text(t, s.Raw, "SELECT id FROM people"); got != "b" {
		t.Errorf("the naive statement stored %q: this is no trap any more", got)
	}

	harness.Exec(t, s.Raw, "DELETE FROM people")
	harness.Exec(t, s.Raw, "DELETE FROM log")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	harness.Exec(t, db, "INSERT INTO people (name) VALUES (?); INSERT INTO log (what) VALUES (?)", "a", "b")
	// The driver gives each statement the arguments from the first.
	got := harness.Text(t, s.Raw, "SELECT name || ' ' || what || ' ' || length(id) FROM people, log")
	if want := "a a 36"; got != want {
		t.Errorf("stored %q, want %q", got, want)
	}
	if _, err := db.Prepare("INSERT INTO people (name) VALUES (?); INSERT INTO log (what) VALUES (?)"); !errors.Is(err, rewrite.ErrPerStatement) {
		t.Errorf("Prepare: error %v, want %v", err, rewrite.ErrPerStatement)
	}
}

// pgx.NamedArgs rewrites @name to $1 and does not know of a later argument: the key
// column gets the value of the name.
func TestTrapNamedArgs(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)")

	harness.Exec(t, s.Raw, "INSERT INTO people (name, id) VALUES (@name, $1)", pgx.NamedArgs{"name": "na"}, harness.Key)
	if got := harness.Text(t, s.Raw, "SELECT id FROM people"); got != "na" {
		t.Errorf("the naive statement stored %q: this is no trap any more", got)
	}

	harness.Exec(t, s.Raw, "DELETE FROM people")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	// Without a policy for the table it is pgx's business.
	harness.Exec(t, s.Raw, "CREATE TABLE others (id INT PRIMARY KEY, name TEXT)")
	harness.Exec(t, db, "INSERT INTO others (id, name) VALUES (@id, @name)", pgx.NamedArgs{"id": 1, "name": "na"})
	for name, args := range map[string][]any{
		"NamedArgs":       {pgx.NamedArgs{"name": "na"}},
		"StrictNamedArgs": {pgx.StrictNamedArgs{"name": "na"}},
		"mode before":     {pgx.QueryExecModeExec, pgx.NamedArgs{"name": "na"}},
	} {
		for _, query := range []string{
			"INSERT INTO people (name) VALUES (@name)",
			"INSERT INTO people (name, id) VALUES (@name, NULL)",
			"INSERT INTO people (name, id) VALUES (@name, @id)",
		} {
			if _, err := db.Exec(query, args...); err == nil {
				t.Errorf("%s: Exec(%q) is not refused", name, query)
			}
			rows, err := db.Query(query+" RETURNING id", args...)
			if err == nil {
				for rows.Next() {
				}
				if err = rows.Err(); err == nil {
					t.Errorf("%s: Query(%q) is not refused", name, query)
				}
			}
		}
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 0 {
		t.Errorf("%d rows are stored of statements that were refused: id = %q", n, harness.Text(t, s.Raw, "SELECT id FROM people"))
	}
}

// A leading QueryExecMode is no argument of the statement: filled or refused,
// but no value in another column.
func TestTrapQueryExecMode(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheDescribe} {
		_, err := db.Exec("INSERT INTO people (name) VALUES ($1)", mode, "a")
		var e *keyfill.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%v: %v", mode, err)
		}
		want := 1
		if err != nil {
			want = 0
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE name = 'a' AND length(id) = 36"); n != want {
			t.Errorf("%v: %d rows, want %d: %v", mode, n, want, err)
		}
		harness.Exec(t, s.Raw, "DELETE FROM people")
	}
}

// The 36 characters of a UUID as []byte: pgx takes the first 16 of them for the
// bytes of a uuid.
func TestTrapTextBytesIntoUUID(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id UUID PRIMARY KEY, name TEXT)")

	harness.Exec(t, s.Raw, "INSERT INTO people (name, id) VALUES ($1, $2)", "a", []byte(harness.Key))
	if got, want := harness.Text(t, s.Raw, "SELECT id::text FROM people"), uuid.UUID([]byte(harness.Key[:16])).String(); got != want {
		t.Errorf("the naive statement stored %q, want %q: this is no trap any more", got, want)
	}

	harness.Exec(t, s.Raw, "DELETE FROM people")
	db, m := s.Open(t, harness.FillID("people", policy.Table{}))
	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO people (name) VALUES ($1)", "a"); err != nil {
		t.Fatal(err)
	}
	id, ok := keyfill.Last[uuid.UUID](rec, "people")
	if got := harness.Text(t, s.Raw, "SELECT id::text FROM people"); !ok || got != id.String() {
		t.Errorf("stored %q, recorded %v", got, id)
	}
	keys, err := m.Keys(ctx, "people", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, isText := keys[0].(string); !isText {
		t.Errorf("Keys gives a %T for a uuid column", keys[0])
	}
}

// 16 bytes into CHAR(36): with interpolateParams they are stored as they are.
func TestTrapBytesIntoChar(t *testing.T) {
	t.Parallel()
	s := harness.MySQLInterp.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) PRIMARY KEY, name TEXT)")

	naive := []byte("0123456789abcdef") // any 16 bytes that the column's character set has
	harness.Exec(t, s.Raw, "INSERT INTO people (name, id) VALUES (?, ?)", "a", naive)
	if got := harness.Text(t, s.Raw, "SELECT id FROM people"); got != string(naive) {
		t.Errorf("the naive statement stored %q: this is no trap any more", got)
	}

	harness.Exec(t, s.Raw, "DELETE FROM people")
	db, m := s.Open(t, harness.FillID("people", policy.Table{}))
	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO people (name) VALUES (?)", "a"); err != nil {
		t.Fatal(err)
	}
	id, ok := keyfill.Last[uuid.UUID](rec, "people")
	if got := harness.Text(t, s.Raw, "SELECT id FROM people"); !ok || got != id.String() {
		t.Errorf("stored %q, recorded %v", got, id)
	}
	keys, err := m.Keys(ctx, "people", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, isText := keys[0].(string); !isText {
		t.Errorf("Keys gives a %T for a CHAR(36) column", keys[0])
	}
}

// A comb is no value of MariaDB's uuid type, which rejects a quarter of them and
// stores others out of order; UUIDv7 is.
func TestTrapCombIntoMariaDBUUID(t *testing.T) {
	t.Parallel()
	const keys = 400
	s := harness.MySQLDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id UUID PRIMARY KEY, n INT)")
	insert := func(next func() any) (rejected, inversions int) {
		t.Helper()
		harness.Exec(t, s.Raw, "DELETE FROM people")
		for i := range keys {
			if _, err := s.Raw.Exec("INSERT INTO people (id, n) VALUES (?, ?)", next(), i); err != nil {
				rejected++
			}
		}
		inversions = harness.Count(t, s.Raw, `SELECT COUNT(*) FROM (SELECT n, LAG(n) OVER (ORDER BY id) AS before_it FROM people) AS o
			WHERE n < before_it`)
		return rejected, inversions
	}
	from := func(src keysource.Source) func() any {
		return func() any {
			keys, err := src.Next(t.Context(), keysource.Request{N: 1, Layout: dialect.SequentialAsString})
			if err != nil {
				t.Fatal(err)
			}
			return keys[0]
		}
	}
	if rejected, inversions := insert(from(keysource.NewCOMB(keysource.Env{}, keysource.EpochDotNet))); rejected == 0 || inversions == 0 {
		t.Errorf("%d combs rejected, %d inversions: this is no trap any more", rejected, inversions)
	}
	if rejected, inversions := insert(from(keysource.NewUUIDv7(keysource.Env{}))); rejected != 0 || inversions != 0 {
		t.Errorf("uuidv7: %d rejected, %d inversions", rejected, inversions)
	}
	db, _ := s.Open(t, harness.FillID("people", policy.Table{Source: "comb"}))
	if _, err := db.Exec("INSERT INTO people (n) VALUES (1)"); !errors.Is(err, catalog.ErrCOMB) {
		t.Errorf("a COMB is not refused for a uuid column: %v", err)
	}
}
