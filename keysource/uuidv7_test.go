package keysource_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// tick is the first nanosecond of a 4096th of a millisecond.
func tick(n time.Duration) time.Duration { return (n*time.Millisecond + 4095) / 4096 }

func TestUUIDv7Vectors(t *testing.T) {
	sample := time.UnixMilli(0x017F22E279B0)
	for _, tt := range []struct {
		name   string
		now    time.Time
		random string
		layout dialect.Layout
		want   string
	}{
		{"string", instant.Add(tick(0xed5)), "40122e27653a9d13", str,
			"0137aa88-0c46-7ed5-8012-2e27653a9d13"},
		{"binary", instant.Add(tick(0xed5)), "40122e27653a9d13", bin,
			"0137aa880c467ed580122e27653a9d13"},
		{"at end", instant.Add(tick(0xed5)), "40122e27653a9d13", atEnd,
			"139d3a65-272e-1280-7ed5-0137aa880c46"},
		{"RFC 9562 appendix A.6", sample.Add(tick(0xCC3)), "18C4DC0C0C07398F", str,
			"017f22e2-79b0-7cc3-98c4-dc0c0c07398f"},
		{"first tick", time.UnixMilli(0), "0000000000000000", str,
			"00000000-0000-7000-8000-000000000000"},
		{"last tick", time.UnixMilli(1<<48 - 1).Add(tick(4095)), "ffffffffffffffff", str,
			"ffffffff-ffff-7fff-bfff-ffffffffffff"},
		{"before the next tick", instant.Add(tick(1) - 1), "ffffffffffffffff", str,
			"0137aa88-0c46-7000-bfff-ffffffffffff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := keysource.NewUUIDv7(keysource.Env{Now: frozen(tt.now), Rand: bytesOf(t, tt.random)})
			if got := text(t, next(t, s, tt.layout, 1)[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestUUIDv7Stored checks the bytes under which SQL Server stores the text.
func TestUUIDv7Stored(t *testing.T) {
	s := keysource.NewUUIDv7(keysource.Env{
		Now: frozen(instant.Add(tick(0xed5))), Rand: bytesOf(t, "40122e27653a9d13"),
	})
	const want = "653a9d132e2780127ed50137aa880c46"
	if got := text(t, stored(t, text(t, next(t, s, atEnd, 1)[0]))); got != want {
		t.Errorf("stored as %s, want %s", got, want)
	}
}

func TestUUIDv7Marks(t *testing.T) {
	s := keysource.NewUUIDv7(keysource.Env{Now: frozen(instant), Rand: newStream()})
	for _, key := range next(t, s, str, 10_000) {
		u, err := uuid.Parse(key.(string))
		if err != nil {
			t.Fatal(err)
		}
		if u.Version() != 7 || u.Variant() != uuid.RFC4122 {
			t.Fatalf("%s has version %d and variant %v", u, u.Version(), u.Variant())
		}
	}
}

// TestUUIDv7Counts: in a millisecond that does not end, keys take the ticks
// that follow, past its end too.
func TestUUIDv7Counts(t *testing.T) {
	s := keysource.NewUUIDv7(keysource.Env{Now: frozen(instant.Add(tick(0xffe))), Rand: zeros{}})
	want := []string{
		"0137aa88-0c46-7ffe-8000-000000000000",
		"0137aa88-0c46-7fff-8000-000000000000",
		"0137aa88-0c47-7000-8000-000000000000",
		"0137aa88-0c47-7001-8000-000000000000",
	}
	got := append(next(t, s, str, 1), next(t, s, str, 3)...)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("key %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// TestUUIDv7Ends: the last tick is not followed by the first.
func TestUUIDv7Ends(t *testing.T) {
	s := keysource.NewUUIDv7(keysource.Env{
		Now: frozen(time.UnixMilli(1<<48 - 1).Add(tick(4094))), Rand: zeros{},
	})
	_, err := s.Next(t.Context(), keysource.Request{N: 3, Layout: str})
	if !errors.Is(err, keysource.ErrClock) {
		t.Errorf("three keys for two ticks: %v, want ErrClock", err)
	}
	if got, want := next(t, s, str, 2)[1], "ffffffff-ffff-7fff-8000-000000000000"; got != want {
		t.Errorf("the last key is %s, want %s", got, want)
	}
	_, err = s.Next(t.Context(), keysource.Request{N: 1, Layout: str})
	if !errors.Is(err, keysource.ErrClock) {
		t.Errorf("a key after the last: %v, want ErrClock", err)
	}
}

// TestUUIDv7Borrows: keys may run ahead of the clock for a second, then a
// request waits for it. The clock is set back by most of that second first.
func TestUUIDv7Borrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back time.Duration
		s := keysource.NewUUIDv7(keysource.Env{
			Now: func() time.Time { return time.Now().Add(-back) }, Rand: zeros{},
		})
		draw := func(n int) time.Duration {
			start := time.Now()
			next(t, s, bin, n)
			return time.Since(start)
		}
		draw(1)
		back = 990 * time.Millisecond
		if d := draw(5*4096) + draw(5*4096-1); d != 0 {
			t.Errorf("the keys of the last 10 ms of a second took %v", d)
		}
		if d := draw(20 * 4096); d != 0 {
			t.Errorf("a request that begins within the second took %v", d)
		}
		if d := draw(1); d < 20*time.Millisecond || d > 22*time.Millisecond {
			t.Errorf("the key 20 ms after it took %v", d)
		}
		time.Sleep(5 * time.Millisecond)
		if d := draw(5 * 4096); d != 0 {
			t.Errorf("5 ms later the keys of 5 ms took %v", d)
		}
	})
}

// timeOf returns the time of the next key.
func timeOf(t *testing.T, s keysource.Source) time.Time {
	t.Helper()
	key := text(t, next(t, s, str, 1)[0])
	readings, err := keysource.Inspect(key)
	if err != nil || readings[0].Kind != "uuidv7" {
		t.Fatalf("Inspect(%q) = %v, %v", key, readings, err)
	}
	return readings[0].Time
}

// TestUUIDv7LeavesClock: a source whose clock is set back by a day waits once
// and then goes on at the pace of the monotonic reading.
func TestUUIDv7LeavesClock(t *testing.T) {
	monotonic := time.Now() // in a bubble it would have no monotonic reading
	synctest.Test(t, func(t *testing.T) {
		var step time.Duration
		start := time.Now()
		s := keysource.NewUUIDv7(keysource.Env{
			Now:  func() time.Time { return monotonic.Add(time.Since(start) + step) },
			Rand: zeros{},
		})
		first := timeOf(t, s)
		step = -24 * time.Hour
		const slack = 5 * time.Millisecond
		if d := timeOf(t, s).Sub(first); d < 0 || d > slack {
			t.Errorf("after the step the time of keys went on by %v", d)
		}
		// The keys are a second ahead now.
		time.Sleep(11 * time.Second)
		begin := time.Now()
		if d := timeOf(t, s).Sub(first) - 10*time.Second; d < -slack || d > slack {
			t.Errorf("11 s later the time of keys is off by %v", d)
		}
		next(t, s, str, 4096)
		next(t, s, str, 4096)
		if d := time.Since(begin); d != 0 {
			t.Errorf("the keys of 2 ms took %v", d)
		}
	})
}

// TestUUIDv7FollowsClock: a clock without monotonic reading, flapping by a day,
// does not add to the time of keys.
func TestUUIDv7FollowsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newSetClock(instant)
		s := keysource.NewUUIDv7(clock.env())
		for i := range 10 {
			right := instant.Add(time.Duration(i) * time.Second)
			clock.set(right)
			if got := timeOf(t, s); !got.Equal(right) {
				t.Fatalf("round %d: the time of a key is %v, want %v", i, got, right)
			}
			clock.set(right.Add(-24 * time.Hour))
			if d := timeOf(t, s).Sub(right); d < 0 || d > 5*time.Millisecond {
				t.Fatalf("round %d: after the step the time of keys went on by %v", i, d)
			}
		}
	})
}

// TestUUIDv7Steps: a wall clock that is set is followed a millisecond later,
// forwards and back within the borrow cap, and keys ascend throughout.
func TestUUIDv7Steps(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, 24 * 365 * time.Hour, time.Second, -500 * time.Millisecond} {
		t.Run(step.String(), func(t *testing.T) {
			var passed, set time.Duration
			looks := 0
			s := keysource.NewUUIDv7Apart(func() time.Time {
				looks++
				return instant.Add(passed + set)
			}, func() time.Duration { return passed })
			last := ""
			draw := func() time.Time {
				t.Helper()
				key := text(t, next(t, s, str, 1)[0])
				if key <= last {
					t.Errorf("%s follows %s", key, last)
				}
				last = key
				readings, err := keysource.Inspect(key)
				if err != nil {
					t.Fatal(err)
				}
				return readings[0].Time
			}
			near := func(what string, got, want time.Time) {
				t.Helper()
				if d := got.Sub(want); d < -time.Millisecond || d > time.Millisecond {
					t.Errorf("%s the time of a key is %v, want %v", what, got, want)
				}
			}
			for range 50 {
				near("before the step", draw(), instant.Add(passed))
				passed += 100 * time.Microsecond
			}
			if looks > 7 {
				t.Errorf("in 5 ms the wall clock was looked at %d times", looks)
			}
			set = step
			draw() // perhaps by the look before
			passed += time.Millisecond
			if want := instant.Add(passed + set); step > 0 {
				near("after the step", draw(), want)
			} else {
				// Set back by less than the cap: the keys go on from the last one,
				// until the clock has caught up.
				near("after the step", draw(), instant.Add(passed-time.Millisecond))
				passed += -step
				near("later", draw(), instant.Add(passed+set))
			}
		})
	}
}

