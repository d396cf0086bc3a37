package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// explanations are the prefixes of an INSERT by dialect: the first list explains it, the
// second runs it as well.
var explanations = map[string][2][]string{
	"postgres": {
		{"EXPLAIN ", "EXPLAIN VERBOSE ", "EXPLAIN (COSTS off, FORMAT json) ", "EXPLAIN (ANALYZE true, ANALYZE 'off') ", "EXPLAIN (ANALYZE 0) "},
		{"EXPLAIN ANALYZE ", "EXPLAIN ANALYSE VERBOSE ", "EXPLAIN (ANALYZE, VERBOSE) ", "EXPLAIN (ANALYZE off, ANALYZE) ", `EXPLAIN ("analyze") `},
	},
	"mariadb": {
		{"EXPLAIN ", "DESC ", "DESCRIBE EXTENDED ", "EXPLAIN FORMAT=JSON ", "explain partitions "},
		{"ANALYZE ", "ANALYZE FORMAT=JSON "},
	},
	"sqlite": {{"EXPLAIN ", "EXPLAIN QUERY PLAN "}, nil},
}

// explainPatience is how long an EXPLAIN may take.
const explainPatience = 30 * time.Second

// TestExplain: EXPLAIN of an INSERT is filled, stores nothing and draws nothing;
// one that runs the INSERT is filled as the INSERT is.
func TestExplain(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		id := "CHAR(36)"
		if s.IsPostgres() {
			id = "uuid"
		}
		harness.Exec(t, s.Raw, "CREATE TABLE people (id "+id+" PRIMARY KEY, name VARCHAR(40))")
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT PRIMARY KEY, name VARCHAR(40))")
		random := new(harness.Entropy)
		db, m := s.OpenWith(t, keyfill.Options{Rand: random, Policy: &policy.Config{Tables: map[string]policy.Table{
			"people": {Column: "id", Source: "uuidv4"},
			"orders": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1, Block: 1}},
		}}})
		harness.Exec(t, db, "INSERT INTO people (name) VALUES ('first')")
		harness.Exec(t, db, "INSERT INTO orders (name) VALUES ('first')")
		read := random.Bytes.Load()
		for _, runs := range []bool{false, true} {
			list := explanations[s.Dialect.Name][0]
			if runs {
				list = explanations[s.Dialect.Name][1]
			}
			for _, front := range list {
				for _, table := range []string{"people", "orders"} {
					sendExplained(t, s, db, front, table, runs)
				}
			}
			if !runs && random.Bytes.Load() != read {
				t.Errorf("EXPLAIN has read %d bytes of entropy", random.Bytes.Load()-read)
			}
		}
		stats := m.Stats().Tables["orders"]
		harness.Exec(t, db, "INSERT INTO orders (name) VALUES ('last')")
		if got, want := harness.Count(t, s.Raw, "SELECT MAX(id) FROM orders"), int(stats.Keys)+1; got != want {
			t.Errorf("the sequence is at %d behind %d keys", got, stats.Keys)
		}
	})
}

// sendExplained sends an explained INSERT in every way and looks whether rows came to
// the table.
func sendExplained(t *testing.T, s *harness.Scratch, db *sql.DB, front, table string, runs bool) {
	t.Helper()
	for _, c := range []struct {
		values string
		args   []any
	}{
		{"('a'), ('b')", nil},
		{"(?), (?)", []any{"a", "b"}},
	} {
		text := s.Placeholders(fmt.Sprintf("%sINSERT INTO %s (name) VALUES %s", front, table, c.values))
		for path, send := range harness.SeveralPaths {
			if s.Dialect.Name == "mariadb" && path != "query" {
				// Exec of a prepared EXPLAIN waits forever for a packet:
				// go-sql-driver v1.10.1 with MariaDB 10.11, without keyfill too.
				continue
			}
			before := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table)
			ctx, cancel := context.WithTimeout(context.Background(), explainPatience)
			defer cancel()
			ctx, rec := keyfill.Record(ctx)
			if err := send(ctx, db, text, c.args...); err != nil {
				t.Errorf("%s %s: %v", path, text, err)
				continue
			}
			want := 0
			if runs {
				want = 2
			}
			if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table) - before; got != want || len(rec.All()) != want {
				t.Errorf("%s %s: %d rows stored, %d keys recorded, want %d", path, text, got, len(rec.All()), want)
			}
		}
	}
}

