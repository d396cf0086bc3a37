package keys_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// TestStoreCreateRace: 8 processes create the tables and the row at once and
// reserve; nothing is lost or given twice, and the first key is the one after
// the greatest.
func TestStoreCreateRace(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (12), (100)")
		q := harness.Orders
		q.EnsureSchema = true
		var (
			got     harness.Runs
			wg      sync.WaitGroup
			start   = make(chan struct{})
			workers [8]int64
		)
		for i := range 8 {
			st := harness.StoreOf(t, s)
			wg.Go(func() {
				<-start
				r := reserver.New(st, q)
				for range 20 {
					a, err := r.Reserve(context.Background(), 7, 0)
					if err != nil {
						t.Error(err)
						return
					}
					got.Add(a, 7)
				}
				m := worker.New(st, worker.Worker{Name: "orders", Number: 3, EnsureSchema: true})
				before, err := m.Mark(context.Background(), int64(1000+i))
				if err != nil {
					t.Error(err)
				}
				workers[i] = before
			})
		}
		close(start)
		wg.Wait()
		count, _ := got.Check(t)
		if count != 160 || got.All[0].First != 101 || got.All[159].First != 101+159*7 {
			t.Errorf("%d runs from %d to %d, want 160 from 101 to %d", count, got.All[0].First, got.All[count-1].First, 101+159*7)
		}
		if len(got.Servers) != 1 {
			t.Errorf("servers %v, want one", got.Servers)
		}
		// The process that raised the mark first got 0.
		zeros := 0
		for _, before := range workers {
			if before == 0 {
				zeros++
			}
		}
		if zeros != 1 {
			t.Errorf("before: %v, want one 0", workers)
		}
	})
}

// TestStoreOnBehind: a row that is not above the keys in use is an error, is
// advanced, or is left with a warning.
func TestStoreOnBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (1)")
		for _, c := range []struct {
			remedy keysource.Remedy
			err    error
			row    reserver.Row
			next   int64
		}{
			{"", store.ErrBehind, reserver.Row{}, 1},
			{keysource.RemedyError, keysource.ErrStoreBehind, reserver.Row{}, 1},
			{keysource.RemedyWarn, nil, reserver.Row{Next: 1, Behind: true}, 1},
			{keysource.RemedyAdvance, nil, reserver.Row{Next: 2}, 2},
			{"", nil, reserver.Row{Next: 2}, 2},
		} {
			q := harness.Orders
			q.OnBehind = c.remedy
			row, err := reserver.Open(ctx, st, q)
			if row != c.row || !errors.Is(err, c.err) {
				t.Errorf("%q: %+v, %v; want %+v, %v", c.remedy, row, err, c.row, c.err)
			}
			if next := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences"); next != c.next {
				t.Errorf("%q: the next value is %d, want %d", c.remedy, next, c.next)
			}
		}
		if key, err := reserver.New(st, harness.Orders).MaxKey(ctx); key != 1 || err != nil {
			t.Errorf("MaxKey: %d, %v; want 1", key, err)
		}

		// Keys below 1 do not count, and the greatest there is leaves none.
		harness.Exec(t, s.Raw, "DELETE FROM orders")
		harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (-5)")
		q := harness.Orders
		q.Name, q.Exclusive = "negative", true
		if row, err := reserver.Open(ctx, st, q); err != nil || row.Next != 1 {
			t.Errorf("Open: %+v, %v; want the next to be 1", row, err)
		}
		harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", math.MaxInt64))
		q.OnBehind = keysource.RemedyAdvance
		if _, err := reserver.Open(ctx, st, q); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("Open: %v, want %v", err, keysource.ErrExhausted)
		}
		q.Name = "full"
		if _, err := reserver.Open(ctx, st, q); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("Open: %v, want %v", err, keysource.ErrExhausted)
		}
	})
}

// TestStoreAdvance: the next value is raised and never lowered.
func TestStoreAdvance(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		r := reserver.New(harness.OpenOrders(t, s), harness.Orders)
		for _, c := range []struct{ to, want int64 }{{50, 50}, {20, 51}, {51, 52}, {1000, 1000}} {
			if err := r.Advance(ctx, c.to); err != nil {
				t.Fatal(err)
			}
			if got, err := r.Reserve(ctx, 1, 0); err != nil || got.First != c.want {
				t.Errorf("after Advance to %d: %+v, %v; want %d", c.to, got, err, c.want)
			}
		}
	})
}

