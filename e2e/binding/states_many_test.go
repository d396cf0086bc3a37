package binding_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStatesOfManyTenants: more tenants than are kept in memory, drawn for by several
// at once and again after they were let go: each tenant's numbers are its own, none
// comes twice, and no draw fails.
func TestStatesOfManyTenants(t *testing.T) {
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT, tenant INT, PRIMARY KEY (tenant, id))")
	db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
		s.Name, s.Start, s.Exclusive, s.Block = "t.{value:tenant}", 1, true, 3
	})))
	const tenants = 4500
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for round := range 2 {
				tx, err := db.Begin()
				if err != nil {
					t.Error(err)
					return
				}
				for i := range tenants / 4 {
					tenant := worker + 4*i
					ctx := keyfill.WithValue(context.Background(), "tenant", fmt.Sprint(tenant))
					if _, err := tx.ExecContext(ctx, "INSERT INTO t (a, tenant) VALUES (?, ?)", round, tenant); err != nil {
						t.Errorf("tenant %d: %v", tenant, err)
						break
					}
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 2*tenants {
		t.Errorf("%d rows, want %d", n, 2*tenants)
	}
}
