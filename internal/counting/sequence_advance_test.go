package counting_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

func TestSequenceDrop(t *testing.T) {
	bubble(t, "the block in hand and the next", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		reserve(t, s, 5, 1)
		synctest.Wait()
		s.Drop()
		reserve(t, s, 1, 21)
	})
	bubble(t, "the one in flight", func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		waits := ask(t.Context(), s, 1)
		s.Drop()
		if r := <-waits; r.err != nil || r.first != 11 {
			t.Errorf("%+v, want a key of the next block, 11", r)
		}
		if l.state().crowd != 1 {
			t.Errorf("%d fetches were in flight at a time", l.state().crowd)
		}
	})
	bubble(t, "the one in flight, which nobody waits for", func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		reserve(t, s, 5, 1)
		synctest.Wait()
		s.Drop()
		time.Sleep(time.Minute)
		if l.calls() != 2 {
			t.Errorf("the store was asked %d times", l.calls())
		}
		reserve(t, s, 1, 21)
	})
}

func TestSequenceAdvance(t *testing.T) {
	for _, tt := range []struct {
		name     string
		to, next int64
		advanced []int64
	}{
		// 1 to 5 were handed out, 6 to 10 and 11 to 20 are in hand.
		{"below", 3, 6, nil},
		{"to the next key", 6, 6, nil},
		{"in the block in hand", 8, 8, nil},
		{"in the next block", 13, 13, nil},
		{"to the last key reserved", 20, 20, nil},
		{"to the end of what is reserved", 21, 21, nil},
		{"beyond", 1000, 1000, []int64{1000}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			l := new(ledger)
			s := newSequence(t, l, counting.SequenceOptions{Block: 10})
			reserve(t, s, 5, 1)
			synctest.Wait()
			if err := s.Advance(t.Context(), tt.to); err != nil {
				t.Error(err)
			}
			reserve(t, s, 1, tt.next)
			// The fetch that begins where nothing is left in hand may advance it too.
			if got := slices.Compact(l.state().advanced); !slices.Equal(got, tt.advanced) {
				t.Errorf("the store advanced to %v, want %v", got, tt.advanced)
			}
			for _, r := range l.state().reserved {
				if r.seen > 1000 {
					t.Errorf("Reserve was told that %d was seen", r.seen)
				}
			}
		})
	}
}

func TestSequenceAdvanceMeetsAFetch(t *testing.T) {
	for _, block := range []int64{10, 1} {
		bubble(t, fmt.Sprintf("while a block of %d is in flight", block), func(t *testing.T) {
			l := newLedger(ledgerState{takes: time.Second / 4})
			s := newSequence(t, l, counting.SequenceOptions{Block: block})
			waits := ask(t.Context(), s, 1)
			l.do(func(st *ledgerState) { st.takes = time.Second / 2 })
			if err := s.Advance(t.Context(), 6); err != nil {
				t.Error(err)
			}
			if r := <-waits; r.err != nil || r.first < 6 {
				t.Errorf("%+v", r)
			}
		})
	}
	bubble(t, "the store is down", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		reserve(t, s, 1, 1)
		l.do(func(st *ledgerState) { st.err = errRefused })
		if err := s.Advance(t.Context(), 1000); !errors.Is(err, keysource.ErrStoreDown) {
			t.Errorf("Advance: %v", err)
		}
		l.do(func(st *ledgerState) { st.err = nil })
		reserve(t, s, 1, 1000) // the fetch has advanced it
	})
	bubble(t, "the store cannot", func(t *testing.T) {
		l := newLedger(ledgerState{err: keysource.ErrStoreState})
		s := newSequence(t, l, counting.SequenceOptions{})
		if err := s.Advance(t.Context(), 1000); err != keysource.ErrStoreState {
			t.Errorf("Advance: %v", err)
		}
	})
	bubble(t, "beyond the last key", func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{Max: 100})
		reserve(t, s, 1, 1)
		if err := s.Advance(t.Context(), 101); err != nil {
			t.Error(err)
		}
		refuse(t, s, 1, keysource.ErrExhausted)
	})
}
