package keys_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// workers are the numbers of the workers of TestStoreFullCatalog: a process has each once.
var workers atomic.Int64

// TestStoreFullCatalog: PostgreSQL, where a user has the one connection of the INSERT from the
// beginning. A process asks the catalog there, and looks there for the claim that an earlier
// process has made. So a source works whose state is elsewhere, and which needs no greatest
// key. Others fail by the limit's words, and so does each where the session has changed.
func TestStoreFullCatalog(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stateTables(t, s)
		harness.Must(t, s.Raw, "CREATE TABLE c (id CHAR(20) PRIMARY KEY, a INT)")
		flake := policy.Source{Kind: policy.KindSnowflake, Store: "other", EnsureSchema: true}
		for _, c := range []struct {
			name, table string
			source      policy.Source
			before      string // is run on the connection first
			claims      string // is run by another user before that
			works       bool
		}{
			{"snowflake in another store", "t", flake, "", "", true},
			{"not claimed", "t", flake, "", "DELETE FROM keyfill_sequences", false},
			{"not claimed yet", "t", flake, "", "UPDATE keyfill_sequences SET next_value = 0", false},
			{"claimed with other bits", "t", flake, "", "UPDATE keyfill_sequences SET parameters = parameters || ' '", false},
			{"claimed by another state too", "t", flake, "", "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at)" +
				" SELECT 'other', 1, table_name, column_name, '', 'x', updated_at FROM keyfill_sequences", false},
			{"after rows", "t", flake, "SELECT a FROM t", "", true},
			{"with a lease", "t", policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Minute, Store: "other", EnsureSchema: true}, "", "", true},
			{"without a store", "t", policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone, OnBehind: keysource.RemedyWarn}, "", "", true},
			{"composite", "c", policy.Source{Kind: policy.KindComposite, Store: "other", EnsureSchema: true}, "", "", true},
			{"pseudorandom", "t", policy.Source{Kind: policy.KindPseudorandom, Store: "other", EnsureSchema: true}, "", "", true},
			{"scatter", "t", policy.Source{Kind: policy.KindScatter, Store: "other", EnsureSchema: true}, "", "", true},
			{"greatest key of a snowflake", "t", policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone}, "", "", false},
			{"greatest key of a sequence", "t", policy.Source{Kind: policy.KindSequence, Store: "other", EnsureSchema: true}, "", "", false},
			{"row in the same database", "t", policy.Source{Kind: policy.KindSequence, Block: 1, OnBehind: keysource.RemedyWarn, Create: new(true), Start: 1}, "", "", false},
			{"after a setting", "t", flake, "SET synchronous_commit = off", "", false},
			{"after a role", "t", flake, "SET ROLE NONE", "", false},
			{"with another path", "t", flake, "SET search_path = public", "", false},
			{"with a table of its own", "t", flake, "CREATE TEMPORARY TABLE own (a int)", "", false},
			{"in a transaction", "t", flake, "BEGIN", "", false},
		} {
			t.Run(c.name, func(t *testing.T) {
				harness.Must(t, s.Raw, "DELETE FROM t", "DELETE FROM c", "DELETE FROM keyfill_sequences", "DELETE FROM keyfill_workers", "DELETE FROM keyfill_series")
				if ofWorker := c.source.Kind == policy.KindSnowflake || c.source.Kind == policy.KindComposite; ofWorker && c.source.WorkerLease == 0 {
					c.source.Worker = new(int(workers.Add(1)))
				}
				cfg := harness.FillID(c.table, policy.Table{InPlace: &c.source})
				cfg.Stores = map[string]policy.Store{"other": {Driver: s.Driver, DSN: s.DSN(t)}}
				insert := fmt.Sprintf("INSERT INTO %s (a) VALUES (1)", c.table)
				cfg.StoreWait = time.Second
				dsn := limitedUser(t, s, 1)
				first, _ := s.Open(t, cfg)
				harness.Must(t, first, insert)
				first.Close()
				if c.claims != "" {
					harness.Must(t, s.Raw, c.claims)
				}
				db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, dsn), cfg)
				conn := harness.ConnOf(t, db)
				if c.before != "" {
					if _, err := conn.ExecContext(t.Context(), c.before); err != nil {
						t.Fatal(err)
					}
				}
				_, err := conn.ExecContext(t.Context(), insert)
				if !c.works {
					wantLimit(t, err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, s.Raw, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT 9", userOf(t, dsn)))
				plain := harness.ConnOf(t, openPlain(t, s, dsn))
				for _, query := range []string{c.before, fmt.Sprintf("INSERT INTO %s (id, a) VALUES ('1', 1)", c.table)} {
					if _, err := plain.ExecContext(t.Context(), query); err != nil && query != "" {
						t.Fatal(err)
					}
				}
				if got, want := sessionOf(t, conn), sessionOf(t, plain); !slices.Equal(got, want) {
					t.Errorf("the session shows %q, and the driver's alone %q", got, want)
				}
				if got := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM "+c.table); got != 3 {
					t.Errorf("%d keys, want 3", got)
				}
			})
		}
	})
}

// wantLimit fails a test where an error does not say that the user has no connection left, and
// what to change.
func wantLimit(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "gives this user no further connection") || !strings.Contains(err.Error(), "docs/pool.md") {
		t.Errorf("%v, want the error of a limit", err)
	}
}

// openPlain opens a database by the driver alone.
func openPlain(t *testing.T, s *harness.Scratch, dsn string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(harness.ConnectorOf(t, s.Driver, dsn))
	t.Cleanup(func() { db.Close() })
	return db
}

// sessionOf returns what a session of PostgreSQL can read of itself. What a driver has prepared
// is left out.
func sessionOf(t *testing.T, c *sql.Conn) (facts []string) {
	t.Helper()
	for _, query := range []string{
		"SELECT CONCAT_WS(' ', session_user, current_user, current_schemas(true))",
		"SELECT COALESCE(STRING_AGG(name || '=' || setting, ',' ORDER BY name), '') FROM pg_settings WHERE source = 'session'",
		"SELECT COUNT(*)::text FROM pg_class WHERE relnamespace = pg_my_temp_schema()",
		"SELECT COUNT(*)::text FROM pg_locks WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid' AND relation IS DISTINCT FROM 'pg_locks'::regclass",
		"SELECT COUNT(*)::text FROM pg_cursors",
		"SELECT CONCAT_WS(' ', current_setting('transaction_read_only'), current_setting('transaction_isolation'), pg_trigger_depth())",
		"SELECT lastval()::text",
	} {
		var fact string
		if err := c.QueryRowContext(t.Context(), query).Scan(&fact); err != nil {
			fact = err.Error()
		}
		facts = append(facts, fact)
	}
	return facts
}
