package counting_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// TestMarkDown: while the store is down keys are made of what is reserved; then
// a request fails when its context ends, or after ten seconds, with an error
// that is not the store's; and two seconds after the store is back there are
// keys again.
func TestMarkDown(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprintf("silent %t", silent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newStepClock()
				var down atomic.Bool
				store := &markStore{}
				store.before = func(ctx context.Context) error {
					switch {
					case !down.Load():
						return nil
					case silent:
						<-ctx.Done()
					}
					return fmt.Errorf("%w: %w", errStore, driver.ErrBadConn)
				}
				s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, clock.env())
				one(t, s, 1)
				down.Store(true)
				for range 200 {
					one(t, s, 1)
					time.Sleep(5 * time.Millisecond)
				}

				time.Sleep(2 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				if err := checkDown(t, ctx, s, 3*time.Second); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error does not wrap the context's: %v", err)
				}
				checkDown(t, t.Context(), s, 10*time.Second)
				if n := s.Stats().Failures; n < 3 || n > 50 {
					t.Errorf("the store was asked %d times in vain", n)
				}

				down.Store(false)
				begin := time.Now()
				one(t, s, 1)
				most := 2 * time.Second
				if silent {
					most = 9 * time.Second // a call that was made before may take eight
				}
				if d := time.Since(begin); d > most {
					t.Errorf("the first key took %v after the store was back", d)
				}
			})
		})
	}
}

// checkDown checks that a request fails after a time because the store is down,
// and returns the error.
func checkDown(t *testing.T, ctx context.Context, s *counting.Snowflake, after time.Duration) error {
	t.Helper()
	begin := time.Now()
	_, err := s.Reserve(ctx, 1)
	if !errors.Is(err, keysource.ErrStoreDown) {
		t.Errorf("while the store is down: %v, want ErrStoreDown", err)
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, errStore) {
		t.Errorf("the error wraps the store's: %v", err)
	}
	if d := time.Since(begin); d != after {
		t.Errorf("it failed after %v, want %v", d, after)
	}
	return err
}

// TestMarkRefused: a store that says that asking again is of no use is believed.
func TestMarkRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fmt.Errorf("%w: no such worker", keysource.ErrStoreState)
		store := &markStore{before: func(context.Context) error { return refused }}
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, newStepClock().env())
		begin := time.Now()
		if _, err := s.Reserve(t.Context(), 1); err != refused {
			t.Errorf("Reserve: %v, want %v", err, refused)
		}
		if _, err := s.Reserve(t.Context(), 1); err != refused {
			t.Errorf("Reserve again: %v, want %v", err, refused)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("after %v", d)
		}
		if n := s.Stats().Failures; n != 1 {
			t.Errorf("the store was asked %d times", n)
		}
		store.before = nil // set right
		time.Sleep(time.Second)
		one(t, s, 1)
	})
}

// TestMarkSlow: a Marker that takes longer than the time that it reserves lets
// keys through all the same, in their order.
func TestMarkSlow(t *testing.T) {
	for _, takes := range []time.Duration{900 * time.Millisecond, 1500 * time.Millisecond, 5 * time.Second} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait := func(ctx context.Context) error {
					select {
					case <-time.After(takes / 2):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				store := &markStore{before: wait, after: wait}
				s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, newStepClock().env())
				if takes > 4*time.Second {
					// The first calls are given up too soon; a request does not
					// wait for all of them.
					_, _ = s.Reserve(t.Context(), 1)
				}
				var last int64
				for i := range 100 {
					begin := time.Now()
					key := one(t, s, 1)
					if key <= last {
						t.Fatalf("%v follows %v", apart(key), apart(last))
					}
					if d := time.Since(begin); i > 2 && d > 2*takes+time.Second {
						t.Errorf("request %d took %v", i, d)
					}
					last = key
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

// TestMarkLost: what a call that failed may have raised is left out.
func TestMarkLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, failures := newStepClock(), 1
		store := &markStore{after: func(context.Context) error {
			if failures--; failures >= 0 {
				return errStore
			}
			return nil
		}}
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, clock.env())
		key := apart(one(t, s, 1)).time
		if want := present.Add(3 * time.Second); !key.Equal(want) {
			t.Errorf("the first key is of %v, want %v, the mark that was lost", key, want)
		}
	})
}

// TestMarkSetback: a store that has lost marks is noticed by sources that knew them, and
// the time that others may have reserved is left out.
func TestMarkSetback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		o := keysource.SnowflakeOptions{Marker: store}
		s, rival := newSnowflake(t, o, clock.env()), newSnowflake(t, o, clock.env())
		copied := store.now().UnixMilli()
		last := one(t, s, 1)
		time.Sleep(2 * time.Second)
		lost := one(t, rival, 4096)
		store.mu.Lock()
		store.mark = copied
		store.mu.Unlock()
		time.Sleep(1500 * time.Millisecond)

		key := one(t, s, 4096)
		if key <= last || !apart(key).time.After(apart(lost).time) {
			t.Errorf("%v follows %v and the lost %v", apart(key), apart(last), apart(lost))
		}
		if got := s.Stats().Setbacks; got != 1 {
			t.Errorf("%d setbacks are counted", got)
		}
		for range 1500 {
			if key := one(t, s, 1); apart(key).time.Before(apart(lost).time) {
				t.Fatalf("%v is among the lost", apart(key))
			}
			time.Sleep(time.Millisecond)
		}
		if got := s.Stats().Setbacks; got != 1 {
			t.Errorf("%d setbacks are counted", got)
		}
	})
}

// TestMarkOutOfRange: a mark that no source has set is no reason to panic, or to
// make a key of a time before it.
func TestMarkOutOfRange(t *testing.T) {
	for _, tt := range []struct {
		mark int64
		err  error
	}{
		{math.MinInt64, nil},
		{-1, nil},
		{epochMilli - 1, nil},
		{present.UnixMilli() + 60_000, keysource.ErrClock},
		{keysource.SnowflakeBits{}.End().UnixMilli(), keysource.ErrExhausted},
		{math.MaxInt64, keysource.ErrExhausted},
	} {
		t.Run(fmt.Sprint(tt.mark), func(t *testing.T) {
			s := newSnowflake(t, keysource.SnowflakeOptions{Marker: &markStore{mark: tt.mark}},
				keysource.Env{Now: frozen(present)})
			key, err := s.Reserve(t.Context(), 1)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Reserve: %v, want %v", err, tt.err)
			}
			if got := apart(key).time; err == nil && !got.Equal(present) {
				t.Errorf("the first key is of %v", got)
			}
		})
	}
}
