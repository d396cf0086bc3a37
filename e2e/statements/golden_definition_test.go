package statements_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestDefinitionQuery: the query of CREATE TABLE AS runs, with the INSERTs of its
// WITH clause.
func TestDefinitionQuery(t *testing.T) {
	t.Parallel()
	for _, e := range []harness.Engine{harness.PQDefault, harness.PgxDefault} {
		t.Run(e.Name, func(t *testing.T) {
			s := e.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE people (id uuid, name text)")
			db, m := s.Open(t, harness.FillID("people", policy.Table{}))
			for _, create := range []string{"TABLE x", "TEMP TABLE x", "UNLOGGED TABLE IF NOT EXISTS x", "MATERIALIZED VIEW x"} {
				query := "CREATE " + create + " AS WITH a AS (INSERT INTO people (name) VALUES ('a') RETURNING name) SELECT name FROM a"
				if _, err := db.Exec(query); !errors.Is(err, rewrite.ErrCTE) {
					t.Errorf("%s: %v, want %v", query, err, rewrite.ErrCTE)
				}
			}
			harness.Exec(t, db, "CREATE TABLE x AS WITH a AS (INSERT INTO people (id, name) VALUES (gen_random_uuid(), 'a') RETURNING name) SELECT name FROM a")
			if n := harness.Count(t, s.Raw, "SELECT count(id) * 10 + count(*) FROM people"); n != 11 {
				t.Errorf("ten times the keys and the rows are %d, want 11", n)
			}
			if got := m.Stats().Tables; len(got) != 1 {
				t.Errorf("Stats has %d tables, want 1", len(got))
			}
		})
	}
}

// definitions are routines and triggers with columns named begin, and what they
// need.
var definitions = []struct {
	harness.Engine
	setup []string
	query string
}{
	{harness.PgxSimple, []string{
		`CREATE TABLE spans ("begin" int, "end" int)`,
		"CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
	}, "CREATE TRIGGER tr BEFORE UPDATE ON spans FOR EACH ROW WHEN (OLD.begin IS DISTINCT FROM NEW.begin) EXECUTE FUNCTION tf()"},
	{harness.PQDefault, nil, "CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN (SELECT 1 AS begin)"},
	{harness.PQDefault, nil, "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 2 end; SELECT CASE WHEN true THEN 1 END; END"},
	{harness.SQLiteFile, []string{`CREATE TABLE spans ("begin" int, "end" int)`},
		"CREATE TRIGGER tr AFTER UPDATE OF begin ON spans BEGIN SELECT end FROM spans; SELECT 1 end; END"},
}

// TestDefinitionEnds: what follows a definition is filled, and what it does to
// the transaction counts.
func TestDefinitionEnds(t *testing.T) {
	t.Parallel()
	for _, d := range definitions {
		t.Run(d.Name, func(t *testing.T) {
			s := d.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE people (id bigint UNIQUE, name varchar(20))")
			harness.Exec(t, s.Raw, "CREATE TABLE seen (a int)")
			for _, q := range d.setup {
				harness.Exec(t, s.Raw, q)
			}
			db, _ := s.Open(t, harness.SequenceID("people"))
			ctx := context.Background()
			conn, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			run := func(query string) {
				t.Helper()
				if _, err := conn.ExecContext(ctx, query); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			run("INSERT INTO people (name) VALUES ('first')")
			run("BEGIN; " + d.query + "; INSERT INTO people (name) VALUES ('second')")
			run("ROLLBACK")
			run(d.query + "; BEGIN")
			run("INSERT INTO seen (a) VALUES (1)")
			run("INSERT INTO people (name) SELECT lower(name) FROM people")
			run("ROLLBACK")
			run("INSERT INTO people (name) VALUES ('third')")
			if n := harness.Count(t, s.Raw, "SELECT count(id) * 100 + count(*) * 10 + (SELECT count(*) FROM seen) FROM people"); n != 220 {
				t.Errorf("a hundred times the keys, ten times the rows and what was seen are %d, want 220", n)
			}
		})
	}
}

// TestNestedComment: a statement after a comment in a comment is the one that runs.
func TestNestedComment(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id bigint UNIQUE, name text)")
	db, _ := s.Open(t, harness.SequenceID("people"))
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Two rows, or one where the backslash hides the quote.
	const rows = `INSERT INTO people (id, name) VALUES (NULL, '\'), (NULL, ''') --')`
	for _, query := range []string{rows, "/* /* */ insert */ SET standard_conforming_strings = off", rows} {
		if _, err := conn.ExecContext(ctx, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if n := harness.Count(t, s.Raw, "SELECT count(*) FROM people WHERE id IS NULL"); n != 0 {
		t.Errorf("%d rows have no key", n)
	}
}
