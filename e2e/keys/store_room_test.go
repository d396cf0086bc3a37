package keys_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreRoom: with two connections more than SetMaxOpenConns, transactions that keep
// all of the application's own get their keys. A store that were waited for in vain would
// be waited for longer than a test may run.
func TestStoreRoom(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stateTables(t, s)
		const n = 4
		cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, Create: new(true), Start: 1}})
		cfg.StoreWait = 24 * time.Hour
		db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, limitedUser(t, s, n+2)), cfg)
		db.SetMaxOpenConns(n)
		done := make(chan error, n)
		begun := make(chan struct{})
		for range n {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			go func() {
				<-begun
				_, err := tx.Exec("INSERT INTO t (a) VALUES (1)")
				if err == nil {
					err = tx.Commit()
				}
				done <- err
			}()
		}
		close(begun)
		for range n {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); got != n {
			t.Errorf("%d rows, want %d", got, n)
		}
	})
}
