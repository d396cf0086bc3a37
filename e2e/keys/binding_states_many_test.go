package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// TestStatesOfManyTenants: more tenants than are kept in memory, drawn for by several
// at once and again after they were let go: each tenant's numbers are its own, none
// comes twice, and no draw fails. With the race detector, and by turns, they are fewer, and
// all are kept.
func TestStatesOfManyTenants(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT, tenant INT, PRIMARY KEY (tenant, id))")
	db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
		s.Name, s.Start, s.Exclusive, s.Block = "t.{value:tenant}", 1, true, 3
	})))
	tenants, letGo := 4500, 900 // of which the first are let go
	if harness.RaceEnabled || testturn.Enabled(t) {
		tenants, letGo = 600, 300 // each new tenant looks at all others, which takes half an hour then
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			all := tenantsOf(worker, tenants)
			for round, drawn := range [][]int{all, all[:letGo/4]} {
				// Short transactions, since the others wait for each on a slow machine too.
				for mine := range slices.Chunk(drawn, 75) {
					err := insertForTenants(db, mine, round)
					for isBusy(err) { // SQLite has no queue for its lock: a worker may wait for a minute in vain
						err = insertForTenants(db, mine, round)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != tenants+letGo {
		t.Errorf("%d rows, want %d", n, tenants+letGo)
	}
}

// tenantsOf returns each fourth tenant.
func tenantsOf(worker, tenants int) (mine []int) {
	for tenant := worker; tenant < tenants; tenant += 4 {
		mine = append(mine, tenant)
	}
	return mine
}

// insertForTenants inserts a row for each tenant in one transaction.
func insertForTenants(db *sql.DB, tenants []int, round int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		ctx := keyfill.WithValue(context.Background(), "tenant", fmt.Sprint(tenant))
		if _, err := tx.ExecContext(ctx, "INSERT INTO t (a, tenant) VALUES (?, ?)", round, tenant); err != nil {
			return errors.Join(fmt.Errorf("tenant %d: %w", tenant, err), tx.Rollback())
		}
	}
	return tx.Commit()
}

// isBusy reports whether the engine has said that another connection holds the lock.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == 5 // SQLITE_BUSY
}
