package counting_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
)

// TestSequenceOrder takes keys in a ring of goroutines: every key must be greater than all
// before it.
func TestSequenceOrder(t *testing.T) {
	for _, block := range []int64{0, 1, 7} {
		synctest.Test(t, func(t *testing.T) {
			l := newLedger(ledgerState{takes: time.Millisecond})
			s := newSequence(t, l, counting.SequenceOptions{Block: block})
			noise := newSequence(t, l, counting.SequenceOptions{Block: block}) // so that blocks do not meet
			ring(t, 20_000, func(link int, last int64) (int64, error) {
				n := int64(1 + link%5)
				first, err := s.Reserve(t.Context(), n)
				if err == nil && first <= last {
					err = fmt.Errorf("%d follows %d", first, last)
				}
				_, noiseErr := noise.Reserve(t.Context(), n)
				return first + n - 1, errors.Join(err, noiseErr)
			})
		})
	}
}

// TestSequenceGivesUpBlocksForGood: a request that has looked at the block in
// hand, and takes from it when that has been replaced, gets nothing. The
// successor may have what was left.
func TestSequenceGivesUpBlocksForGood(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replace func(*testing.T, *counting.Sequence)
	}{
		{"joined with the next", func(t *testing.T, s *counting.Sequence) { reserve(t, s, 8, 4) }},
		{"dropped", func(_ *testing.T, s *counting.Sequence) { s.Drop() }},
		{"advanced over", func(t *testing.T, s *counting.Sequence) {
			if err := s.Advance(t.Context(), 11); err != nil {
				t.Error(err)
			}
		}},
		{"closed", func(t *testing.T, s *counting.Sequence) {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := newSequence(t, new(ledger), counting.SequenceOptions{Block: 10})
			reserve(t, s, 3, 1)
			synctest.Wait()
			take := s.TakeLater()
			tt.replace(t, s)
			if take() {
				t.Error("a key was taken from the old block")
			}
		})
	}
}
