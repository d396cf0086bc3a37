package keys_test

import (
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreIsCopy: a copy of the application's own database is another one, and the state
// there is claimed.
func TestStoreIsCopy(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 3, Store: "central"}
		other := s.Engine.Scratch(t)
		for _, db := range []*sql.DB{s.Raw, other.Raw} {
			harness.Exec(t, db, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Must(t, db, store.DDL(s.Dialect)...)
			harness.Exec(t, db, "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('keyfill same database', 1, '', '', 'token', 'copied', CURRENT_TIMESTAMP)")
		}
		cfg := harness.FillID("t", policy.Table{InPlace: &source})
		cfg.Stores = map[string]policy.Store{"central": {Driver: s.Driver, DSN: s.Server.DSN(harness.DatabaseOf(t, other))}}
		db, _ := s.Open(t, cfg)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE column_name = 'id'"); got != 1 {
			t.Errorf("%d claims, want 1", got)
		}
	})
}

// TestStoreIsOwnDatabase: a store of the policy may be the application's own database under
// another DSN, as docs/pool.md advises behind a pooler.
func TestStoreIsOwnDatabase(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"sequence":  {Kind: policy.KindSequence, EnsureSchema: true, Block: 3},
		"exclusive": {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true},
		"recycled":  {Kind: policy.KindRecycled, EnsureSchema: true},
	}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		dsn := s.Server.DSN(harness.DatabaseOf(t, s))
		for name, source := range sources {
			table := "t_" + name
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			source.Store = "central"
			cfg := harness.FillID(table, policy.Table{InPlace: &source})
			cfg.Stores = map[string]policy.Store{"central": {Driver: s.Driver, DSN: dsn}}
			for range 2 { // processes
				db, _ := s.Open(t, cfg)
				for range 4 {
					if _, err := db.Exec("INSERT INTO " + table + " (a) VALUES (1)"); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
	})
}
