package counting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// table is what MaxKey reads.
type table struct {
	mu    sync.Mutex
	most  int64 // its greatest key
	err   error
	asked int
}

func (tb *table) maxKey(context.Context) (int64, error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.asked++
	return tb.most, tb.err
}

func (tb *table) set(most int64, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.most, tb.err = most, err
}

func (tb *table) calls() int {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.asked
}

func TestSequenceStoreBehindAtFirst(t *testing.T) {
	for _, tt := range []struct {
		name   string
		next   int64 // where the store stands; the greatest key is 500
		remedy keysource.Remedy
		first  int64
		err    error
		behind int64
	}{
		{"above", 501, "", 501, nil, 0},
		{"far above", 9000, "", 9000, nil, 0},
		{"at", 500, "", 0, keysource.ErrStoreBehind, 0},
		{"below", 1, keysource.RemedyError, 0, keysource.ErrStoreBehind, 0},
		{"advance", 1, keysource.RemedyAdvance, 501, nil, 500},
		{"advance by one", 500, keysource.RemedyAdvance, 501, nil, 1},
		{"warn", 401, keysource.RemedyWarn, 401, nil, 100},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			l := newLedger(ledgerState{next: tt.next})
			tb := &table{most: 500}
			s := newSequence(t, l, counting.SequenceOptions{MaxKey: tb.maxKey, OnBehind: tt.remedy})
			first, err := s.Reserve(t.Context(), 1)
			if first != tt.first || !errors.Is(err, tt.err) {
				t.Errorf("Reserve = %d, %v, want %d, %v", first, err, tt.first, tt.err)
			}
			if st := s.Stats(); st.Behind != tt.behind {
				t.Errorf("Stats() = %+v", st)
			}
			if tt.err != nil && l.state().next != tt.next {
				t.Errorf("the store was moved to %d", l.state().next)
			}
			if tt.err == nil {
				if _, err := s.Reserve(t.Context(), 1000); err != nil {
					t.Error(err)
				}
				if n := tb.calls(); n != 1 {
					t.Errorf("the table was asked %d times", n)
				}
			}
		})
	}
	bubble(t, "until it is set right", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{MaxKey: (&table{most: 500}).maxKey})
		refuse(t, s, 1, keysource.ErrStoreBehind)
		l.do(func(st *ledgerState) { st.next = 501 })
		time.Sleep(time.Second)
		reserve(t, s, 1, 501)
	})
	bubble(t, "the table cannot be asked", func(t *testing.T) {
		l := new(ledger)
		tb := &table{err: errRefused}
		s := newSequence(t, l, counting.SequenceOptions{MaxKey: tb.maxKey})
		refuse(t, s, 1, keysource.ErrStoreDown)
		tb.set(0, fmt.Errorf("no such table: %w", keysource.ErrStoreState))
		time.Sleep(2 * time.Second)
		refuse(t, s, 1, keysource.ErrStoreState)
	})
}

// Other processes insert while this one compares; the store is not behind then.
func TestSequenceComparesWithWhatWasInTheTableBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 4})
		s := newSequence(t, l, counting.SequenceOptions{MaxKey: func(context.Context) (int64, error) {
			// Others reserve a hundred keys and insert them.
			return l.do(func(st *ledgerState) { st.next = max(st.next, 1) + 100 }).next - 1, nil
		}})
		reserve(t, s, 1, 101)
	})
}

