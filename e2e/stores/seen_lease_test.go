package stores_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestLeases: it is logged when a lease is taken, lost to another process, and given back.
func TestLeases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		source       policy.Source
		number       string // the attribute with the number
		first, other string // the numbers before and after the theft
	}{
		{"recycled", policy.Source{Kind: policy.KindRecycled, Block: 2, Series: 1000}, "series", "1", "2"},
		{"worker", policy.Source{Kind: policy.KindSnowflake, WorkerLease: 5 * time.Second}, "worker", "0", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
				if s.Server == nil && c.name == "worker" {
					return // SQLite has no leased workers of its own
				}
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				source := c.source
				if source.EnsureSchema = true; source.Kind == policy.KindRecycled {
					source.Create = new(true)
				}
				log := new(lines)
				db, m := s.OpenWith(t, keyfill.Options{Policy: harness.InPlace(source), Logger: log.logger()})
				insert := func() { harness.Exec(t, db, harness.InsertT) }
				insert()
				taken := log.of("lease taken")
				if len(taken) != 1 {
					t.Fatalf("%d lines say that a lease is taken, want 1: %s", len(taken), log.texts())
				}
				taken[0].has(t, slog.LevelInfo, "source "+c.number+" lease", map[string]string{"source": "t.id", c.number: c.first})

				harness.Exec(t, s.Raw, "UPDATE keyfill_series SET owner = 'thief', epoch = epoch + 1, leased_until = '2999-01-01'")
				lost := log.await(t, "lease lost", insert)
				lost.has(t, slog.LevelWarn, "source "+c.number, map[string]string{"source": "t.id", c.number: c.first})
				for began := time.Now(); len(log.of("lease taken")) < 2 && time.Since(began) < harness.Limit; {
					insert()
				}
				taken = log.of("lease taken")
				taken[len(taken)-1].has(t, slog.LevelInfo, "source "+c.number+" lease", map[string]string{c.number: c.other})
				// A call that Close cuts off leaves the lease to run out: there is none once the
				// next block is there.
				for began := time.Now(); c.name == "recycled" && s.Server != nil && m.Sources()[0].Left == 0; time.Sleep(time.Millisecond) {
					if time.Since(began) > harness.Limit {
						t.Fatalf("no block comes: %+v", m.Sources())
					}
				}
				closing := time.Now()
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				late := time.Since(closing) >= returnPatience
				back := log.of("lease given back")
				if late && len(back) == 0 {
					return
				}
				if len(back) != 1 {
					t.Fatalf("%d lines say that a lease is given back, want 1: %s", len(back), log.texts())
				}
				back[0].has(t, slog.LevelInfo, "source "+c.number, map[string]string{c.number: c.other})
				if n := len(log.of("lease lost")); n != 1 {
					t.Errorf("%d leases are called lost, want 1: %s", n, log.texts())
				}
			})
		})
	}
}
