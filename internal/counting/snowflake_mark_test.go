package counting_test

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

// TestMarkAhead: every key is below the mark as it is stored when the key is
// handed out, and the mark is never more than three seconds ahead of the clock.
func TestMarkAhead(t *testing.T) {
	for _, tt := range []struct {
		name        string
		n           int64
		think       time.Duration
		requests    int
		most, least int // calls to the Marker
	}{
		{"at rest", 1, time.Minute, 10, 10, 10},
		{"now and then", 1, 300 * time.Millisecond, 100, 14, 12}, // 30 s
		{"steadily", 10, 5 * time.Millisecond, 4000, 10, 8},      // 20 s
		{"more than there is", 4096, 0, 3500, 60, 4},             // 3.5 s, of which three are borrowed
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := newStepClock()
				store := &markStore{before: func(context.Context) error {
					time.Sleep(2 * time.Millisecond)
					return nil
				}}
				s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, clock.env())
				for i := range tt.requests {
					key := apart(one(t, s, tt.n)).time
					if !key.Before(store.now()) {
						t.Fatalf("request %d: a key of %v, the mark is %v", i, key, store.now())
					}
					if d := store.now().Sub(clock.now()); d > 3*time.Second {
						t.Fatalf("request %d: the mark is %v ahead", i, d)
					}
					time.Sleep(tt.think)
				}
				if n := store.called(); n > tt.most || n < tt.least {
					t.Errorf("called %d times, want %d to %d", n, tt.least, tt.most)
				}
			})
		})
	}
}

// TestMarkPrefetched: under load a request does not wait for the Marker but at
// first.
func TestMarkPrefetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &markStore{before: func(context.Context) error {
			time.Sleep(300 * time.Millisecond)
			return nil
		}}
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, newStepClock().env())
		one(t, s, 1)
		for range 1000 {
			time.Sleep(7 * time.Millisecond)
			begin := time.Now()
			one(t, s, 1)
			if d := time.Since(begin); d != 0 {
				t.Fatalf("waited %v", d)
			}
		}
	})
}

// TestMarkOnce: one call is in flight however many requests wait, and one that
// gives up fails no other one.
func TestMarkOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &markStore{before: func(ctx context.Context) error {
			time.Sleep(200 * time.Millisecond)
			return ctx.Err()
		}}
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, newStepClock().env())
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				ctx := t.Context()
				if i%2 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(1+i)*time.Millisecond)
					defer cancel()
				}
				_, err := s.Reserve(ctx, 1)
				if i%2 == 0 && err != context.DeadlineExceeded || i%2 == 1 && err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if n := store.called(); n != 1 {
			t.Errorf("the Marker was called %d times", n)
		}
	})
}

// TestMarkRestart: a start begins at the mark or above it, whatever the clock
// shows, or not at all.
func TestMarkRestart(t *testing.T) {
	for _, tt := range []struct {
		step time.Duration // between the two lives
		wait time.Duration // for the first key
		err  error
	}{
		{step: 24 * time.Hour},
		{step: time.Second},
		{step: time.Millisecond},
		{step: 0, wait: time.Millisecond},
		{step: -time.Second, wait: 1001 * time.Millisecond},
		{step: -7000 * time.Millisecond, wait: 7001 * time.Millisecond},
		{step: -7001 * time.Millisecond, err: keysource.ErrClock}, // the mark is three seconds ahead
		{step: -time.Minute, err: keysource.ErrClock},
		{step: -24 * time.Hour, err: keysource.ErrClock},
	} {
		t.Run(tt.step.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, store := newStepClock(), new(markStore)
				o := keysource.SnowflakeOptions{Marker: store}
				one(t, newSnowflake(t, o, clock.env()), 1)
				mark := store.now()

				clock.step(tt.step)
				s := newSnowflake(t, o, clock.env())
				begin := time.Now()
				key, err := s.Reserve(t.Context(), 1)
				if d := time.Since(begin); d != tt.wait || !errors.Is(err, tt.err) {
					t.Fatalf("Reserve: %v after %v, want %v after %v", err, d, tt.err, tt.wait)
				}
				if tt.err != nil {
					clock.step(-tt.step)
					key = one(t, s, 1)
				}
				if first := apart(key).time; first.Before(mark) {
					t.Errorf("the first key is of %v, the mark was %v", first, mark)
				}
			})
		})
	}
}