func TestSequenceStoreThatStandsBelowOne(t *testing.T) {
	bubble(t, "below zero", func(t *testing.T) {
		s := newSequence(t, newLedger(ledgerState{next: -5}), counting.SequenceOptions{})
		refuse(t, s, 1, keysource.ErrStoreBehind)
	})
	bubble(t, "at zero", func(t *testing.T) {
		s, err := counting.NewSequence(counting.SequenceOptions{Reserver: zero{}}, keysource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		refuse(t, s, 1, keysource.ErrStoreState)
	})
}

// zero is a store that counts from 0.
type zero struct{ *ledger }

func (zero) Reserve(context.Context, int64, int64) (keysource.Reservation, error) {
	return keysource.Reservation{}, nil
}

// goneBack returns a sequence that has handed out 1 to 60, has 61 to 100 in
// hand and finds its store at next by the next fetch.
func goneBack(t *testing.T, next int64, server string, o counting.SequenceOptions) (*counting.Sequence, *ledger) {
	t.Helper()
	l := newLedger(ledgerState{server: "a"})
	o.Block = 100
	if o.MaxKey == nil {
		o.MaxKey = func(context.Context) (int64, error) { return 0, nil }
	}
	s := newSequence(t, l, o)
	reserve(t, s, 20, 1)
	l.do(func(st *ledgerState) { st.next, st.server = next, server })
	reserve(t, s, 40, 21)
	synctest.Wait()
	return s, l
}

func TestSequenceStoreGoesBack(t *testing.T) {
	bubble(t, "error", func(t *testing.T) {
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{})
		// The block in hand may be another process's by now.
		refuse(t, s, 1, keysource.ErrStoreBack)
		// Another process names a greater number where it has reserved more.
		if _, err := s.Reserve(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "the greatest number that any process names") {
			t.Errorf("the advice is %v", err)
		}
		if l.state().next != 41 {
			t.Errorf("the store was moved to %d", l.state().next)
		}
		if st := s.Stats(); st.Left != 0 || !errors.Is(st.Err, keysource.ErrStoreBack) {
			t.Errorf("Stats() = %+v", st)
		}
	})
	bubble(t, "asked once a second at most", func(t *testing.T) {
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{})
		calls := l.calls()
		for range 100 {
			if r := <-ask(t.Context(), s, 1); !errors.Is(r.err, keysource.ErrStoreBack) || r.after != 0 {
				t.Fatalf("%v after %s", r.err, r.after)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := l.calls() - calls; n < 9 || n > 10 {
			t.Errorf("asked %d times in 10 seconds", n)
		}
	})
}

func TestSequenceStoreIsSetRight(t *testing.T) {
	bubble(t, "the clock is set back", func(t *testing.T) {
		l, clock := newLedger(ledgerState{next: 41}), newSetClock(instant)
		s, err := counting.NewSequence(counting.SequenceOptions{
			Reserver: l,
			MaxKey:   (&table{most: 500}).maxKey,
		}, clock.env())
		if err != nil {
			t.Fatal(err)
		}
		refuse(t, s, 1, keysource.ErrStoreBehind)
		clock.set(instant.Add(-24 * time.Hour))
		l.do(func(st *ledgerState) { st.next = 501 })
		reserve(t, s, 1, 501) // and not after a day
	})
	bubble(t, "set right", func(t *testing.T) {
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{})
		refuse(t, s, 1, keysource.ErrStoreBack)
		l.do(func(st *ledgerState) { st.next = 100 }) // not yet: 100 was given
		time.Sleep(time.Second)
		refuse(t, s, 1, keysource.ErrStoreBack)
		l.do(func(st *ledgerState) { st.next = 101 })
		time.Sleep(time.Second)
		reserve(t, s, 1, 101)
		reserve(t, s, 500, 102) // and all is well
		if st := s.Stats(); st.Err != nil {
			t.Errorf("Stats() = %+v", st)
		}
	})
	bubble(t, "set right below the keys in use", func(t *testing.T) {
		tb := new(table)
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{MaxKey: tb.maxKey})
		tb.set(200, nil) // others insert
		l.do(func(st *ledgerState) { st.next = 150 })
		time.Sleep(time.Second)
		refuse(t, s, 1, keysource.ErrStoreBack)
		l.do(func(st *ledgerState) { st.next = 201 })
		time.Sleep(time.Second)
		reserve(t, s, 1, 201)
	})
}

func TestSequenceStoreGoesBackAndFails(t *testing.T) {
	bubble(t, "the store is down when it is asked again", func(t *testing.T) {
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{})
		l.do(func(st *ledgerState) { st.err = errRefused })
		time.Sleep(time.Second)
		if r := <-ask(t.Context(), s, 1); !errors.Is(r.err, keysource.ErrStoreBack) || r.after != 0 {
			t.Errorf("%v after %s", r.err, r.after)
		}
	})
	bubble(t, "a context ends meanwhile", func(t *testing.T) {
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{})
		l.do(func(st *ledgerState) { st.silent = true })
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		r := <-ask(ctx, s, 1)
		if !errors.Is(r.err, keysource.ErrStoreBack) || !errors.Is(r.err, context.DeadlineExceeded) {
			t.Errorf("%v", r.err)
		}
	})
}

