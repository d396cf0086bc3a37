package keys_test

import (
	"context"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreSchemaTogether: processes that all make the tables when they begin do
// not get in each other's way. PostgreSQL gives all but one an error, IF NOT EXISTS
// or not.
func TestStoreSchemaTogether(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			for range 4 {
				s := e.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
				var wg sync.WaitGroup
				for range 8 {
					db, _ := s.Open(t, harness.KeyKind{Source: harness.Mapped(policy.KindRecycled, nil)}.Config(s.Engine))
					wg.Go(func() {
						if _, err := db.ExecContext(context.Background(), "INSERT INTO t (a) VALUES (1)"); err != nil {
							t.Error(err)
						}
						if err := db.Close(); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t"); n != 8 {
					t.Errorf("%d rows, want 8", n)
				}
			}
		})
	}
}
