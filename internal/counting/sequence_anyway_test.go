package counting_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// anyway is the options of a source that follows its store wherever that stands, and
// counts the warnings.
func anyway(greatest *int64) (o counting.SequenceOptions, warned *atomic.Int64) {
	warned = new(atomic.Int64)
	return counting.SequenceOptions{
		Block: 1, OnBehind: keysource.RemedyWarn, OnStoreRollback: keysource.RemedyWarn,
		MaxKey: func(context.Context) (int64, error) { return *greatest, nil },
		Warn:   func(context.Context) { warned.Add(1) },
	}, warned
}

// TestSequenceAnyway: a store that has gone back is followed there. Warn is called where
// the table has keys from there on.
func TestSequenceAnyway(t *testing.T) {
	bubble(t, "the store is reset", func(t *testing.T) {
		l, greatest := new(ledger), int64(0)
		o, warned := anyway(&greatest)
		s := newSequence(t, l, o)
		reserve(t, s, 3, 1)
		l.do(func(st *ledgerState) { st.next = 1 })
		reserve(t, s, 1, 1)
		reserve(t, s, 2, 2)
		if warned.Load() != 0 {
			t.Errorf("%d warnings for an empty table", warned.Load())
		}
		greatest = 100
		l.do(func(st *ledgerState) { st.next = 2 })
		reserve(t, s, 1, 2)
		reserve(t, s, 1, 3)
		if st := s.Stats(); warned.Load() != 1 || st.Behind != 98 || st.Err != nil {
			t.Errorf("%d warnings, %+v", warned.Load(), st)
		}
		reserve(t, s, 1, 4)
		if warned.Load() != 1 {
			t.Errorf("%d warnings", warned.Load())
		}
	})
	bubble(t, "another server", func(t *testing.T) {
		l, greatest := newLedger(ledgerState{server: "a"}), int64(0)
		o, warned := anyway(&greatest)
		s := newSequence(t, l, o)
		reserve(t, s, 3, 1)
		greatest = 50
		l.do(func(st *ledgerState) { st.server, st.next = "b", 8 })
		reserve(t, s, 1, 8)
		reserve(t, s, 1, 9)
		if warned.Load() != 1 {
			t.Errorf("%d warnings", warned.Load())
		}
	})
	bubble(t, "after the last integer", func(t *testing.T) {
		l, greatest := new(ledger), int64(0)
		o, _ := anyway(&greatest)
		o.Max = 5
		s := newSequence(t, l, o)
		reserve(t, s, 5, 1)
		refuse(t, s, 1, keysource.ErrExhausted)
		l.do(func(st *ledgerState) { st.next = 1 })
		reserve(t, s, 1, 1)
		reserve(t, s, 3, 2)
	})
	bubble(t, "a key in use", func(t *testing.T) {
		l, greatest := new(ledger), int64(0)
		o, warned := anyway(&greatest)
		s := newSequence(t, l, o)
		reserve(t, s, 1, 1)
		greatest = 3
		s.Suspect()
		reserve(t, s, 1, 2)
		if warned.Load() != 1 {
			t.Errorf("%d warnings", warned.Load())
		}
	})
}

// TestSequenceRaise: the errors of a store that stands too low name what raises it.
func TestSequenceRaise(t *testing.T) {
	raise := func(to int64) string { return fmt.Sprintf("RAISE TO %d", to) }
	wants := func(t *testing.T, s *counting.Sequence, cause error, want string) {
		t.Helper()
		_, err := s.Reserve(t.Context(), 1)
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "advance") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	bubble(t, "behind", func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{
			Block: 10, Raise: raise, MaxKey: func(context.Context) (int64, error) { return 6, nil },
		})
		wants(t, s, keysource.ErrStoreBehind, "run RAISE TO 7")
	})
	bubble(t, "back", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 1, Raise: raise})
		reserve(t, s, 3, 1)
		l.do(func(st *ledgerState) { st.next = 1 })
		wants(t, s, keysource.ErrStoreBack, "run RAISE TO 4")
	})
}

// TestSequenceReserveWithin: what is in hand comes before the statement's own way to the
// store, and nothing of that is kept.
func TestSequenceReserveWithin(t *testing.T) {
	within := func(t *testing.T, s *counting.Sequence, l *ledger, n, want int64) {
		t.Helper()
		if first, err := s.ReserveWithin(t.Context(), n, counting.At{Reserver: l}); err != nil || first != want {
			t.Errorf("ReserveWithin(%d) = %d, %v, want %d", n, first, err, want)
		}
	}
	bubble(t, "in hand", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 4})
		reserve(t, s, 1, 1)
		synctest.Wait() // for the next block
		own := newLedger(ledgerState{next: 100})
		within(t, s, own, 2, 2)
		within(t, s, own, 4, 4)
		synctest.Wait()
		within(t, s, own, 3, 100) // 8 becomes a gap
		within(t, s, own, 1, 103)
		if l.calls() != 2 {
			t.Errorf("the store was asked %d times", l.calls())
		}
		reserve(t, s, 1, 9)
	})
	bubble(t, "the first", func(t *testing.T) {
		l, own, greatest := new(ledger), newLedger(ledgerState{next: 7}), int64(9)
		o, warned := anyway(&greatest)
		s := newSequence(t, l, o)
		within(t, s, own, 1, 7)
		if l.calls() != 0 || warned.Load() != 0 {
			t.Errorf("the store was asked %d times, %d warnings", l.calls(), warned.Load())
		}
		reserve(t, s, 1, 1)
		if warned.Load() != 1 {
			t.Errorf("%d warnings", warned.Load())
		}
	})
	bubble(t, "an error", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 1})
		reserve(t, s, 3, 1)
		own := newLedger(ledgerState{next: 1})
		if _, err := s.ReserveWithin(t.Context(), 1, counting.At{Reserver: own}); !errors.Is(err, keysource.ErrStoreBack) {
			t.Errorf("ReserveWithin: %v", err)
		}
		if st := s.Stats(); st.Err != nil {
			t.Errorf("%+v", st)
		}
		reserve(t, s, 1, 4)
		if _, err := s.ReserveWithin(t.Context(), 1, counting.At{}); !errors.Is(err, keysource.ErrNoConnection) {
			t.Errorf("ReserveWithin: %v", err)
		}
	})
}