func TestSequenceStoreGoesBackAndAdvances(t *testing.T) {
	bubble(t, "advance", func(t *testing.T) {
		s, l := goneBack(t, 41, "a", counting.SequenceOptions{OnStoreRollback: keysource.RemedyAdvance})
		reserve(t, s, 1, 101) // 61 to 100 were given up
		if !slices.Equal(l.state().advanced, []int64{101}) {
			t.Errorf("advanced to %v", l.state().advanced)
		}
	})
	bubble(t, "advance above the keys in use", func(t *testing.T) {
		s, _ := goneBack(t, 41, "a", counting.SequenceOptions{
			OnStoreRollback: keysource.RemedyAdvance,
			MaxKey:          func(context.Context) (int64, error) { return 0, nil },
		})
		reserve(t, s, 1, 101)
	})
	bubble(t, "the table cannot be asked", func(t *testing.T) {
		tb := new(table)
		s, l := goneBack(t, 101, "a", counting.SequenceOptions{MaxKey: tb.maxKey})
		l.do(func(st *ledgerState) { st.next = 41 })
		tb.set(0, errRefused)
		waits := ask(t.Context(), s, 500)
		time.Sleep(2 * time.Second)
		tb.set(0, nil)
		if r := <-waits; !errors.Is(r.err, keysource.ErrStoreBack) {
			t.Errorf("%+v", r)
		}
	})
}

func TestSequenceOtherServer(t *testing.T) {
	inUse := func(most int64) func(context.Context) (int64, error) {
		calls := 0
		return func(context.Context) (int64, error) {
			if calls++; calls == 1 {
				return 0, nil
			}
			return most, nil
		}
	}
	bubble(t, "in order", func(t *testing.T) {
		s, l := goneBack(t, 101, "b", counting.SequenceOptions{MaxKey: inUse(100)})
		// 61 to 100 were given up, and so was the first answer.
		reserve(t, s, 1, 201)
		if l.state().advanced != nil {
			t.Errorf("advanced to %v", l.state().advanced)
		}
		synctest.Wait()
		reserve(t, s, 99, 202)
		reserve(t, s, 1, 301) // it is known now
	})
	bubble(t, "below the keys in use", func(t *testing.T) {
		s, l := goneBack(t, 101, "b", counting.SequenceOptions{MaxKey: inUse(500)})
		refuse(t, s, 1, keysource.ErrStoreBack)
		l.do(func(st *ledgerState) { st.next = 501 })
		time.Sleep(time.Second)
		reserve(t, s, 1, 601) // 501 to 600 were given up: the table was not looked at before
	})
	bubble(t, "advance", func(t *testing.T) {
		s, _ := goneBack(t, 101, "b", counting.SequenceOptions{
			MaxKey:          inUse(500),
			OnStoreRollback: keysource.RemedyAdvance,
		})
		reserve(t, s, 1, 501)
	})
	bubble(t, "below what was given", func(t *testing.T) {
		s, _ := goneBack(t, 41, "b", counting.SequenceOptions{MaxKey: inUse(60)})
		refuse(t, s, 1, keysource.ErrStoreBack)
	})
	bubble(t, "that cannot tell", func(t *testing.T) {
		s, _ := goneBack(t, 101, "", counting.SequenceOptions{MaxKey: inUse(500)})
		reserve(t, s, 40, 61)
	})
}

// A store that goes on moving is an error after a while, not a loop.
func TestSequenceStoreThatDoesNotAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stuck{new(ledger)}
		s, err := counting.NewSequence(counting.SequenceOptions{
			Reserver: l,
			MaxKey:   (&table{most: 500}).maxKey,
			OnBehind: keysource.RemedyAdvance,
		}, keysource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if r := <-ask(t.Context(), s, 1); !errors.Is(r.err, keysource.ErrStoreDown) {
			t.Errorf("%+v", r)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := l.calls(); n > 50 {
			t.Errorf("the store was asked %d times", n)
		}
	})
}

type stuck struct{ *ledger }

func (stuck) Advance(context.Context, int64) error { return nil }
