package faults_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestCommitCut: connections are cut at every second COMMIT or so, before the server has
// it, after it, and while the server still works on it. A nil error says that the order
// is stored, and an unknown one is right too: on MariaDB nothing is stored then, and on
// PostgreSQL, which reports the state of a transaction, there is none. After the time for
// which Retry looks it may not know, whatever there is. 250 times on each engine, and
// 100,000 times altogether with make soak.
func TestCommitCut(t *testing.T) {
	size := 250
	if harness.Soaking() {
		size = 100_000 / len(servers)
	}
	for _, e := range servers {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			var done [cuts]atomic.Int64
			o := openOrders(t, e, "", func() (cut, time.Duration) {
				how := cutNever
				if rand.IntN(2) == 0 {
					how = 1 + rand.N(cuts-1)
				}
				done[how].Add(1)
				return how, time.Duration(rand.IntN(30)) * time.Millisecond
			})
			o.slowCommits(t)
			ids := make([]uuid.UUID, size)
			var next, unknown, late, attempts atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for n := int(next.Add(1)) - 1; n < size && !t.Failed(); n = int(next.Add(1)) - 1 {
						for {
							begun := time.Now()
							id, tries, err := o.retry(t, t.Context(), n)
							attempts.Add(int64(tries))
							if ids[n] = id; err == nil {
								break
							}
							if errors.Is(err, keyfill.ErrCommitUnknown) && time.Since(begun) >= looksFor {
								late.Add(1)
								if o.awaits(t, n) != 0 {
									break
								}
								continue
							}
							if !errors.Is(err, keyfill.ErrCommitUnknown) || e.IsPostgres() {
								t.Errorf("order %d: %v", n, err)
								return
							}
							unknown.Add(1)
							if stored := o.have(t, n); stored != 0 {
								t.Errorf("order %d is stored %d times, and nobody knows", n, stored)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			o.whole(t, ids)
			t.Logf("%d orders in %d attempts, %d times unknown, %d times looked for in vain; passed, before, raced, behind, answer, late: %d", size, attempts.Load(), unknown.Load(), late.Load(), counts(&done))
			for how, n := range counts(&done) {
				if n == 0 {
					t.Errorf("cut %d has not happened", how)
				}
			}
		})
	}
}

// looksFor is for how long Retry looks for the outcome of a COMMIT. The tests do not say
// how long a server may take on a machine that has other things to do.
const looksFor = 30 * time.Second

// awaits waits for the end of every transaction that has written an order, and returns how
// often one is stored.
func (o *orders) awaits(t *testing.T, n int) int {
	t.Helper()
	conn, err := o.raw.Conn(context.Background())
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	texts := []string{"LOCK TABLES orders WRITE", "UNLOCK TABLES"}
	if o.IsPostgres() {
		texts = []string{"BEGIN", "LOCK TABLE orders IN SHARE MODE", "COMMIT"}
	}
	for _, query := range texts {
		if _, err := conn.ExecContext(context.Background(), query); err != nil {
			t.Error(err)
		}
	}
	return o.have(t, n)
}

// counts returns how often each cut was made.
func counts(done *[cuts]atomic.Int64) (all [cuts]int64) {
	for how := range done {
		all[how] = done[how].Load()
	}
	return all
}

// slowCommits makes the server work on some COMMITs for a while: PostgreSQL on a deferred
// trigger, MariaDB while a backup holds its lock.
func (o *orders) slowCommits(t *testing.T) {
	t.Helper()
	if o.IsPostgres() {
		harness.Must(t, o.raw,
			"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.03); RETURN NULL; END $$",
			"CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.n % 8 = 0) EXECUTE FUNCTION slow()")
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := o.raw.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			for _, query := range []string{"FLUSH TABLES WITH READ LOCK", "DO SLEEP(0.02)", "UNLOCK TABLES", "DO SLEEP(0.2)"} {
				if _, err := conn.ExecContext(context.Background(), query); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		conn.Close()
	})
}