// TestWithModifying: INSERTs in the WITH clause are filled, bound and as
// literals, in each of the drivers' ways; the engine takes the type of a key
// from its column.
func TestWithModifying(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		for _, id := range []struct {
			kind string
			rule policy.Table
		}{
			{"uuid", policy.Table{Column: "id"}},
			{"text", policy.Table{Column: "id"}},
			{"bytea", policy.Table{Column: "id", Layout: dialect.SequentialAsBinary}},
			{"bigint", policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}}},
			{"text", policy.Table{Column: "id", Layout: dialect.SequentialAsString, InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1, Name: "as_text", Exclusive: true}}},
		} {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people, notes")
			harness.Exec(t, s.Raw, "CREATE TABLE people (id "+id.kind+" PRIMARY KEY, name text)")
			harness.Exec(t, s.Raw, "CREATE TABLE notes (id "+id.kind+" PRIMARY KEY, name text, person "+id.kind+")")
			db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"people": id.rule, "notes": id.rule}})
			withModifying(t, s, db, id.kind)
		}
	})
}

// withModifying sends texts whose WITH clause stores rows.
func withModifying(t *testing.T, s *harness.Scratch, db *sql.DB, kind string) {
	t.Helper()
	for _, c := range []struct {
		text string
		args []any
		keys int
	}{
		{"WITH p AS (INSERT INTO people (name) VALUES ($1), ($2) RETURNING id) SELECT id FROM p", []any{"a", "b"}, 2},
		{"WITH p AS (INSERT INTO people (name) VALUES ('a') RETURNING id) INSERT INTO notes (name, person) VALUES ('n', (SELECT id FROM p)) RETURNING id", nil, 2},
		{"WITH p AS (INSERT INTO people (name) VALUES ($1) RETURNING id), n AS (INSERT INTO notes (person, name) VALUES (NULL, $2)) SELECT id FROM p", []any{"a", "b"}, 2},
		{"WITH p AS (INSERT INTO people (id, name) VALUES (NULL, 'x'), (DEFAULT, $1) RETURNING id) DELETE FROM notes WHERE name = $2", []any{"a", "none"}, 2},
		{"WITH p AS (WITH v (x) AS (SELECT 'v') INSERT INTO people (name) VALUES ((SELECT x FROM v)) RETURNING id) SELECT id FROM p", nil, 1},
	} {
		for path, send := range harness.SeveralPaths {
			before := harness.Count(t, s.Raw, "SELECT (SELECT COUNT(*) FROM people) + (SELECT COUNT(*) FROM notes)")
			ctx, rec := keyfill.Record(context.Background())
			if err := send(ctx, db, c.text, c.args...); err != nil {
				t.Errorf("%s %s %s: %v", kind, path, c.text, err)
				continue
			}
			got := harness.Count(t, s.Raw, "SELECT (SELECT COUNT(*) FROM people) + (SELECT COUNT(*) FROM notes)") - before
			all := rec.All()
			if got != c.keys || len(all) != c.keys {
				t.Errorf("%s %s %s: %d rows stored, %d keys recorded, want %d", kind, path, c.text, got, len(all), c.keys)
			}
			for _, k := range all {
				if k.Outcome != keyfill.Stored {
					t.Errorf("%s %s %s: the key of %s is %v", kind, path, c.text, k.Table, k.Outcome)
				}
			}
		}
	}
	// One that fails stores nothing.
	ctx, rec := keyfill.Record(context.Background())
	const fails = "WITH p AS (INSERT INTO people (name) VALUES ('a') RETURNING id) SELECT 1/0 FROM p"
	if err := harness.SeveralPaths["exec"](ctx, db, fails); err == nil {
		t.Errorf("%s: no error", fails)
	}
	for _, k := range rec.All() {
		if k.Outcome != keyfill.NotStored {
			t.Errorf("%s %s: the key of %s is %v", kind, fails, k.Table, k.Outcome)
		}
	}
}
