package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestEmptyPath: where the search path of PostgreSQL is empty, the one schema that has
// keyfill's tables is used. Of two none is taken, and none is made.
func TestEmptyPath(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"sequence": {Kind: policy.KindSequence, Block: 3, Create: new(true)},
		"joined":   {Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Create: new(true)},
		"scope":    {Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "parent"}}, Create: new(true)},
		"recycled": {Kind: policy.KindRecycled, Create: new(true)},
		"leased":   {Kind: policy.KindSnowflake, WorkerLease: time.Minute},
		"ensured":  {Kind: policy.KindSequence, EnsureSchema: true},
	}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		admin := harness.ConnOf(t, s.Raw)
		harness.Must(t, admin, "CREATE SCHEMA app", "ALTER DATABASE "+harness.DatabaseOf(t, s)+" SET search_path = ''")
		insert := func(name string, source policy.Source) error {
			table := "app.t_" + name
			harness.Must(t, admin, "CREATE TABLE IF NOT EXISTS "+table+" (id BIGINT PRIMARY KEY, parent BIGINT NOT NULL, a INT)")
			db, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: &source}))
			for range 2 {
				if _, err := db.Exec("INSERT INTO " + table + " (parent, a) VALUES (1, 1)"); err != nil {
					return err
				}
			}
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			if _, err = tx.Exec("INSERT INTO " + table + " (parent, a) VALUES (1, 1)"); err == nil {
				err = tx.Commit()
			}
			return err
		}
		wantParts := func(err error, parts ...string) {
			t.Helper()
			for _, part := range parts {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v: does not say %q", err, part)
				}
			}
		}
		for _, name := range []string{"joined", "ensured"} {
			wantParts(insert(name, sources[name]), "search_path is empty", "store:")
		}
		harness.Must(t, admin, `CREATE SCHEMA "St"`, `SET search_path = "St"`)
		harness.Must(t, admin, store.DDL(s.Dialect)...)
		for name, source := range sources {
			if err := insert(name, source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		harness.Must(t, admin, "SET search_path = public")
		harness.Must(t, admin, store.DDL(s.Dialect)...)
		for _, name := range []string{"joined", "ensured"} {
			wantParts(insert(name, sources[name]), `"St"`, "public", "store:")
		}
		harness.Must(t, admin, "RESET search_path")
	})
}
