package keys_test

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSameDatabaseCrowd: of many processes that start at once with a store that is the
// application's own database, none claims the column, which would stop all of them.
func TestSameDatabaseCrowd(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			dsn := e.DSN(t)
			raw := harness.Open(t, e.Driver, dsn)
			harness.Exec(t, raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			var all []*sql.DB
			for range 10 {
				cfg := harness.InPlace(harness.Counted(func(s *policy.Source) { s.Store = "own" }))
				cfg.Stores = map[string]policy.Store{"own": {Driver: e.Driver, DSN: dsn}}
				db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, e.Driver, dsn), cfg)
				all = append(all, db)
			}
			var wg sync.WaitGroup
			for _, db := range all {
				wg.Go(func() {
					if _, err := db.Exec(harness.InsertT); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := harness.Count(t, raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE parameters LIKE 'binding%'"); n != 0 {
				t.Errorf("%d claims, want none", n)
			}
		})
	}
}
