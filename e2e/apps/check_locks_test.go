package apps_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

const locksPolicy = `  rising: {column: id, source: {kind: sequence, ensure_schema: true}}
  greatest: {column: id, source: {kind: maxplusone, ensure_schema: true}}
`

// TestLocks: the locks of each engine exclude a second session, and an engine that has lost
// one is found: MariaDB with a table that has no row locks, PostgreSQL with a function that
// hides pg_advisory_xact_lock and locks nothing, or without that function, SQLite with the VFS without locks.
// Connections without a transaction are left, on which the next check finds the same.
func TestLocks(t *testing.T) {
	t.Parallel()
	for _, in := range []struct {
		engine harness.Engine
		lose   []string
		params string // what is added to the DSN with which the lock is lost
		line   int
		class  string // of the finding
	}{
		{engine: harness.MySQLDefault, lose: []string{"ALTER TABLE keyfill_sequences ENGINE = MyISAM"}, line: 4, class: check.SomeInserts},
		{engine: harness.PgxDefault, line: 4, class: check.SomeInserts, params: "&search_path=standin%2Cpg_catalog%2Cpublic",
			lose: []string{"CREATE SCHEMA standin", "CREATE FUNCTION standin.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS ''"}},
		{engine: harness.PQDefault, line: 4, class: check.FirstInsert,
			lose: []string{"ALTER FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) RENAME TO gone"}},
		{engine: harness.SQLiteFile, line: 3, class: check.SomeInserts, params: "vfs=unix-none"},
	} {
		t.Run(in.engine.Name, func(t *testing.T) {
			t.Parallel()
			s := in.engine.Scratch(t)
			path, dsn := "", ""
			if s.Server == nil {
				path = filepath.Join(t.TempDir(), "locks.db")
				dsn = "file:" + path
				s.Connector = harness.ConnectorOf(t, s.Driver, dsn)
				s.Raw = sql.OpenDB(s.Connector)
				t.Cleanup(func() { s.Raw.Close() })
				dsn += "?" + in.params
			} else {
				dsn = s.Server.DSN(harness.DatabaseOf(t, s)) + in.params
			}
			executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE rising (id BIGINT NOT NULL PRIMARY KEY)", "CREATE TABLE greatest (id BIGINT NOT NULL PRIMARY KEY)",
				"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('rising.id', 9, '', '', '', 'x', CURRENT_TIMESTAMP)")...)
			for range 2 {
				if found, _ := lookWith(t, s, locksPolicy, check.Options{Connector: s.Connector, Probe: true}); len(ruled(found, "lock")) != 0 {
					t.Errorf("with its locks: %+v", found)
				}
			}
			executeAll(t, s, in.lose...)
			lost := harness.ConnectorOf(t, s.Driver, dsn)
			if found, _ := lookWith(t, s, locksPolicy, check.Options{Connector: lost}); len(ruled(found, "lock")) != 0 {
				t.Errorf("tried without leave: %+v", found)
			}
			for range 2 {
				found, _ := lookWith(t, s, locksPolicy, check.Options{Connector: lost, Probe: true})
				lines := []int{}
				for _, f := range ruled(found, "lock") {
					lines = append(lines, f.Line)
					if f.Severity != check.Error || f.Class != in.class {
						t.Errorf("%+v", f)
					}
				}
				if !slices.Equal(lines, []int{in.line}) {
					t.Errorf("without the lock: lines %d, want %d: %+v", lines, in.line, found)
				}
			}
		})
	}
}

// promisesPolicy has a key that needs the row of a state, and one that needs savepoints.
const promisesPolicy = `  rising: {column: id, source: {kind: sequence, ensure_schema: true}}
  joined: {column: id, source: {kind: sequence, transaction: joined, ensure_schema: true}}
`

// TestPromisesTaken: a server that takes a statement and does only a part of it is found, as
// one is that refuses the statement: FOR UPDATE, savepoints, and the rows of an UPDATE. The
// server is a real one, and the statements are changed on their way to it.
func TestPromisesTaken(t *testing.T) {
	t.Parallel()
	without := func(part string) func(string) string {
		return func(text string) string { return strings.ReplaceAll(text, part, "") }
	}
	instead := func(begins, other string) func(string) string {
		return func(text string) string {
			if strings.HasPrefix(text, begins) {
				return other
			}
			return text
		}
	}
	noPoints := func(text string) string {
		return instead("ROLLBACK TO", "SELECT 1")(instead("SAVEPOINT", "SELECT 1")(text))
	}
	refused := instead("SAVEPOINT", "NO SAVEPOINTS HERE")
	for _, in := range []struct {
		engine harness.Engine
		name   string
		edit   func(string) string
		found  string // a part of the message
	}{
		{harness.MySQLDefault, "FOR UPDATE", without(" FOR UPDATE NOWAIT"), "FOR UPDATE on a row"},
		{harness.MySQLDefault, "savepoints", noPoints, "savepoints"},
		{harness.MySQLDefault, "savepoints refused", refused, "savepoints"},
		{harness.PgxDefault, "FOR UPDATE", without(" FOR UPDATE NOWAIT"), "FOR UPDATE on a row"},
		{harness.PgxDefault, "savepoints", noPoints, "savepoints"},
		{harness.PQDefault, "savepoints refused", refused, "savepoints"},
		{harness.PgxDefault, "RETURNING", without(" RETURNING next_value"), "RETURNING"},
		{harness.SQLiteFile, "writer", instead("BEGIN IMMEDIATE", "BEGIN"), "two connections write"},
		{harness.SQLiteFile, "savepoints", noPoints, "savepoints"},
		{harness.SQLiteFile, "RETURNING", without(" RETURNING next_value"), "RETURNING"},
	} {
		t.Run(in.engine.Name+"/"+in.name, func(t *testing.T) {
			t.Parallel()
			s := in.engine.Scratch(t)
			executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE rising (id BIGINT NOT NULL PRIMARY KEY)", "CREATE TABLE joined (id BIGINT NOT NULL PRIMARY KEY)",
				"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('rising.id', 9, '', '', '', 'x', CURRENT_TIMESTAMP)")...)
			if found, _ := lookWith(t, s, promisesPolicy, check.Options{Connector: s.Connector, Probe: true}); len(ruled(found, "lock")) != 0 {
				t.Errorf("with its promises kept: %+v", found)
			}
			for range 2 { // no connection is left in a transaction
				found, _ := lookWith(t, s, promisesPolicy, check.Options{Connector: &standIn{s.Connector, in.edit}, Probe: true})
				locks := ruled(found, "lock")
				if len(locks) != 1 || locks[0].Severity != check.Error || !strings.Contains(locks[0].Message, in.found) || locks[0].Line == 0 {
					t.Errorf("%+v, want an error about %s", locks, in.found)
				}
			}
			if n := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences WHERE name = 'rising.id'"); n != 9 {
				t.Errorf("the state stands at %d, want 9", n)
			}
		})
	}
}
