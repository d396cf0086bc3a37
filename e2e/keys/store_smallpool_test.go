package keys_test

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSmallPool: processes that have just started insert in transactions through a pooler that
// has no more connections than there are transactions. None waits for another connection
// while its transaction keeps one: all rows are stored.
func TestSmallPool(t *testing.T) {
	t.Parallel()
	const connections, processes, each, rows = 4, 4, 2, 3
	const wait = 5 * time.Second // after which one that waits for another connection gives up
	for _, form := range []string{"joined", "scope"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			s := harness.PgxMode("exec").Scratch(t)
			dsn := behindPgBouncer(t, s, "transaction", connections)
			harness.Exec(t, s.Raw, "CREATE TABLE t (order_id BIGINT NOT NULL, id BIGINT NOT NULL, a INT, PRIMARY KEY (order_id, id))")
			harness.Exec(t, s.Raw, "CREATE INDEX t_id ON t (id)")
			src := *harness.JoinedSource()
			if form == "scope" {
				src.Scope = &policy.Scope{harness.ByOrder}
			}
			var all []*sql.DB
			for range processes {
				cfg := harness.FillID("t", policy.Table{InPlace: &src})
				cfg.StoreWait = wait
				db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, dsn), cfg)
				all = append(all, db)
			}
			var wg sync.WaitGroup
			var stored, longest atomic.Int64
			begin := make(chan struct{})
			for process, db := range all {
				for hand := range each {
					wg.Go(func() {
						<-begin
						for row := range rows {
							began := time.Now()
							err := harness.InTx(db, func(tx *sql.Tx) error {
								if _, err := tx.Exec("SELECT 1"); err != nil {
									return err
								}
								_, err := tx.Exec(fmt.Sprintf("INSERT INTO t (order_id, a) VALUES (%d, %d)", process*each+hand, row))
								return err
							})
							took := time.Since(began).Milliseconds()
							for last := longest.Load(); took > last && !longest.CompareAndSwap(last, took); last = longest.Load() {
							}
							if err != nil {
								t.Errorf("process %d: %v", process, err)
								return
							}
							stored.Add(1)
						}
					})
				}
			}
			close(begin)
			wg.Wait()
			t.Logf("%s: %d of %d rows stored, the longest transaction took %d ms", form, stored.Load(), processes*each*rows, longest.Load())
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != processes*each*rows {
				t.Errorf("%d rows, want %d", n, processes*each*rows)
			}
		})
	}
}
