package counting_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// narrowStore reserves up to a limit that is only its own.
type narrowStore struct{ next, limit int64 }

func (s *narrowStore) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	left := s.limit - s.next + 1
	if left < 1 {
		return keysource.Reservation{}, keysource.ErrExhausted
	}
	got := keysource.Reservation{First: s.next}
	if left < n {
		got.N, n = left, left
	}
	s.next += n
	return got, nil
}

func (s *narrowStore) Advance(context.Context, int64) error { return nil }

// TestSequenceFewer: of a store that reserves fewer than it was asked for, and reports
// that, no more are handed out, on a connection of its own and on the statements'
// connections.
func TestSequenceFewer(t *testing.T) {
	for _, block := range []int64{0, 1, 100} {
		for _, onConnection := range []bool{false, true} {
			st := &narrowStore{next: 95, limit: 120}
			o := counting.SequenceOptions{Block: block, OnConnection: onConnection}
			if !onConnection {
				o.Reserver = st
			}
			s, err := counting.NewSequence(o, keysource.Env{})
			if err != nil {
				t.Fatal(err)
			}
			var last int64
			for range 40 {
				var first int64
				if onConnection {
					first, err = s.ReserveOn(t.Context(), 3, counting.At{Reserver: st})
				} else {
					first, err = s.Reserve(t.Context(), 3)
				}
				if err != nil {
					break
				}
				if first <= last {
					t.Fatalf("block %d: %d after %d", block, first, last)
				}
				last = first + 2
			}
			if !errors.Is(err, keysource.ErrExhausted) || last > 120 || last < 95 {
				t.Errorf("block %d, on connections %v: the last integer is %d, then %v", block, onConnection, last, err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}
