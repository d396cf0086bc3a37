package keys_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// TestStoreUnderSequence: four processes count through one row, in blocks whose
// size follows the use, up to the limit and not past it.
func TestStoreUnderSequence(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		const limit = 100_000
		harness.OpenOrders(t, s)
		q := harness.Orders
		q.Bounds.Max = limit
		var (
			got harness.Runs
			wg  sync.WaitGroup
		)
		for range 4 {
			src := sequenceOf(t, harness.StoreOf(t, s), q, counting.SequenceOptions{})
			for range 2 {
				wg.Go(func() {
					for {
						first, err := src.Reserve(context.Background(), 3)
						if errors.Is(err, keysource.ErrExhausted) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						got.Add(keysource.Reservation{First: first}, 3)
					}
				})
			}
		}
		wg.Wait()
		count, total := got.Check(t)
		if last := got.All[count-1]; last.First+last.N-1 > limit {
			t.Errorf("the last run ends at %d", last.First+last.N-1)
		}
		// What does not fit a statement at the end of a block is a gap.
		if total < limit*9/10 {
			t.Errorf("%d integers of %d were given out", total, limit)
		}
	})
}

// sequenceOf returns a source that counts through a row, closed when the test
// ends.
func sequenceOf(t *testing.T, st *store.Store, q sequence.Sequence, o counting.SequenceOptions) *counting.Sequence {
	t.Helper()
	r := reserver.New(st, q)
	o.Reserver, o.MaxKey, o.Max = r, r.MaxKey, q.Bounds.Max
	src, err := counting.NewSequence(o, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close(context.Background()) })
	return src
}

// TestStoreUnderSequenceGoesBack: a row that is put back makes the next block
// an error, or is advanced above what this process has been given.
func TestStoreUnderSequenceGoesBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
			src := sequenceOf(t, st, harness.Orders, counting.SequenceOptions{Block: 1, OnStoreRollback: remedy})
			last := int64(0)
			for range 10 {
				first, err := src.Reserve(ctx, 5)
				if err != nil {
					t.Fatal(err)
				}
				last = first + 4
			}
			harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = next_value - 20")
			first, err := src.Reserve(ctx, 5)
			if remedy == keysource.RemedyError && !errors.Is(err, keysource.ErrStoreBack) {
				t.Errorf("%s: %d, %v; want %v", remedy, first, err, keysource.ErrStoreBack)
			}
			if remedy == keysource.RemedyAdvance && (err != nil || first <= last) {
				t.Errorf("%s: %d, %v; want more than %d", remedy, first, err, last)
			}
			harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = next_value + 1000")
		}
	})
}

// TestStoreUnderSequenceNoRow: what is wrong with the row reaches the request.
func TestStoreUnderSequenceNoRow(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		st := harness.OpenOrders(t, s)
		q := harness.Orders
		q.Name, q.Create, q.Exclusive = "another", false, true
		_, err := sequenceOf(t, st, q, counting.SequenceOptions{}).Reserve(context.Background(), 1)
		var e *store.Error
		if !errors.Is(err, store.ErrNoRow) || !errors.As(err, &e) || e.SQL == "" {
			t.Errorf("Reserve: %v, want %v", err, store.ErrNoRow)
		}
		empty := s.Engine.Scratch(t)
		harness.Exec(t, empty.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		_, err = sequenceOf(t, harness.StoreOf(t, empty), harness.Orders, counting.SequenceOptions{}).Reserve(context.Background(), 1)
		if !errors.Is(err, store.ErrTables) {
			t.Errorf("Reserve: %v, want %v", err, store.ErrTables)
		}
	})
}

// TestStoreUnderSnowflake: sources with one worker's number, alive at once, make
// no key twice.
func TestStoreUnderSnowflake(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		harness.OpenOrders(t, s)
		var (
			mu   sync.Mutex
			seen = map[any]bool{}
			wg   sync.WaitGroup
		)
		for range 3 {
			st := harness.StoreOf(t, s)
			wg.Go(func() {
				number := 7
				src, err := counting.NewSnowflake(nil, keysource.SnowflakeOptions{
					Worker: &number,
					Marker: worker.New(st, worker.Worker{Name: "flakes", Number: 7}),
				}, keysource.Env{})
				if err != nil {
					t.Error(err)
					return
				}
				defer src.Close(context.Background())
				for range 200 {
					keys, err := src.Next(context.Background(), keysource.Request{N: 10})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, key := range keys {
						if seen[key] {
							t.Errorf("key %v is made twice", key)
						}
						seen[key] = true
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(seen) != 3*200*10 {
			t.Errorf("%d keys, want %d", len(seen), 3*200*10)
		}
	})
}
