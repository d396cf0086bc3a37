package counting_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// TestSnowflakeClockBack: a clock that is set back by less than three seconds, or by less
// than a second without a Marker, makes no difference but to the time of the keys, by up
// to ten seconds it makes a request wait, and by more it is an error.
func TestSnowflakeClockBack(t *testing.T) {
	for _, tt := range []struct {
		back             time.Duration
		marked, unmarked time.Duration // how long it waits
		err              error
	}{
		{back: 0},
		{back: time.Millisecond},
		{back: 999 * time.Millisecond},
		{back: time.Second, unmarked: time.Millisecond},
		{back: 2999 * time.Millisecond, unmarked: 2000 * time.Millisecond},
		{back: 3 * time.Second, marked: time.Millisecond, unmarked: 2001 * time.Millisecond},
		{back: 10 * time.Second, marked: 7001 * time.Millisecond, unmarked: 9001 * time.Millisecond},
		{back: 10001 * time.Millisecond, err: keysource.ErrClock},
		{back: time.Minute, err: keysource.ErrClock},
		{back: 24 * time.Hour, err: keysource.ErrClock},
		{back: 20 * 365 * 24 * time.Hour, err: keysource.ErrClock}, // before the epoch
	} {
		for marker, wait := range map[keysource.Marker]time.Duration{new(markStore): tt.marked, nil: tt.unmarked} {
			t.Run(fmt.Sprintf("%v/%T", tt.back, marker), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					clock := newStepClock()
					s := newSnowflake(t, keysource.SnowflakeOptions{Marker: marker}, clock.env())
					time.Sleep(3 * time.Second)
					last := one(t, s, 1)
					clock.step(-tt.back)
					begin := time.Now()
					key, err := s.Reserve(t.Context(), 1)
					if !errors.Is(err, tt.err) {
						t.Fatalf("Reserve: %v, want %v", err, tt.err)
					}
					if d := time.Since(begin); d != wait {
						t.Errorf("waited %v, want %v", d, wait)
					}
					if tt.err != nil {
						clock.step(tt.back) // set right
						begin = time.Now()
						key = one(t, s, 1)
						if d := time.Since(begin); d != 0 {
							t.Errorf("waited %v for a clock that is right", d)
						}
					}
					if key != last+1 {
						t.Errorf("%v follows %v", apart(key), apart(last))
					}
				})
			})
		}
	}
}

// TestSnowflakeClockBackWhileWaiting: a clock that is set back again and again
// makes a request wait, but not for ever.
func TestSnowflakeClockBackWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStepClock()
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, clock.env())
		one(t, s, 1)
		clock.step(-5 * time.Second)
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					clock.step(-100 * time.Millisecond)
				}
			}
		}()
		begin := time.Now()
		_, err := s.Reserve(t.Context(), 1)
		close(stop)
		if d := time.Since(begin); !errors.Is(err, keysource.ErrClock) || d < 10*time.Second || d > 12*time.Second {
			t.Errorf("Reserve: %v after %v, want ErrClock after ten seconds", err, d)
		}
	})
}

// TestSnowflakeClockForward: the time of keys follows a clock that is set
// forward, and its way back is a step back.
func TestSnowflakeClockForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStepClock()
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, clock.env())
		one(t, s, 1)
		clock.step(24 * time.Hour)
		if got, want := apart(one(t, s, 1)).time, present.Add(24*time.Hour); !got.Equal(want) {
			t.Errorf("a day later the time of a key is %v, want %v", got, want)
		}
		clock.step(-24 * time.Hour)
		if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClock) {
			t.Errorf("back again: %v, want ErrClock", err)
		}
	})
}

// TestSnowflakeFrozen: of a clock that stands still there are the keys of three
// seconds, or of one without a Marker, and then an error after ten seconds, or when
// the context ends.
func TestSnowflakeFrozen(t *testing.T) {
	for marker, ahead := range map[keysource.Marker]int64{new(markStore): 3000, nil: 1000} {
		t.Run(fmt.Sprintf("%T", marker), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newStepClock()
				s := newSnowflake(t, keysource.SnowflakeOptions{Marker: marker}, clock.env())
				time.Sleep(3 * time.Second)
				clock.freeze()
				begin := time.Now()
				var last int64
				for tick := range ahead {
					first := one(t, s, 4096)
					if got := apart(first).time.Sub(clock.now()).Milliseconds(); got != tick {
						t.Fatalf("request %d is %d ms ahead", tick, got)
					}
					last = first + 4095
				}
				if d := time.Since(begin); d != 0 {
					t.Errorf("the keys of %d ms took %v", ahead, d)
				}

				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				if _, err := s.Reserve(ctx, 1); err != context.DeadlineExceeded {
					t.Errorf("a request that ends after two seconds: %v", err)
				}
				if d := time.Since(begin); d != 2*time.Second {
					t.Errorf("it ended after %v", d)
				}
				begin = time.Now()
				if _, err := s.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClock) {
					t.Errorf("a request that does not end: %v, want ErrClock", err)
				}
				if d := time.Since(begin); d < 10*time.Second || d > 12*time.Second {
					t.Errorf("it failed after %v", d)
				}

				clock.frozen.Store(nil)
				if key := one(t, s, 1); key <= last {
					t.Errorf("%v follows %v", apart(key), apart(last))
				}
			})
		})
	}
}

// TestSnowflakeBorrows: what three seconds have too few keys for waits for the clock,
// tick by tick, and an eighth longer at first, see reachShare.
func TestSnowflakeBorrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: new(markStore)}, newStepClock().env())
		begin := time.Now()
		for range 3500 {
			one(t, s, 4096)
		}
		if d := time.Since(begin); d < 500*time.Millisecond || d > 575*time.Millisecond {
			t.Errorf("the keys of 3.5 s took %v, want half a second and an eighth of that", d)
		}
		time.Sleep(100 * time.Millisecond)
		begin = time.Now()
		for range 80 {
			one(t, s, 4096)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("100 ms later the keys of 80 ms took %v", d)
		}
	})
}

// TestSnowflakeUnmarkedStart: without a Marker the first key has the time of a second
// later, so that a predecessor cannot have been there.
func TestSnowflakeUnmarkedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStepClock()
		old := newSnowflake(t, keysource.SnowflakeOptions{}, clock.env())
		begin := time.Now()
		var last int64
		for range 1000 {
			last = one(t, old, 4096) + 4095
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the first key took %v", d)
		}
		if err := old.Close(t.Context()); err != nil {
			t.Error(err)
		}

		s := newSnowflake(t, keysource.SnowflakeOptions{}, clock.env())
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := s.Reserve(ctx, 1); err != context.DeadlineExceeded {
			t.Errorf("within the first second: %v", err)
		}
		key := one(t, s, 1)
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("the first key took %v more", d-time.Second)
		}
		if key <= last || apart(key).time.After(clock.now()) {
			t.Errorf("%v follows %v at %v", apart(key), apart(last), clock.now())
		}
	})
}

// TestSnowflakeUnmarkedLate: a source that is not asked for a second does not
// make the first request wait.
func TestSnowflakeUnmarkedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newStepClock()
		s := newSnowflake(t, keysource.SnowflakeOptions{}, clock.env())
		time.Sleep(time.Second)
		begin := time.Now()
		one(t, s, 1)
		if d := time.Since(begin); d != 0 {
			t.Errorf("waited %v", d)
		}
	})
}
