package counting_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/fetching"
	"github.com/keyfill/keyfill/keysource"
)

func TestSnowflakeVectors(t *testing.T) {
	year := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		bits   keysource.SnowflakeBits
		worker int
		now    time.Time
		want   int64
	}{
		// 366 days are 31,622,400,000 ms.
		{"default", keysource.SnowflakeBits{}, 5, year, 31_622_400_000<<22 | 5<<12},
		{"default, worker 0", keysource.SnowflakeBits{}, 0, year, 31_622_400_000 << 22},
		{"default, worker 1023", keysource.SnowflakeBits{}, 1023, year.Add(time.Millisecond), 31_622_400_001<<22 | 1023<<12},
		{"within a millisecond", keysource.SnowflakeBits{}, 5, year.Add(999_999), 31_622_400_000<<22 | 5<<12},
		{"the first millisecond", keysource.SnowflakeBits{}, 5, time.UnixMilli(epochMilli), 1<<22 | 5<<12},
		{"the last millisecond", keysource.SnowflakeBits{}, 1023, time.UnixMilli(epochMilli + 1<<41 - 1),
			(1<<41-1)<<22 | 1023<<12},
		{"53 bits", keysource.SnowflakeBits53(), 127, year.Add(99 * time.Millisecond), 316_224_000<<19 | 127<<12},
		{"53 bits, the last", keysource.SnowflakeBits53(), 127, time.UnixMilli(epochMilli + (1<<34-1)*100),
			1<<53 - 1<<12},
		{"seconds since 1970", keysource.SnowflakeBits{
			Time: 32, Worker: 8, Sequence: 13, Unit: time.Second, Epoch: time.Unix(0, 0),
		}, 200, year, 1_609_459_200<<21 | 200<<13},
		{"one worker", keysource.SnowflakeBits{Time: 45, Sequence: 17}, 0, year, 31_622_400_000 << 17},
		{"no sequence", keysource.SnowflakeBits{Time: 41, Worker: 10}, 9, year, 31_622_400_000<<10 | 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSnowflake(t, keysource.SnowflakeOptions{
				Bits: tt.bits, Worker: &tt.worker, Marker: new(markStore),
			}, keysource.Env{Now: frozen(tt.now)})
			if got := one(t, s, 1); got != tt.want {
				t.Errorf("got %d (%#x), want %d (%#x)", got, got, tt.want, tt.want)
			}
		})
	}
}

// TestSnowflakeRequests: the keys of a request are consecutive and of one tick,
// the next one where they do not fit.
func TestSnowflakeRequests(t *testing.T) {
	s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, keysource.Env{Now: frozen(present)})
	ms := func(n int) time.Time { return present.Add(time.Duration(n) * time.Millisecond) }
	for i, tt := range []struct {
		n    int64
		want flake
	}{
		{1, flake{ms(0), 5, 0}},
		{1, flake{ms(0), 5, 1}},
		{4000, flake{ms(0), 5, 2}},
		{94, flake{ms(0), 5, 4002}},
		{1, flake{ms(1), 5, 0}},    // the tick is used up
		{4095, flake{ms(1), 5, 1}}, // fits exactly
		{4096, flake{ms(2), 5, 0}},
		{1, flake{ms(3), 5, 0}},
		{4096, flake{ms(4), 5, 0}}, // does not fit
		{2, flake{ms(5), 5, 0}},    // and what it left over stays so
	} {
		if got := apart(one(t, s, tt.n)); got != tt.want {
			t.Errorf("request %d, for %d: %v, want %v", i, tt.n, got, tt.want)
		}
	}
}

func TestSnowflakeNext(t *testing.T) {
	flakes := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, keysource.Env{Now: frozen(present)})
	first := one(t, flakes, 1) + 1
	var s keysource.Source = flakes
	for _, layout := range []dialect.Layout{"", str} {
		keys, err := s.Next(t.Context(), keysource.Request{N: 3, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			want := any(first + int64(i))
			if layout == str {
				want = strconv.FormatInt(first+int64(i), 10)
			}
			if key != want {
				t.Errorf("layout %q: key %d is %v (%T), want %v", layout, i, key, key, want)
			}
		}
		first += 3
	}
}

func TestSnowflakeRefusals(t *testing.T) {
	s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, keysource.Env{Now: frozen(present)})
	for _, tt := range []struct {
		name string
		r    keysource.Request
		want error
	}{
		{"none", keysource.Request{}, keysource.ErrCount},
		{"fewer", keysource.Request{N: -1}, keysource.ErrCount},
		{"more than a tick", keysource.Request{N: 4097}, keysource.ErrTooMany},
		{"as bytes", keysource.Request{N: 1, Layout: bin}, keysource.ErrLayout},
		{"at the end", keysource.Request{N: 1, Layout: atEnd}, keysource.ErrLayout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keys, err := s.Next(t.Context(), tt.r)
			if keys != nil || !errors.Is(err, tt.want) {
				t.Errorf("Next = %d keys, %v, want none, %v", len(keys), err, tt.want)
			}
		})
	}
	if got, want := apart(one(t, s, 1)), (flake{present, 5, 0}); got != want {
		t.Errorf("the first key after that is %v, want %v", got, want)
	}
}

