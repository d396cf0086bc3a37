package statements_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestTemporarySeveral: a text that may itself change what the INSERT's table
// is, so that an answer from before it does not count, is refused where the key
// would have to be filled. Nothing of it runs.
//
//deviation:filled-inserts | In a text of several statements an INSERT that lacks the key is refused where the text may have made, dropped, renamed or brought back a temporary table of its table's name. | MySQL, MariaDB, PostgreSQL, SQLite | `CREATE TEMP TABLE t …; SET …; INSERT INTO t (a) …`; `ROLLBACK; INSERT INTO t (a) …` | send the INSERT alone
func TestTemporarySeveral(t *testing.T) {
	t.Parallel()
	const (
		temp   = "CREATE TEMPORARY TABLE people (id VARCHAR(40), name VARCHAR(20))"
		insert = "INSERT INTO people (name) VALUES ('x')"
	)
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLMulti, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, c := range []struct {
			name   string
			before []string
			text   string
			only   string // the dialects, empty for all
			runs   bool   // the text runs and its INSERT gets no key
		}{
			{name: "dropped", before: []string{temp}, text: "DROP TABLE people; " + insert},
			{name: "dropped in temp", before: []string{temp}, text: "DROP TABLE temp.people; " + insert, only: "sqlite"},
			{name: "dropped if exists", before: []string{temp}, text: "DROP TEMPORARY TABLE IF EXISTS people; " + insert, only: "mariadb"},
			{name: "renamed", before: []string{temp}, text: "ALTER TABLE people RENAME TO others; " + insert, only: "mariadb"},
			{name: "rolled back", before: []string{"BEGIN", temp}, text: "ROLLBACK; " + insert, only: "postgres sqlite"},
			{name: "its drop rolled back", before: []string{temp, "BEGIN", "DROP TABLE people"}, text: "ROLLBACK; " + insert, only: "postgres sqlite"},
			{name: "gone with the transaction", before: []string{"BEGIN", temp + " ON COMMIT DROP"}, text: "COMMIT; " + insert, only: "postgres"},
			{name: "dropped by a function", before: []string{temp}, text: "SELECT dropit(); " + insert, only: "postgres"},
			{name: "renamed to it", before: []string{"CREATE TEMPORARY TABLE x (id VARCHAR(40), name VARCHAR(20))"},
				text: "ALTER TABLE x RENAME TO people; " + insert, only: "mariadb postgres"},
			{name: "still there", before: []string{temp}, text: "SELECT 1; " + insert, runs: true},
			{name: "dropped behind it", before: []string{temp}, text: insert + "; DROP TABLE people", runs: true},
			{name: "prepared in SQL", before: []string{temp}, text: "PREPARE p AS " + insert, only: "postgres", runs: true},
			{name: "prepared in SQL", before: []string{temp}, text: `PREPARE p FROM "` + insert + `"`, only: "mariadb", runs: true},

			{name: "made, dropped", text: temp + "; DROP TABLE people; " + insert},
			{name: "made, something between", text: temp + "; SET enable_seqscan = off; " + insert, only: "postgres"},
			{name: "made, something between", text: temp + "; SET @a = 1; " + insert, only: "mariadb"},
			{name: "made by SELECT", text: "SELECT NULL::text AS id, 'a'::text AS name INTO TEMP people; " + insert, only: "postgres"},
			{name: "made in the schema", text: "CREATE TABLE pg_temp.people (id text, name text); " + insert, only: "postgres"},
			{name: "made in the schema", text: "CREATE TABLE temp.people (id text, name text); " + insert, only: "sqlite"},
			{name: "made behind in the search path", before: []string{"SET search_path = public, pg_temp"}, text: temp + "; " + insert, only: "postgres"},
			{name: "search path in the text", text: "SET search_path = public, pg_temp; " + temp + "; " + insert, only: "postgres"},
		} {
			if c.only != "" && !strings.Contains(c.only, s.Dialect.Name) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people")
				harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36), name VARCHAR(20))")
				if s.Dialect.Name == "postgres" {
					harness.Exec(t, s.Raw, "CREATE OR REPLACE FUNCTION dropit() RETURNS int LANGUAGE sql AS 'DROP TABLE pg_temp.people; SELECT 1'")
				}
				db, m := s.Open(t, harness.FillID("people", policy.Table{}))
				conn := harness.ConnOf(t, db)
				harness.Must(t, conn, c.before...)
				_, err := conn.ExecContext(context.Background(), c.text)
				if c.runs {
					if err != nil || m.Stats().Tables["people"].Filled != 0 {
						t.Errorf("error %v, %d filled, want none", err, m.Stats().Tables["people"].Filled)
					}
					return
				}
				if !errors.Is(err, rewrite.ErrSeveral) {
					t.Errorf("error %v, want %v", err, rewrite.ErrSeveral)
				}
			})
		}
	})
}

// TestTemporaryDatabase: the database before a table's name says nothing of which
// of the two is meant.
func TestTemporaryDatabase(t *testing.T) {
	t.Parallel()
	s := harness.MySQLMulti.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36), name VARCHAR(20))")
	var name string
	if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	_, err := db.Exec("CREATE TEMPORARY TABLE people (name VARCHAR(20)); INSERT INTO `" + name + "`.people (name) VALUES ('x')")
	if !errors.Is(err, rewrite.ErrSeveral) {
		t.Errorf("error %v, want %v", err, rewrite.ErrSeveral)
	}
}