// TestMarkCrash lets a process die at each step on its way to a key, and looks
// what the next one makes.
func TestMarkCrash(t *testing.T) {
	type step int
	const (
		beforeMark   step = iota // the call has been made, the store does not know
		beforeAnswer             // the store has raised the mark
		beforeUse                // the answer is there, and no key
		afterUse                 // some keys
		afterAll                 // all that were reserved, and more
	)
	for died := beforeMark; died <= afterAll; died++ {
		for _, back := range []time.Duration{0, time.Second, 5 * time.Second} {
			t.Run(fmt.Sprintf("step %d, back %v", died, back), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					clock, store := newStepClock(), new(markStore)
					ctx, kill := context.WithCancel(t.Context())
					die := func(ctx context.Context) error {
						kill()
						<-ctx.Done() // the connection outlives the process a little
						return ctx.Err()
					}
					switch died {
					case beforeMark:
						store.before = die
					case beforeAnswer:
						store.after = die
					}
					o := keysource.SnowflakeOptions{Marker: store}
					s := newSnowflake(t, o, clock.env())
					used := make(map[int64]bool) // the first keys of ticks that were made
					requests := map[step]int{beforeMark: 1, beforeAnswer: 1, afterUse: 3, afterAll: 1500}[died]
					for range requests {
						first, err := s.Reserve(ctx, 4096)
						used[first] = err == nil
					}
					store.before, store.after = nil, nil

					clock.step(-back)
					next := newSnowflake(t, o, clock.env())
					for range 1500 {
						if first := one(t, next, 4096); used[first] {
							t.Fatalf("%v is made twice", apart(first))
						}
					}
				})
			})
		}
	}
}

// TestMarkRivals: two sources with one number and one store never make the same
// key, both go on, and both know.
func TestMarkRivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		store.before = func(context.Context) error {
			time.Sleep(3 * time.Millisecond)
			return nil
		}
		made := make(map[int64]int)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for rival := range 2 {
			s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, clock.env())
			wg.Go(func() {
				var last int64
				for range 8000 {
					key := one(t, s, 2)
					if key <= last {
						t.Errorf("%v follows %v", apart(key), apart(last))
					}
					last = key
					mu.Lock()
					for i := range int64(2) {
						if other, ok := made[key+i]; ok {
							t.Errorf("%v is made by %d and %d", apart(key+i), other, rival)
						}
						made[key+i] = rival
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
				}
				if n := s.Stats().Rivals; n < 2 {
					t.Errorf("rival %d counts %d rivals", rival, n)
				}
			})
		}
		begin := time.Now()
		wg.Wait()
		if d := time.Since(begin); d > 25*time.Second {
			t.Errorf("8000 keys each took %v", d)
		}
	})
}

// TestMarkSleeper: a process that stands still for an hour between the reading
// of the clock and the taking of the key makes one of its own ticks.
func TestMarkSleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, store := newStepClock(), new(markStore)
		o := keysource.SnowflakeOptions{Marker: store}
		asleep := false
		s := newSnowflake(t, o, keysource.Env{Now: func() time.Time {
			now := clock.now()
			if asleep {
				time.Sleep(time.Hour)
			}
			return now
		}})
		one(t, s, 1)
		asleep = true
		late := make(chan int64)
		go func() {
			key, err := s.Reserve(t.Context(), 4096)
			if err != nil {
				t.Error(err)
			}
			late <- key
		}()
		other := newSnowflake(t, o, clock.env())
		made := make(map[int64]bool)
		for range 2000 {
			made[one(t, other, 4096)] = true
		}
		key := <-late
		if made[key] || apart(key).time.Sub(present) > time.Second {
			t.Errorf("the sleeper made %v", apart(key))
		}
		asleep = false
		if got := apart(one(t, s, 1)).time; got.Sub(present) < time.Hour {
			t.Errorf("an hour later it made %v", got)
		}
	})
}

// TestMarkDropped: after Drop no key is of the time that was reserved before, or
// was being reserved.
func TestMarkDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &markStore{before: func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}}
		s := newSnowflake(t, keysource.SnowflakeOptions{Marker: store}, newStepClock().env())
		one(t, s, 1)
		until := s.Stats().Until
		s.Drop()
		if got := apart(one(t, s, 1)).time; got.Before(until) {
			t.Errorf("a key of %v, what was given up ended at %v", got, until)
		}

		time.Sleep(time.Minute)
		began := time.Now()
		time.AfterFunc(50*time.Millisecond, s.Drop) // while the Marker is called
		key := apart(one(t, s, 1)).time
		if d := time.Since(began); d < 200*time.Millisecond {
			t.Errorf("the answer of a call before Drop was used, %v after it began", d)
		}
		if got := store.now(); !key.Before(got) {
			t.Errorf("a key of %v, the mark is %v", key, got)
		}
	})
}

// TestSnowflakeDropUnmarked: there is nothing to give up.
func TestSnowflakeDropUnmarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSnowflake(t, keysource.SnowflakeOptions{}, newStepClock().env())
		first := one(t, s, 1)
		s.Drop()
		if key := one(t, s, 1); key != first+1 {
			t.Errorf("%v follows %v", apart(key), apart(first))
		}
	})
}