// TestStoreLimit: the statement itself reserves nothing past the limit, and a
// reserver the rest.
func TestStoreLimit(t *testing.T) {
	t.Parallel()
	harness.Each(t, storeEngines, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		q := harness.Orders
		q.Bounds.Max = 10
		exhausted := func(n int64, next int64) {
			t.Helper()
			_, err := sequence.Reserve(ctx, st, q, n, 0)
			var e *store.Error
			if !errors.As(err, &e) || !errors.Is(err, keysource.ErrExhausted) || e.Next != next {
				t.Errorf("Reserve(%d): %v, want %v", n, err, keysource.ErrExhausted)
			}
			if !strings.Contains(fmt.Sprint(err), "the limit is") {
				t.Errorf("Reserve(%d): %v does not name the limit", n, err)
			}
		}
		exhausted(11, 1)
		exhausted(math.MaxInt64, 1)
		if _, err := sequence.Reserve(ctx, st, q, 0, 0); err != keysource.ErrCount {
			t.Errorf("Reserve(0): %v, want %v", err, keysource.ErrCount)
		}
		if got, err := sequence.Reserve(ctx, st, q, 7, 0); err != nil || got.First != 1 {
			t.Errorf("Reserve(7): %+v, %v; want 1", got, err)
		}
		exhausted(4, 8)
		if got, err := reserver.New(st, q).Reserve(ctx, 4, 0); err != nil || got.First != 8 {
			t.Errorf("Reserver.Reserve(4): %+v, %v; want 8", got, err)
		}
		exhausted(1, 11)

		// At the end of all integers nothing overflows.
		q.Bounds.Max = 0
		if err := sequence.Advance(ctx, st, q, math.MaxInt64-2); err != nil {
			t.Fatal(err)
		}
		exhausted(2+1, math.MaxInt64-2)
		if got, err := reserver.New(st, q).Reserve(ctx, 1000, 0); err != nil || got.First != math.MaxInt64-2 {
			t.Errorf("Reserver.Reserve(1000): %+v, %v; want %d", got, err, math.MaxInt64-2)
		}
		exhausted(1, math.MaxInt64)

		q.Name = "missing"
		if _, err := sequence.Reserve(ctx, st, q, 1, 0); !errors.Is(err, store.ErrNoRow) {
			t.Errorf("Reserve: %v, want %v", err, store.ErrNoRow)
		}
	})
}

// TestStoreGoesBack: a row below the integers that were seen reserves nothing and says
// where it stands; another row, and another server, is distinguished from the one before.
func TestStoreGoesBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		r := reserver.New(st, harness.Orders)
		first, err := r.Reserve(ctx, 1000, 0)
		if err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 600")
		_, err = sequence.Reserve(ctx, st, harness.Orders, 10, 1001)
		var e *store.Error
		if !errors.As(err, &e) || !errors.Is(err, keysource.ErrStoreBack) || e.Err != store.ErrBack || e.Next != 600 {
			t.Errorf("Reserve: %v, want %v", err, store.ErrBack)
		}
		if got, err := r.Reserve(ctx, 10, 1001); err != nil || got != (keysource.Reservation{First: 600, Server: first.Server}) {
			t.Errorf("Reserver.Reserve: %+v, %v; want 600 of %q", got, err, first.Server)
		}
		if next := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences"); next != 600 {
			t.Errorf("the next value is %d, want 600", next)
		}

		// A row that is removed is missing, or is made again above blocks that other
		// processes may hold.
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		if _, err := sequence.Reserve(ctx, st, harness.Orders, 10, 1001); !errors.Is(err, store.ErrNoRow) {
			t.Errorf("Reserve: %v, want %v", err, store.ErrNoRow)
		}
		again, err := r.Reserve(ctx, 10, 1001)
		if err != nil {
			t.Fatal(err)
		}
		if again.First != 1001+100*10 || again.Server == first.Server {
			t.Errorf("Reserver.Reserve: %+v, want %d of another row than %q", again, 1001+100*10, first.Server)
		}
		next, err := r.Reserve(ctx, 10, again.First+10)
		if want := (keysource.Reservation{First: again.First + 10, Server: again.Server}); err != nil || next != want {
			t.Errorf("Reserver.Reserve: %+v, %v; want %+v", next, err, want)
		}
	})
}