// TestSnowflakeCost: a request reads the clock once and allocates nothing of its
// own.
func TestSnowflakeCost(t *testing.T) {
	var readings int
	s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, keysource.Env{Now: func() time.Time {
		readings++
		return present
	}})
	one(t, s, 1)
	readings = 0
	const runs = 1000
	allocs := testing.AllocsPerRun(runs, func() { one(t, s, 100) })
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if readings != runs+1 { // AllocsPerRun warms up
		t.Errorf("%d readings of the clock for %d requests", readings, runs+1)
	}
}

func TestSnowflakeTraits(t *testing.T) {
	s := newSnowflake(t, keysource.SnowflakeOptions{}, keysource.Env{Now: frozen(present)})
	want := keysource.Traits{
		Ordered: true, Contiguous: true, Integer: true,
		End: time.Date(2089, 9, 6, 15, 47, 35, 552_000_000, time.UTC),
	}
	if got := s.Traits(); got != want {
		t.Errorf("Traits() = %+v, want %+v", got, want)
	}
}

// TestSnowflakeOrder takes keys in a ring of goroutines, as TestOrder does for
// the kinds that never fail: each key is greater than all before it.
func TestSnowflakeOrder(t *testing.T) {
	const links = 4000
	for _, back := range []time.Duration{0, 500 * time.Millisecond, time.Second, 9 * time.Second} {
		t.Run(fmt.Sprintf("back %v", back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newStepClock()
				s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, clock.env())
				ring(t, links, func(link int, last int64) (int64, error) {
					if link == links/2 {
						clock.step(-back)
					}
					n := int64(1 + link%3)
					first, err := s.Reserve(t.Context(), n)
					if err == nil && first <= last {
						err = fmt.Errorf("%d follows %d", first, last)
					}
					return first + n - 1, err
				})
			})
		})
	}
}

func TestSnowflakeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		workers := new(counting.Workers)
		clock := newStepClock()
		var o keysource.SnowflakeOptions
		s := newSnowflakeAmong(t, workers, o, clock.env())
		var wg sync.WaitGroup
		wg.Go(func() { // waits for its first second
			if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClosed) {
				t.Errorf("a request that waits: %v, want ErrClosed", err)
			}
		})
		synctest.Wait()
		o.Worker = new(5)
		if _, err := counting.NewSnowflake(workers, o, clock.env()); !errors.Is(err, keysource.ErrWorkerTaken) {
			t.Errorf("the number of an open source: %v, want ErrWorkerTaken", err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClosed) {
			t.Errorf("a request after Close: %v, want ErrClosed", err)
		}
		next := newSnowflakeAmong(t, workers, o, clock.env())
		if err := s.Close(t.Context()); err != nil { // again
			t.Error(err)
		}
		if _, err := counting.NewSnowflake(workers, o, clock.env()); !errors.Is(err, keysource.ErrWorkerTaken) {
			t.Errorf("the second Close gave back the number of another source: %v", err)
		}
		one(t, next, 1)
	})
}

// TestSnowflakeCloseStopsMark: Close ends the call that is under way, and waits for one
// that does not end until its context ends.
func TestSnowflakeCloseStopsMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		store := &markStore{before: func(ctx context.Context) error {
			<-ctx.Done()
			<-released
			return ctx.Err()
		}}
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, newStepClock().env())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClosed) {
				t.Errorf("a request that waits: %v, want ErrClosed", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); err != context.DeadlineExceeded {
			t.Errorf("Close while the Marker hangs: %v", err)
		}
		close(released)
		wg.Wait()
	})
}

func TestSnowflakeStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStepClock()
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, clock.env())
		want := counting.SnowflakeStats{Worker: 5, End: s.Traits().End}
		stats := func() counting.SnowflakeStats {
			got := s.Stats()
			if got.Fetching.Fetches != uint64(got.Marks) || got.Fetching.Errors != 0 {
				t.Errorf("%d calls to the Marker are measured, and %d errors, of %d", got.Fetching.Fetches, got.Fetching.Errors, got.Marks)
			}
			got.Fetching = fetching.Fetching{}
			return got
		}
		if got := stats(); got != want {
			t.Errorf("before the first key: %+v, want %+v", got, want)
		}
		one(t, s, 3)
		want.Last, want.Until, want.Marks = present, present.Add(3*time.Second), 1
		if got := stats(); got != want {
			t.Errorf("after it: %+v, want %+v", got, want)
		}
		clock.step(-4 * time.Second)
		one(t, s, 1)
		want.Waits = 1
		if got := stats(); got != want {
			t.Errorf("after a wait: %+v, want %+v", got, want)
		}
	})
}
