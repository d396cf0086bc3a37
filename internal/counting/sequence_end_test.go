package counting_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// TestSequenceLastKeys: a request that is too long for what is left takes
// nothing of it, whatever the block is.
func TestSequenceLastKeys(t *testing.T) {
	for _, block := range []int64{0, 1, 4, 100} {
		bubble(t, fmt.Sprint("block ", block), func(t *testing.T) {
			l := newLedger(ledgerState{next: 93})
			s := newSequence(t, l, counting.SequenceOptions{Block: block, Max: 100})
			reserve(t, s, 5, 93)
			refuse(t, s, 5, keysource.ErrExhausted)
			refuse(t, s, 4, keysource.ErrExhausted)
			reserve(t, s, 2, 98)
			refuse(t, s, 2, keysource.ErrExhausted)
			reserve(t, s, 1, 100)
			refuse(t, s, 1, keysource.ErrExhausted)
		})
	}
	bubble(t, "some who wait get what others cannot", func(t *testing.T) {
		l := newLedger(ledgerState{next: 98, takes: 1})
		s := newSequence(t, l, counting.SequenceOptions{Block: 1, Max: 100})
		large, small, last := ask(t.Context(), s, 5), ask(t.Context(), s, 2), ask(t.Context(), s, 1)
		if r := <-large; r.err == nil {
			t.Errorf("5 of 3 keys: %d", r.first)
		}
		for want, c := range map[int64]<-chan result{98: small, 100: last} {
			if r := <-c; r.err != nil || r.first != want {
				t.Errorf("the key is %d, %v, want %d", r.first, r.err, want)
			}
		}
	})
}

// endingRow is a row of a session that knows the last integer: where fewer are
// left than it is asked for it reserves those, but none inside a transaction.
type endingRow struct {
	*session
	max int64
}

func (r endingRow) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	left := r.max + 1 - r.f.do(nil).next
	if left < n {
		if r.open || left == 0 {
			return keysource.Reservation{}, keysource.ErrExhausted
		}
		n = left
	}
	return r.session.Reserve(ctx, n, seen)
}

// atEnd is the session as the source gets it, with an endingRow.
func (s *session) atEnd(max int64) counting.At {
	at := s.at()
	at.Reserver = endingRow{s, max}
	return at
}

// TestSequenceOnLastKeys: the same on the statements' connections, outside of a
// transaction and inside one that commits.
func TestSequenceOnLastKeys(t *testing.T) {
	for _, block := range []int64{0, 1, 4, 100} {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprintf("block %d, open %v", block, open), func(t *testing.T) {
				f := newFile(fileState{next: 93})
				c := &session{f: f}
				s := onConnection(t, counting.SequenceOptions{Block: block, Max: 100})
				do := func(n, want int64) {
					t.Helper()
					if open {
						c.begin()
						defer c.commit()
					}
					first, err := s.ReserveOn(t.Context(), n, c.atEnd(100))
					if (err == nil) != (want > 0) || first != want {
						t.Fatalf("ReserveOn(%d) = %d, %v, want %d", n, first, err, want)
					}
				}
				do(5, 93)
				do(5, 0)
				do(4, 0)
				do(2, 98)
				do(2, 0)
				do(1, 100)
				do(1, 0)
			})
		}
	}
}

// TestSequenceOnEndInHand: what is in hand and what is left in the store serve
// one request where they meet.
func TestSequenceOnEndInHand(t *testing.T) {
	for _, tt := range []struct {
		name       string
		open       bool
		elsewhere  int64 // keys that another process takes
		first      int64 // 0: exhausted
		after      int64 // the key that comes next, 0: exhausted
		afterUndo  int64
		afterTaken int64 // what the store stands at
	}{
		{"outside", false, 0, 8, 0, 0, 11},
		{"inside", true, 0, 8, 0, 10, 11},
		{"outside, another process", false, 1, 0, 8, 0, 11},
		{"inside, another process", true, 1, 0, 8, 8, 11},
	} {
		for _, undo := range []bool{false, true} {
			if undo && !tt.open {
				continue
			}
			t.Run(fmt.Sprintf("%s, rollback %v", tt.name, undo), func(t *testing.T) {
				f := newFile(fileState{next: 1})
				c := &session{f: f}
				s := onConnection(t, counting.SequenceOptions{Block: 9, Max: 10})
				reserveOn(t, s, c, 7, 1) // 8 and 9 are in hand, 10 is in the store
				f.do(func(st *fileState) { st.next += tt.elsewhere })
				if tt.open {
					c.begin()
				}
				first, err := s.ReserveOn(t.Context(), 3, c.atEnd(10))
				if first != tt.first || (err == nil) != (tt.first > 0) {
					t.Errorf("ReserveOn(3) = %d, %v, want %d", first, err, tt.first)
				}
				want := tt.after
				if tt.open {
					c.end(!undo)
				}
				if undo {
					want = tt.afterUndo
				} else if got := f.do(nil).next; got != tt.afterTaken {
					t.Errorf("the store stands at %d, want %d", got, tt.afterTaken)
				}
				if want == 0 {
					refuseOn(t, s, c, 1, keysource.ErrExhausted)
					return
				}
				reserveOn(t, s, c, 1, want)
			})
		}
	}
}