// TestUUIDv7SlowLook: while one goroutine is held up between the wall clock and
// what it notes of it, the others go on, and the stale look is forgotten soon.
func TestUUIDv7SlowLook(t *testing.T) { synctest.Test(t, slowLook) }

func slowLook(t *testing.T) {
	var (
		passed, set atomic.Int64
		held        = make(chan chan struct{}, 1)
	)
	s := keysource.NewUUIDv7Apart(func() time.Time {
		at := instant.Add(time.Duration(passed.Load() + set.Load()))
		select {
		case hold := <-held:
			hold <- struct{}{}
			<-hold
		default:
		}
		return at
	}, func() time.Duration { return time.Duration(passed.Load()) })
	timeOf(t, s)
	hold := make(chan struct{})
	held <- hold
	passed.Add(int64(2 * time.Millisecond))
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Key16(context.Background(), bin) })
	<-hold // the goroutine has read the wall clock
	set.Store(int64(time.Hour))
	passed.Add(int64(2 * time.Millisecond))
	want := instant.Add(time.Duration(passed.Load() + set.Load()))
	if d := timeOf(t, s).Sub(want); d < -time.Millisecond || d > time.Millisecond {
		t.Errorf("while a look is held up keys are off by %v", d)
	}
	hold <- struct{}{}
	wg.Wait()
	ahead := timeOf(t, s) // by the stale look; never before the last key
	if ahead.Before(want.Add(-time.Millisecond)) {
		t.Errorf("a key is of %v, after one of %v", ahead, want)
	}
	passed.Add(int64(3 * time.Second))
	want = instant.Add(time.Duration(passed.Load() + set.Load()))
	if d := timeOf(t, s).Sub(want); d < -time.Millisecond || d > time.Millisecond {
		t.Errorf("after the next look keys are off by %v", d)
	}
}
