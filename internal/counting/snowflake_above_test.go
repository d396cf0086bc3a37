package counting_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// flakeAt returns the key of the default bits.
func flakeAt(t time.Time, worker, sequence int64) int64 {
	return (t.UnixMilli()-epochMilli)<<22 | worker<<12 | sequence
}

// TestSnowflakeAbove: with a clock that shows present, a source of worker 5
// gets the first key above the one in the table.
func TestSnowflakeAbove(t *testing.T) {
	ms := func(n int) time.Time { return present.Add(time.Duration(n) * time.Millisecond) }
	first := flake{ms(1000), 5, 0} // it leaves out a second
	for _, tt := range []struct {
		name string
		key  int64
		want flake
		took time.Duration
	}{
		{"an empty table", 0, first, time.Second},
		{"below zero", math.MinInt64, first, time.Second},
		{"a counter's", 42, first, time.Second},
		{"of the past", flakeAt(ms(-5000), 9, 7), first, time.Second},
		{"within the second that is left out", flakeAt(ms(999), 9, 7), first, time.Second},
		{"of a lower worker", flakeAt(ms(3000), 4, 4095), flake{ms(3000), 5, 0}, 3 * time.Second},
		{"of this worker", flakeAt(ms(3000), 5, 7), flake{ms(3000), 5, 8}, 3 * time.Second},
		{"of this worker, the last", flakeAt(ms(3000), 5, 4095), flake{ms(3001), 5, 0}, 3001 * time.Millisecond},
		{"of a higher worker", flakeAt(ms(3000), 6, 0), flake{ms(3001), 5, 0}, 3001 * time.Millisecond},
		{"ten seconds ahead", flakeAt(ms(10_000), 4, 0), flake{ms(10_000), 5, 0}, 10 * time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := newSnowflake(t, keysource.SnowflakeOptions{}, newStepClock().env())
			if err := s.Above(tt.key); err != nil {
				t.Fatal(err)
			}
			if last := s.Stats().Last; !last.IsZero() {
				t.Errorf("the last key was of %v", last)
			}
			began := time.Now()
			key := one(t, s, 1)
			if got := apart(key); got != tt.want || key <= tt.key {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if took := time.Since(began); took != tt.took {
				t.Errorf("it took %s, want %s", took, tt.took)
			}
		})
	}
}

func TestSnowflakeAboveTheClock(t *testing.T) {
	bubble(t, "more than ten seconds", func(t *testing.T) {
		clock := newStepClock()
		s := newSnowflake(t, keysource.SnowflakeOptions{}, clock.env())
		key := flakeAt(present.Add(time.Hour), 5, 0)
		if err := s.Above(key); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClock) {
			t.Errorf("Reserve: %v", err)
		}
		clock.step(time.Hour)
		if got := one(t, s, 1); got != key+1 {
			t.Errorf("got %v", apart(got))
		}
	})
	bubble(t, "the last key of all", func(t *testing.T) {
		s := newSnowflake(t, keysource.SnowflakeOptions{}, newStepClock().env())
		if err := s.Above(math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("Reserve: %v", err)
		}
	})
}

func TestSnowflakeAboveForeignKeys(t *testing.T) {
	const key = 1 << 53
	synctest.Test(t, func(t *testing.T) {
		s := newSnowflake(t, keysource.SnowflakeOptions{Bits: keysource.SnowflakeBits53()}, newStepClock().env())
		err := s.Above(key)
		if !errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), "no snowflakes of 53 bits") ||
			strings.Contains(err.Error(), strconv.Itoa(key)) {
			t.Errorf("Above: %v", err)
		}
		if got := one(t, s, 1); got >= key {
			t.Errorf("the next key is %d", got)
		}
	})
}

// TestSnowflakeAboveWhileInUse: the argument of Above is below all keys that are asked
// for afterwards, with and without a Marker.
func TestSnowflakeAboveWhileInUse(t *testing.T) {
	for name, marker := range map[string]keysource.Marker{"alone": nil, "with a Marker": new(markStore)} {
		bubble(t, name, func(t *testing.T) {
			s := newSnowflake(t, keysource.SnowflakeOptions{Marker: marker}, newStepClock().env())
			var wg sync.WaitGroup
			for i := range int64(8) {
				wg.Go(func() {
					for range 50 {
						key := one(t, s, 1) + i<<22 - 3
						if err := s.Above(key); err != nil {
							t.Error(err)
						}
						if got := one(t, s, 1); got <= key {
							t.Errorf("got %v after %v", apart(got), apart(key))
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestSnowflakeAboveMarked: with a Marker, which guards against other processes, a source
// that is above a key takes later ticks at once, as any other does, and one that shares
// its number with another process does not stay below that process's mark.
func TestSnowflakeAboveMarked(t *testing.T) {
	bubble(t, "alone", func(t *testing.T) {
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, newStepClock().env())
		key := flakeAt(present.Add(2*time.Second), 5, 7)
		if err := s.Above(key); err != nil {
			t.Fatal(err)
		}
		if last := s.Stats().Last; !last.IsZero() {
			t.Errorf("the last key was of %v", last)
		}
		began := time.Now()
		if got := one(t, s, 1); got != key+1 {
			t.Errorf("%v follows %v", apart(got), apart(key))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
	bubble(t, "beside a rival", func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		o := keysource.SnowflakeOptions{Marker: store, Bits: keysource.SnowflakeBits{Time: 32, Worker: 8, Sequence: 13, Unit: time.Second}}
		rival, s := newSnowflake(t, o, clock.env()), newSnowflake(t, o, clock.env())
		key := one(t, rival, 1)
		if err := s.Above(key); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			for ctx.Err() == nil {
				_, _ = rival.Reserve(ctx, 1)
				time.Sleep(100 * time.Millisecond)
			}
		})
		began := time.Now()
		one(t, s, 1)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		stop()
		group.Wait()
	})
}
