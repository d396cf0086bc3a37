package keys_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
)

// TestStoreFoundRows: with clientFoundRows, by which the driver counts the rows that an
// UPDATE has found and not those that it has changed, no integer is reserved twice, nor
// a time, by several at once.
func TestStoreFoundRows(t *testing.T) {
	t.Parallel()
	for _, params := range []string{"clientFoundRows=true", "clientFoundRows=true&interpolateParams=true", "interpolateParams=true"} {
		t.Run(params, func(t *testing.T) {
			e := harness.MySQLDefault
			e.Params = params
			s := e.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY)")
			stores := make([]*store.Store, 2)
			for i := range stores {
				db := store.Pool(dialect.MariaDB(), s.Connector)
				t.Cleanup(func() { db.Close() })
				stores[i] = store.New(dialect.MariaDB(), db)
			}
			reserveAtOnce(t, stores)
			markAtOnce(t, stores)
		})
	}
}

// reserveAtOnce reserves blocks of three by four goroutines.
func reserveAtOnce(t *testing.T, stores []*store.Store) {
	t.Helper()
	var mu sync.Mutex
	var firsts []int64
	var wg sync.WaitGroup
	for i := range 4 {
		r := reserver.New(stores[i%2], sequence.Sequence{
			Name: "t.id", Columns: []store.Column{{Table: "t", Name: "id"}}, Create: true, EnsureSchema: true,
		})
		wg.Go(func() {
			for range 50 {
				got, err := r.Reserve(context.Background(), 3, 0)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				firsts = append(firsts, got.First)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(firsts)
	for i, first := range firsts {
		if want := int64(3*i + 1); first != want {
			t.Fatalf("block %d begins at %d, want %d", i, first, want)
		}
	}
}

// markAtOnce raises one worker's mark by four goroutines.
func markAtOnce(t *testing.T, stores []*store.Store) {
	t.Helper()
	var mu sync.Mutex
	taken := map[int64]bool{}
	var wg sync.WaitGroup
	began := time.Now().UnixMilli()
	for i := range 4 {
		m := worker.New(stores[i%2], worker.Worker{Name: "flakes", Number: 1, Owner: "test"})
		wg.Go(func() {
			for step := range int64(30) {
				until := began + 10*step + int64(i)
				before, err := m.Mark(context.Background(), until)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for at := max(before, began); at < until; at++ {
					if taken[at] {
						t.Errorf("the millisecond %d after the beginning is reserved twice", at-began)
					}
					taken[at] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(taken) == 0 {
		t.Error("no time was reserved")
	}
}
