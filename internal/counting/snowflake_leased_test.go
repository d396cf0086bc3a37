package counting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// numberStore leases numbers in memory, on a clock of its own.
type numberStore struct {
	mu    sync.Mutex
	limit int64
	rows  map[int64]*numberRow // by number plus one
	marks map[int]*markStore   // by number
	err   error                // of every call
}

type numberRow struct {
	owner string
	epoch int64
	until time.Time
}

// owned is the store as an owner sees it.
type owned struct {
	*numberStore
	owner string
	lease time.Duration
}

func (s owned) series(first int64) keysource.Series {
	r := s.rows[first]
	return keysource.Series{First: first, Last: first, Next: first, Epoch: r.epoch, Own: r.owner == s.owner}
}

func (s owned) Own(context.Context) (keysource.Series, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for first := int64(1); s.rows[first] != nil; first++ {
		if s.rows[first].owner == s.owner {
			return s.series(first), s.err
		}
	}
	return keysource.Series{}, s.err
}

func (s owned) Move(_ context.Context, h keysource.Series, to int64) (keysource.Series, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[h.First]
	if s.err != nil || r == nil || r.owner != s.owner || r.epoch != h.Epoch || to != h.Next {
		return keysource.Series{First: h.First}, false, s.err
	}
	r.until = time.Now().Add(s.lease)
	return h, true, nil
}

func (s owned) TakeOver(_ context.Context, n int64) (keysource.Series, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for first := int64(1); n == 1 && s.err == nil && s.rows[first] != nil; first++ {
		if r := s.rows[first]; r.until.Before(time.Now()) {
			r.owner, r.epoch, r.until = s.owner, r.epoch+1, time.Now().Add(s.lease)
			return s.series(first), nil
		}
	}
	return keysource.Series{}, s.err
}

func (s owned) Open(context.Context, int64) (keysource.Series, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := int64(len(s.rows) + 1)
	if s.err != nil || first > s.limit {
		return keysource.Series{}, errors.Join(s.err, keysource.ErrExhausted)
	}
	s.rows[first] = &numberRow{s.owner, 1, time.Now().Add(s.lease)}
	return s.series(first), nil
}

func (s owned) GiveUp(_ context.Context, h keysource.Series, to int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[h.First]; s.err == nil && r.owner == s.owner && r.epoch == h.Epoch && to == h.Next {
		r.owner, r.until = "", time.Time{}
	}
	return s.err
}

func (s owned) Advance(context.Context, int64) error { return errors.ErrUnsupported }

