package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreConnectionLimit: where a user may have no more connections than the one of the INSERT, the
// error says so, and what to change, and does not say that the server has not answered.
func TestStoreConnectionLimit(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stateTables(t, s)
		cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, EnsureSchema: true}})
		cfg.StoreWait = time.Second
		db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, limitedUser(t, s, 1)), cfg)
		_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
		if err == nil || !strings.Contains(err.Error(), "gives this user no further connection") || strings.Contains(err.Error(), "has answered") {
			t.Errorf("error %v", err)
		}
	})
}
