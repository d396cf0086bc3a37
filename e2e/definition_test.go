package e2e_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestDefinitionQuery: the query of CREATE TABLE AS runs, with the INSERTs of its
// WITH clause.
func TestDefinitionQuery(t *testing.T) {
	for _, e := range []engine{pqDefault, pgxDefault} {
		t.Run(e.name, func(t *testing.T) {
			s := e.scratch(t)
			exec(t, s.raw, "CREATE TABLE people (id uuid, name text)")
			db, m := s.open(t, fillID("people", policy.Table{}))
			for _, create := range []string{"TABLE x", "TEMP TABLE x", "UNLOGGED TABLE IF NOT EXISTS x", "MATERIALIZED VIEW x"} {
				query := "CREATE " + create + " AS WITH a AS (INSERT INTO people (name) VALUES ('a') RETURNING name) SELECT name FROM a"
				if _, err := db.Exec(query); !errors.Is(err, rewrite.ErrCTE) {
					t.Errorf("%s: %v, want %v", query, err, rewrite.ErrCTE)
				}
			}
			exec(t, db, "CREATE TABLE x AS WITH a AS (INSERT INTO people (id, name) VALUES (gen_random_uuid(), 'a') RETURNING name) SELECT name FROM a")
			if n := count(t, s.raw, "SELECT count(id) * 10 + count(*) FROM people"); n != 11 {
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
	engine
	setup []string
	query string
}{
	{pgxSimple, []string{
		`CREATE TABLE spans ("begin" int, "end" int)`,
		"CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
	}, "CREATE TRIGGER tr BEFORE UPDATE ON spans FOR EACH ROW WHEN (OLD.begin IS DISTINCT FROM NEW.begin) EXECUTE FUNCTION tf()"},
	{pqDefault, nil, "CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN (SELECT 1 AS begin)"},
	{pqDefault, nil, "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 2 end; SELECT CASE WHEN true THEN 1 END; END"},
	{sqliteFile, []string{`CREATE TABLE spans ("begin" int, "end" int)`},
		"CREATE TRIGGER tr AFTER UPDATE OF begin ON spans BEGIN SELECT end FROM spans; SELECT 1 end; END"},
}

// TestDefinitionEnds: what follows a definition is filled, and what it does to
// the transaction counts.
func TestDefinitionEnds(t *testing.T) {
	for _, d := range definitions {
		t.Run(d.name, func(t *testing.T) {
			s := d.scratch(t)
			exec(t, s.raw, "CREATE TABLE people (id bigint UNIQUE, name varchar(20))")
			exec(t, s.raw, "CREATE TABLE seen (a int)")
			for _, q := range d.setup {
				exec(t, s.raw, q)
			}
			db, _ := s.open(t, sequenceID("people"))
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
			if n := count(t, s.raw, "SELECT count(id) * 100 + count(*) * 10 + (SELECT count(*) FROM seen) FROM people"); n != 220 {
				t.Errorf("a hundred times the keys, ten times the rows and what was seen are %d, want 220", n)
			}
		})
	}
}

// TestNestedComment: a statement behind a comment in a comment is the one that
// runs.
func TestNestedComment(t *testing.T) {
	s := pqDefault.scratch(t)
	exec(t, s.raw, "CREATE TABLE people (id bigint UNIQUE, name text)")
	db, _ := s.open(t, sequenceID("people"))
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
	if n := count(t, s.raw, "SELECT count(*) FROM people WHERE id IS NULL"); n != 0 {
		t.Errorf("%d rows have no key", n)
	}
}
