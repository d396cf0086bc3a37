package apps_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestCheckOwnStore: the state of a store that is the application's own database under
// another DSN is not taken for a second one.
func TestCheckOwnStore(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		dsn := s.Server.DSN(harness.DatabaseOf(t, s))
		cfg := harness.FillID("orders", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Store: "far"}})
		cfg.Stores = map[string]policy.Store{"far": {Driver: s.Driver, DSN: dsn}}
		db, _ := s.Open(t, cfg)
		harness.Exec(t, db, "INSERT INTO orders (a) VALUES (1)")
		found, _ := look(t, s, fmt.Sprintf("  orders: {column: id, source: {kind: sequence, ensure_schema: true, store: far}}\nstores:\n  far: {driver: %s, dsn: %q}\n", s.Driver, dsn))
		if got := ruled(found, "bound-twice"); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}
