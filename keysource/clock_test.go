package keysource_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// TestWaitEnds: a request that waits for a clock ends with its context, and
// has then taken nothing.
func TestWaitEnds(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, l := range laws {
		if !l.traits.Ordered {
			continue
		}
		t.Run(l.name+"/cancelled", func(t *testing.T) {
			clock := newSetClock(instant)
			s, twin := l.make(clock.env()), l.make(clock.env())
			next(t, s, str, 1)
			next(t, twin, str, 1)
			clock.set(instant.Add(-24 * time.Hour))
			keys, err := s.Next(cancelled, keysource.Request{N: 1, Layout: str})
			if keys != nil || err != context.Canceled {
				t.Fatalf("Next = %d keys, %v, want none, %v", len(keys), err, context.Canceled)
			}
			clock.set(instant)
			if got, want := next(t, s, str, 1)[0], next(t, twin, str, 1)[0]; got != want {
				t.Errorf("the key after that is %s, want %s", got, want)
			}
		})
		t.Run(l.name+"/deadline", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newSetClock(instant)
				s := l.make(clock.env())
				next(t, s, str, 1)
				clock.set(instant.Add(-24 * time.Hour))
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				keys, err := s.Next(ctx, keysource.Request{N: 1, Layout: str})
				if keys != nil || err != context.DeadlineExceeded {
					t.Fatalf("Next = %d keys, %v, want none, %v", len(keys), err, context.DeadlineExceeded)
				}
				if d := time.Since(start); d != 100*time.Millisecond {
					t.Errorf("Next returned after %v", d)
				}
			})
		})
	}
}

// TestWait: a request waits for a clock that is more than a second behind the
// keys until it is not, and about a second at most.
func TestWait(t *testing.T) {
	for _, l := range laws {
		if !l.traits.Ordered {
			continue
		}
		for _, tt := range []struct {
			name     string
			back     time.Duration
			min, max time.Duration // of the wait
		}{
			{"none", 0, 0, 0},
			{"within the cap", 990 * time.Millisecond, 0, 0},
			{"beyond the cap", 1500 * time.Millisecond, 495 * time.Millisecond, 505 * time.Millisecond},
			{"a minute", time.Minute, time.Second, 1005 * time.Millisecond},
			{"a day", 24 * time.Hour, time.Second, 1005 * time.Millisecond},
			{"a century", 100 * 365 * 24 * time.Hour, time.Second, 1005 * time.Millisecond},
		} {
			for _, moving := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/moving %t", l.name, tt.name, moving), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var back time.Duration
						start := time.Now().AddDate(200, 0, 0)
						now := func() time.Time {
							if moving {
								return time.Now().AddDate(200, 0, 0).Add(-back)
							}
							return start.Add(-back)
						}
						s := l.make(keysource.Env{Now: now, Rand: newStream()})
						last := indexed(t, str, next(t, s, str, 1)[0])
						back = tt.back
						begin := time.Now()
						key := indexed(t, str, next(t, s, str, 1)[0])
						if d := time.Since(begin); d < tt.min || d > tt.max {
							t.Errorf("waited %v, want %v to %v", d, tt.min, tt.max)
						}
						if key <= last {
							t.Errorf("%s follows %s", key, last)
						}
					})
				})
			}
		}
	}
}

// TestClockRange: a time that 48 bits cannot hold is an error, not a wrapped
// key.
func TestClockRange(t *testing.T) {
	unix := []time.Time{time.UnixMilli(0), time.UnixMilli(1<<48 - 1)}
	ranges := map[string][]time.Time{
		"uuidv7":    unix,
		"ulid":      unix,
		"comb unix": unix,
		"comb dotnet": {
			time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
			time.UnixMilli(1<<48 - 1 - 62_135_596_800_000),
		},
	}
	far := []time.Time{
		time.Unix(-1<<62, 0), time.Unix(1<<62, 0),
		time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, l := range laws {
		ends, ok := ranges[l.name]
		if !ok {
			continue
		}
		draw := func(at time.Time) error {
			_, err := l.make(keysource.Env{Now: frozen(at), Rand: newStream()}).
				Next(t.Context(), keysource.Request{N: 1, Layout: str})
			return err
		}
		for _, at := range ends {
			if err := draw(at); err != nil {
				t.Errorf("%s at %v: %v", l.name, at.UTC(), err)
			}
		}
		out := append(far, ends[0].Add(-time.Millisecond), ends[0].Add(-1), ends[1].Add(time.Millisecond))
		for _, at := range out {
			if err := draw(at); !errors.Is(err, keysource.ErrClock) {
				t.Errorf("%s at %v: %v, want ErrClock", l.name, at.UTC(), err)
			}
		}
	}
}

// TestWaitTogether: goroutines wait for the same second, not in turn.
func TestWaitTogether(t *testing.T) {
	const goroutines = 16
	for _, l := range laws {
		if !l.traits.Ordered {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newSetClock(instant)
				s := l.make(clock.env())
				next(t, s, str, 1)
				clock.set(instant.Add(-24 * time.Hour))
				start := time.Now()
				var made [goroutines]any
				var wg sync.WaitGroup
				for g := range made {
					wg.Go(func() {
						keys, err := s.Next(t.Context(), keysource.Request{N: 1, Layout: str})
						if err != nil {
							t.Error(err)
							return
						}
						made[g] = keys[0]
					})
				}
				wg.Wait()
				if d := time.Since(start); d < time.Second || d > 1005*time.Millisecond {
					t.Errorf("waited %v, want a second", d)
				}
				seen := make(map[any]bool)
				for _, key := range made {
					seen[key] = true
				}
				if len(seen) != goroutines {
					t.Errorf("%d goroutines made %d keys", goroutines, len(seen))
				}
			})
		})
	}
}