func (s *numberStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// newLeased returns a source whose number is leased for a second.
func (s *numberStore) newLeased(t *testing.T, owner string) *counting.Leased {
	t.Helper()
	env := newStepClock().env()
	l, err := counting.NewLeased(counting.LeasedOptions{
		Store: owned{s, owner, time.Second}, Lease: time.Second,
		Open: func(worker int) (*counting.Snowflake, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.marks[worker] == nil {
				s.marks[worker] = new(markStore)
			}
			return counting.NewSnowflake(nil, keysource.SnowflakeOptions{Worker: &worker, Marker: s.marks[worker]}, env)
		},
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// numberIn returns the worker's number of a key of the default bits.
func numberIn(key int64) int64 { return key >> 12 & 1023 }

// wantNumber draws a key and checks its number.
func wantNumber(t *testing.T, l *counting.Leased, want int64) int64 {
	t.Helper()
	key, err := l.Reserve(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if n := numberIn(key); n != want {
		t.Errorf("the number is %d, want %d", n, want)
	}
	return key
}

// TestLeased: each source has the lowest number that is free, and a source that goes on
// has keys that ascend, whichever number it gets.
func TestLeased(t *testing.T) {
	bubble(t, "numbers", func(t *testing.T) {
		s := &numberStore{limit: 2, rows: map[int64]*numberRow{}, marks: map[int]*markStore{}}
		a, b, c := s.newLeased(t, "a"), s.newLeased(t, "b"), s.newLeased(t, "c")
		wantNumber(t, a, 0)
		first := wantNumber(t, b, 1)
		if _, err := c.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrWorkerTaken) || !strings.Contains(err.Error(), "all numbers are leased") {
			t.Errorf("%v, want %v", err, keysource.ErrWorkerTaken)
		}
		// Close gives the number back at once.
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClosed) {
			t.Errorf("%v, want %v", err, keysource.ErrClosed)
		}
		time.Sleep(time.Second / 2)
		wantNumber(t, c, 0)
		// A source that is idle for longer than the lease has its number again, if no
		// other took it.
		time.Sleep(10 * time.Second)
		first = max(first, wantNumber(t, b, 1))
		// Else it has another one.
		time.Sleep(10 * time.Second)
		d := s.newLeased(t, "d")
		wantNumber(t, d, 0)
		wantNumber(t, c, 1)
		s.mu.Lock()
		s.limit = 3
		s.mu.Unlock()
		if key := wantNumber(t, b, 2); key <= first {
			t.Errorf("key %d follows %d", key, first)
		}
		for _, l := range []*counting.Leased{b, c, d} {
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLeasedLateMark: a source that waits for its mark for longer than its lease gives no
// key of a number that another source has meanwhile, and one of its own number if no
// other has taken it.
func TestLeasedLateMark(t *testing.T) {
	bubble(t, "late", func(t *testing.T) {
		s := &numberStore{limit: 2, rows: map[int64]*numberRow{}, marks: map[int]*markStore{}}
		a, b := s.newLeased(t, "a"), s.newLeased(t, "b")
		wantNumber(t, a, 0)
		time.Sleep(10 * time.Second)
		s.marks[0].after = func(context.Context) error {
			time.Sleep(2500 * time.Millisecond) // a process that is stopped does not look at its context
			return nil
		}
		wantNumber(t, a, 0) // no other source has taken it

		time.Sleep(10 * time.Second)
		var late, other int64
		var errs [2]error
		var both sync.WaitGroup
		both.Go(func() { late, errs[0] = a.Reserve(t.Context(), 1) })
		time.Sleep(2 * time.Second) // its lease has run out
		both.Go(func() { other, errs[1] = b.Reserve(t.Context(), 1) })
		both.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		if n := numberIn(other); n != 0 {
			t.Errorf("the number of the second source is %d, want 0, whose lease has run out", n)
		}
		if n := numberIn(late); n != 1 {
			t.Errorf("the number of the first source is %d, want 1, since the second one has 0", n)
		}
		for _, l := range []*counting.Leased{a, b} {
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLeasedRenews: a source that is asked goes on for many leases with one number
// and without a wait, and its lease outlasts a store that is down for a while.
func TestLeasedRenews(t *testing.T) {
	bubble(t, "renewals", func(t *testing.T) {
		s := &numberStore{limit: 9, rows: map[int64]*numberRow{}, marks: map[int]*markStore{}}
		l := s.newLeased(t, "a")
		wantNumber(t, l, 0)
		for i := range 200 {
			time.Sleep(50 * time.Millisecond)
			began := time.Now()
			wantNumber(t, l, 0)
			if waited := time.Since(began); waited > 0 {
				t.Errorf("request %d waited for %v", i, waited)
			}
		}
		// The lease was renewed at least 300 ms before its end by three quarters.
		s.fail(errors.New("down"))
		time.Sleep(300 * time.Millisecond)
		wantNumber(t, l, 0)
		time.Sleep(time.Second)
		if _, err := l.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(err.Error(), "the last error was: down") {
			t.Errorf("%v, want %v", err, keysource.ErrStoreDown)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Reserve(ctx, 1); !errors.Is(err, keysource.ErrStoreDown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want %v and the context's", err, keysource.ErrStoreDown)
		}
		s.fail(fmt.Errorf("no table: %w", keysource.ErrStoreState))
		if _, err := l.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("%v, want %v", err, keysource.ErrStoreState)
		}
		s.fail(nil)
		time.Sleep(time.Second)
		wantNumber(t, l, 0)
		s.fail(errors.New("down"))
		if err := l.Close(t.Context()); !errors.Is(err, keysource.ErrStoreDown) {
			t.Errorf("Close: %v", err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Errorf("Close again: %v", err)
		}
	})
}

// TestLeasedTogether: requests of many goroutines while the number changes under
// them all get keys, and no key comes twice.
func TestLeasedTogether(t *testing.T) {
	bubble(t, "many", func(t *testing.T) {
		s := &numberStore{limit: 999, rows: map[int64]*numberRow{}, marks: map[int]*markStore{}}
		l := s.newLeased(t, "a")
		made := make([][]int64, 8)
		var wg sync.WaitGroup
		for g := range made {
			wg.Go(func() {
				for range 200 {
					key, err := l.Reserve(t.Context(), 1)
					if err != nil {
						t.Error(err)
						return
					}
					made[g] = append(made[g], key)
					time.Sleep(time.Duration(7+g) * time.Millisecond)
				}
			})
		}
		for n := range int64(4) {
			time.Sleep(70 * time.Millisecond)
			s.mu.Lock()
			s.rows[n+1].owner = "somebody else"
			s.rows[n+1].until = time.Now().Add(time.Hour)
			s.mu.Unlock()
			time.Sleep(350 * time.Millisecond) // until it is renewed
		}
		wg.Wait()
		seen := map[int64]bool{}
		numbers := map[int64]bool{}
		for _, keys := range made {
			last := int64(0)
			for _, key := range keys {
				if seen[key] || key <= last {
					t.Fatalf("key %d follows %d, or is there already", key, last)
				}
				seen[key], last, numbers[numberIn(key)] = true, key, true
			}
		}
		if len(seen) != 8*200 || len(numbers) < 2 {
			t.Errorf("%d keys of %d numbers", len(seen), len(numbers))
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestLeasedOptions: what is missing is said.
func TestLeasedOptions(t *testing.T) {
	open := func(int) (*counting.Snowflake, error) { return nil, keysource.ErrOptions }
	store := owned{&numberStore{limit: 1, rows: map[int64]*numberRow{}, marks: map[int]*markStore{}}, "a", time.Second}
	for name, o := range map[string]counting.LeasedOptions{
		"store": {Open: open}, "open": {Store: store}, "lease": {Store: store, Open: open, Lease: time.Millisecond},
	} {
		if _, err := counting.NewLeased(o, keysource.Env{}); !errors.Is(err, keysource.ErrOptions) {
			t.Errorf("%s: %v, want %v", name, err, keysource.ErrOptions)
		}
	}
	l, err := counting.NewLeased(counting.LeasedOptions{Store: store, Open: open}, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrOptions) {
		t.Errorf("%v, want the error of Open", err)
	}
	l.Drop()
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLeasedAhead: a number whose mark is an hour ahead of the clock is of no use,
// and others are leased, until all are tried.
func TestLeasedAhead(t *testing.T) {
	bubble(t, "ahead", func(t *testing.T) {
		s := &numberStore{limit: 4, rows: map[int64]*numberRow{}, marks: map[int]*markStore{}}
		for number := range 3 {
			s.rows[int64(number+1)] = &numberRow{}
			s.marks[number] = new(markStore)
			if _, err := s.marks[number].Mark(t.Context(), newStepClock().env().Now().Add(time.Hour).UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		l := s.newLeased(t, "a")
		wantNumber(t, l, 3)
		time.Sleep(300 * time.Millisecond)
		wantNumber(t, l, 3)
		// Nothing is free for other sources except numbers that they cannot use either.
		time.Sleep(2 * time.Second)
		wantNumber(t, l, 3)
		b := s.newLeased(t, "b")
		if _, err := b.Reserve(t.Context(), 1); !errors.Is(err, keysource.ErrClock) {
			t.Errorf("%v, want %v", err, keysource.ErrClock)
		}
		// What is final stays so, however short the context of a request is.
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if _, err := b.Reserve(ctx, 1); !errors.Is(err, keysource.ErrClock) || errors.Is(err, keysource.ErrStoreDown) {
				t.Errorf("%v, want %v", err, keysource.ErrClock)
			}
			cancel()
		}
		time.Sleep(time.Hour)
		wantNumber(t, b, 0)
		for _, one := range []*counting.Leased{l, b} {
			if err := one.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
