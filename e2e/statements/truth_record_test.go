package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// truthEngines are those on which Record and LastInsertId are asked for the truth.
var truthEngines = []harness.Engine{harness.SQLiteFile, harness.MattnFile, harness.MySQLMulti, harness.MySQLMultiInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// truthCase is a statement on the table people (id, code, name), which has a row
// of id 1 and code 'dup', and what is to be known afterwards. The keys are 101
// and on, in the order in which they are drawn.
type truthCase struct {
	name string
	only string // the dialects; empty for all
	path string // exec, query, prepared, twice (prepared and executed twice), first (the first row is read)
	text string

	// outcomes are the outcomes of the keys that are recorded: S for Stored, N for
	// NotStored, U for Unknown, on one dialect after its name. "*" asks only that none of
	// them is wrong.
	outcomes string

	// last is what LastInsertId gives of the last Exec; -1 where the driver's
	// answer is an error or not asked for. On PostgreSQL it is always an error.
	last int64
}

var truthCases = []truthCase{
	{"one row", "", "exec", "INSERT INTO people (name) VALUES ('a')", "S", 101},
	{"no column list", "", "exec", "INSERT INTO people VALUES (NULL, 'a', 'b', NULL)", "S", 101},
	{"prepared, twice", "", "twice", "INSERT INTO people (name) VALUES ('a')", "SS", 102},
	{"a failure", "", "exec", "INSERT INTO people (code) VALUES ('dup')", "N", -1},
	{"a failure of the second row", "", "exec", "INSERT INTO people (code) VALUES ('new'), ('dup')", "NN mariadb:UU", -1},
	{"two statements", "", "exec", "INSERT INTO people (name) VALUES ('a'); INSERT INTO people (name) VALUES ('b')", "SS", 102},
	{"a failure of the second statement", "", "exec", "INSERT INTO people (code) VALUES ('a'); INSERT INTO people (code) VALUES ('dup')", "UU", -1},
	{"several, undone", "", "exec", "BEGIN; INSERT INTO people (name) VALUES ('a'); ROLLBACK", "U", -1},
	{"several, deleted", "", "exec", "INSERT INTO people (name) VALUES ('a'); DELETE FROM people WHERE id > 1", "U", -1},
	{"explained", "postgres sqlite mariadb", "query", "EXPLAIN INSERT INTO people (name) VALUES ('a')", "", -1},
	{"explained and run", "postgres", "query", "EXPLAIN ANALYZE INSERT INTO people (name) VALUES ('a')", "S", -1},
	{"returning", "", "query", "INSERT INTO people (name) VALUES ('a'), ('b') RETURNING id", "SS", -1},
	{"returning, one row read", "", "first", "INSERT INTO people (name) VALUES ('a'), ('b') RETURNING id", "SU", -1},
	{"returning something else", "", "query", "INSERT INTO people (name) VALUES ('a') RETURNING name", "S", -1},
	{"returning through Exec", "", "exec", "INSERT INTO people (name) VALUES ('a') RETURNING id", "S", -1},
	{"ignored, returning through Exec", "mariadb", "exec", "INSERT IGNORE INTO people (code) VALUES ('new'), ('dup') RETURNING id", "SN", -1},
	{"nothing done, returning through Exec", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('dup'), ('new') ON CONFLICT DO NOTHING RETURNING id", "NS", 102},
	{"updated, returning through Exec", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('new'), ('dup') ON CONFLICT (code) DO UPDATE SET name = 'u' RETURNING name", "SN", 101},
	{"replaced from a query, returning", "mariadb sqlite", "query", "REPLACE INTO people (code, name) SELECT 'x', name FROM people UNION ALL SELECT 'x', 'b' RETURNING id", "*", -1},
	{"updated twice, returning", "mariadb", "query", "INSERT INTO people (code) VALUES ('x'), ('x') ON DUPLICATE KEY UPDATE id = VALUES(id) RETURNING id", "*", -1},
	{"updated twice, returning", "sqlite", "query", "INSERT INTO people (code) VALUES ('x'), ('x') ON CONFLICT (code) DO UPDATE SET id = excluded.id RETURNING id", "*", -1},

	{"from a query", "", "exec", "INSERT INTO people (name) SELECT name FROM people", "U", -1},
	{"from a query, returning", "", "query", "INSERT INTO people (name) SELECT name FROM people RETURNING id", "S", -1},
	{"merged", "postgres", "exec", "MERGE INTO people USING (VALUES ('new'), ('dup')) AS s (code) ON people.code = s.code WHEN NOT MATCHED THEN INSERT (code) VALUES (s.code)", "UU", -1},

	{"nothing done", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('dup') ON CONFLICT DO NOTHING", "N", 0},
	{"nothing done to one of two", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('dup'), ('new') ON CONFLICT DO NOTHING", "NS", 102},
	{"nothing done to all but one", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('new'), ('dup'), ('dup'), ('new') ON CONFLICT DO NOTHING", "SNNN", 101},
	{"nothing done, returning", "postgres sqlite", "query", "INSERT INTO people (code) VALUES ('dup') ON CONFLICT DO NOTHING RETURNING id", "N", -1},
	{"nothing done to one of two, returning", "postgres sqlite", "query", "INSERT INTO people (code) VALUES ('dup'), ('new') ON CONFLICT DO NOTHING RETURNING id", "NS", -1},
	{"updated", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('dup') ON CONFLICT (code) DO UPDATE SET name = 'u'", "N", 0},
	{"one of two updated", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('new'), ('dup') ON CONFLICT (code) DO UPDATE SET name = 'u'", "SN", 101},
	{"updated with the key", "postgres sqlite", "exec", "INSERT INTO people (code) VALUES ('dup') ON CONFLICT (code) DO UPDATE SET id = excluded.id", "U", 0},
	{"nothing done beside a replacement", "sqlite", "exec", "REPLACE INTO people (code) VALUES ('dup') ON CONFLICT (code) DO NOTHING", "N", 0},
	{"nothing done beside replacements", "sqlite", "exec", "REPLACE INTO people (code) VALUES ('new'), ('dup') ON CONFLICT (code) DO NOTHING", "SN", 101},
	{"replaced by the last", "mariadb sqlite", "exec", "REPLACE INTO people (code) VALUES ('new'), ('new')", "NS", -1},
	{"updated, returning", "postgres sqlite", "query", "INSERT INTO people (code) VALUES ('dup') ON CONFLICT (code) DO UPDATE SET name = 'u' RETURNING id", "S", -1}, // the key of the row that was there
	{"inserted by an upsert, returning", "postgres sqlite", "query", "INSERT INTO people (code) VALUES ('new') ON CONFLICT (code) DO UPDATE SET name = 'u' RETURNING id", "S", -1},
	{"ignored", "mariadb", "exec", "INSERT IGNORE INTO people (code) VALUES ('dup')", "N", 0},
	{"one of two ignored", "mariadb", "exec", "INSERT IGNORE INTO people (code) VALUES ('dup'), ('new')", "NS", 102},
	{"updated", "mariadb", "exec", "INSERT INTO people (code) VALUES ('dup') ON DUPLICATE KEY UPDATE name = 'u'", "N", 1},
	{"left as it is", "mariadb", "exec", "INSERT INTO people (code) VALUES ('dup') ON DUPLICATE KEY UPDATE name = name", "N", 0},
	{"left as they are", "mariadb", "exec", "INSERT INTO people (code) VALUES ('dup'), ('new') ON DUPLICATE KEY UPDATE id = id", "NS", 102},
	{"NULL over NULL", "mariadb", "exec", "INSERT INTO people (code, empty) VALUES ('dup', NULL) ON DUPLICATE KEY UPDATE code = VALUES(code), empty = VALUES(empty)", "N", 1},
	{"updated with the key", "mariadb", "exec", "INSERT INTO people (code) VALUES ('dup') ON DUPLICATE KEY UPDATE id = VALUES(id)", "U", 0},
	{"replaced", "mariadb sqlite", "exec", "REPLACE INTO people (code) VALUES ('dup')", "S", 101},

	{"in WITH", "postgres", "exec", "WITH w AS (INSERT INTO people (name) VALUES ('a') RETURNING id) SELECT id FROM w", "S", -1},
	{"in WITH, its rows returned", "postgres", "query", "WITH w AS (INSERT INTO people (name) VALUES ('a') RETURNING id) SELECT id FROM w", "S", -1},
	{"in WITH, of another INSERT", "postgres", "exec", "WITH w AS (INSERT INTO people (name) VALUES ('a') RETURNING id) INSERT INTO people (name) VALUES ('b')", "SS", -1},
	{"in WITH, nothing done", "postgres", "exec", "WITH w AS (INSERT INTO people (code) VALUES ('dup') ON CONFLICT DO NOTHING) SELECT 1", "U", -1},
}

// TestTruth asks after statements of every form what Record and LastInsertId say. None
// may be wrong, and if the engine does not report it, the answer is that it is not known.
func TestTruth(t *testing.T) {
	t.Parallel()
	harness.Each(t, truthEngines, func(t *testing.T, s *harness.Scratch) {
		for _, c := range truthCases {
			if c.only == "" || slices.Contains(strings.Fields(c.only), s.Dialect.Name) {
				t.Run(c.name, func(t *testing.T) { testTruth(t, s, c) })
			}
		}
	})
}

// createPeople makes the table of a truthCase anew, with its row.
func createPeople(t *testing.T, s *harness.Scratch) {
	t.Helper()
	id := "BIGINT"
	if s.Dialect == dialect.SQLite() {
		id = "INTEGER"
	}
	for _, table := range []string{"people", "keyfill_sequences"} {
		harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
	}
	harness.Exec(t, s.Raw, "CREATE TABLE people (id "+id+" PRIMARY KEY, code VARCHAR(20) UNIQUE, name VARCHAR(20), empty INT DEFAULT 5)")
	harness.Exec(t, s.Raw, "INSERT INTO people VALUES (1, 'dup', 'dup', NULL)")
}

func testTruth(t *testing.T, s *harness.Scratch, c truthCase) {
	createPeople(t, s)
	db, _ := s.Open(t, harness.FillID("people", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 101}}))
	defer db.Close()
	ctx, rec := keyfill.Record(context.Background())
	res, _ := truthPaths[c.path](ctx, db, c.text)
	got := ""
	for i, k := range rec.Keys("people") {
		word := map[keyfill.Outcome]string{keyfill.Stored: "S", keyfill.NotStored: "N", keyfill.Unknown: "U"}[k.Outcome]
		got += word
		stored := harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM people WHERE id = %d", k.Key)) == 1
		if stored && word == "N" || !stored && word == "S" {
			t.Errorf("key %d is recorded as %v", i, k.Outcome)
		}
	}
	if want := c.want(s.Dialect.Name); got != want && want != "*" {
		t.Errorf("recorded is %q, want %q", got, want)
	}
	if res == nil || s.IsPostgres() {
		return
	}
	last, err := res.LastInsertId()
	if c.last >= 0 && (err != nil || last != c.last) {
		t.Errorf("LastInsertId is %d, error %v, want %d", last, err, c.last)
	}
	if c.last >= 0 && last > 100 && harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM people WHERE id = %d", last)) == 0 {
		t.Errorf("LastInsertId is %d, which is not stored", last)
	}
}

// want returns the outcomes on a dialect.
func (c *truthCase) want(dialect string) string {
	want, others, _ := strings.Cut(c.outcomes, " ")
	if name, own, _ := strings.Cut(others, ":"); name == dialect {
		return own
	}
	return want
}

// truthPaths are the ways to send a text of a truthCase.
var truthPaths = map[string]func(ctx context.Context, db *sql.DB, text string) (sql.Result, error){
	"exec": func(ctx context.Context, db *sql.DB, text string) (sql.Result, error) {
		return db.ExecContext(ctx, text)
	},
	"query": func(ctx context.Context, db *sql.DB, text string) (sql.Result, error) {
		return nil, harness.SeveralPaths["query"](ctx, db, text)
	},
	"first": func(ctx context.Context, db *sql.DB, text string) (sql.Result, error) {
		rows, err := db.QueryContext(ctx, text)
		if err != nil {
			return nil, err
		}
		rows.Next()
		return nil, rows.Close()
	},
	"twice": func(ctx context.Context, db *sql.DB, text string) (sql.Result, error) {
		stmt, err := db.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		defer stmt.Close()
		if _, err := stmt.ExecContext(ctx); err != nil {
			return nil, err
		}
		return stmt.ExecContext(ctx)
	},
}
