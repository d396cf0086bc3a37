package counting_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// fewKeys are snowflakes with two keys a tick.
var fewKeys = keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 1}

// draw makes keys for a time, as fast as there are any, and checks that no key comes twice,
// and that no mark is more than three seconds ahead, but for what a tick is longer. It returns how many keys there were.
func draw(t *testing.T, s *counting.Snowflake, store *markStore, clock *stepClock, unit, d time.Duration) (keys int) {
	t.Helper()
	last := int64(0)
	for began := time.Now(); time.Since(began) < d; keys++ {
		key := one(t, s, 1)
		if key <= last {
			t.Fatalf("%d follows %d", key, last)
		}
		last = key
		if ahead := store.now().Sub(clock.now()); ahead >= 3*time.Second+unit {
			t.Fatalf("the mark is %v ahead", ahead)
		}
	}
	return keys
}

// TestMarkReach: a source whose ticks are used up as fast as the clock makes them asks for
// one mark a second, though there are a thousand ticks in that, and makes a key of each.
func TestMarkReach(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bits  keysource.SnowflakeBits
		unit  time.Duration
		trip  time.Duration // of a call
		calls int           // a second, at most, once the reach has settled
	}{
		{name: "ticks of a millisecond", bits: fewKeys, unit: time.Millisecond, calls: 1},
		{name: "and a slow store", bits: fewKeys, unit: time.Millisecond, trip: 100 * time.Millisecond, calls: 1},
		{name: "ticks of ten milliseconds", bits: keysource.SnowflakeBits{Time: 38, Worker: 10, Sequence: 1, Unit: 10 * time.Millisecond}, unit: 10 * time.Millisecond, calls: 1},
		{name: "ticks of a second", bits: keysource.SnowflakeBits{Time: 32, Worker: 10, Sequence: 1, Unit: time.Second}, unit: time.Second, calls: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newStepClock()
				store := &markStore{before: pauseOf(tt.trip)}
				s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store, Bits: tt.bits}, clock.env())
				draw(t, s, store, clock, tt.unit, 15*time.Second)
				if n := store.called(); n > 150 {
					t.Errorf("called %d times in 15 s", n)
				}
				before := store.called()
				keys := draw(t, s, store, clock, tt.unit, 20*time.Second)
				if n := store.called() - before; n > 20*tt.calls+1 {
					t.Errorf("called %d times in 20 s, want %d a second", n, tt.calls)
				}
				if least := int(20*time.Second/tt.unit) * 2 * 9 / 10; keys < least {
					t.Errorf("%d keys in 20 s, want %d", keys, least)
				}
			})
		})
	}
}

// TestMarkReachGrowsSmoothly: while the reach grows no request waits for longer than an
// eighth of a second.
func TestMarkReachGrowsSmoothly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store, Bits: fewKeys}, clock.env())
		for i := range 60_000 { // thirty seconds
			began := time.Now()
			one(t, s, 1)
			if d := time.Since(began); d > 125*time.Millisecond {
				t.Fatalf("request %d waited %v", i, d)
			}
		}
	})
}

// TestMarkReachRestart: a process that begins where one was killed waits for the next tick
// at most, however far the marks of that one have reached.
func TestMarkReachRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		o := keysource.SnowflakeOptions{Marker: store, Bits: fewKeys}
		s := newSnowflake(t, o, clock.env())
		for range 20 {
			draw(t, s, store, clock, time.Millisecond, 1100*time.Millisecond) // so that it ends at any place of a reach
			next := newSnowflake(t, o, clock.env())
			began := time.Now()
			one(t, next, 1)
			if d := time.Since(began); d > time.Millisecond {
				t.Errorf("the first key waited %v", d)
			}
			s = next
		}
	})
}

// TestMarkReachShrinks: where the use falls the keys may run ahead again as far as at first,
// and marks are as few as they were.
func TestMarkReachShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store, Bits: fewKeys}, clock.env())
		draw(t, s, store, clock, time.Millisecond, 20*time.Second)
		for range 3000 { // a minute
			one(t, s, 1)
			time.Sleep(20 * time.Millisecond)
		}
		before := store.called()
		for range 1000 { // twenty seconds
			one(t, s, 1)
			time.Sleep(20 * time.Millisecond)
		}
		if n := store.called() - before; n > 10 {
			t.Errorf("called %d times in 20 s, want one in 2.4 s", n)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		for range 5900 {
			one(t, s, 1)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("the keys of almost three seconds took %v", d)
		}
	})
}

// TestMarkReachRivals: of two sources with one number, none holds its keys back for marks
// that the other one raises.
func TestMarkReachRivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), &markStore{before: pauseOf(3 * time.Millisecond)}
		made := map[int64]bool{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 2 {
			s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store, Bits: fewKeys}, clock.env())
			wg.Go(func() {
				for range 20_000 {
					began := time.Now()
					key := one(t, s, 1)
					if d := time.Since(began); d > 150*time.Millisecond {
						t.Errorf("waited %v", d)
					}
					mu.Lock()
					if made[key] {
						t.Errorf("%d is made twice", key)
					}
					made[key] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	})
}
