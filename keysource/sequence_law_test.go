package keysource_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// TestSequenceOrder takes keys in a ring of goroutines, each handing the last
// key to the next goroutine: every key must be greater than all before it.
func TestSequenceOrder(t *testing.T) {
	for _, block := range []int64{0, 1, 7} {
		synctest.Test(t, func(t *testing.T) {
			const goroutines, links = 8, 20_000
			l := newLedger(ledgerState{takes: time.Millisecond})
			s := newSequence(t, l, keysource.SequenceOptions{Block: block})
			noise := newSequence(t, l, keysource.SequenceOptions{Block: block}) // so that blocks do not meet
			var hands [goroutines]chan int64
			for i := range hands {
				hands[i] = make(chan int64)
			}
			var wg sync.WaitGroup
			for i := range hands {
				wg.Go(func() {
					to := hands[(i+1)%goroutines]
					defer close(to)
					for link := 0; link < links/goroutines; link++ {
						last := <-hands[i]
						n := int64(1 + (link+i)%5)
						first, err := s.Reserve(t.Context(), n)
						if err != nil || first <= last {
							t.Errorf("%d, %v follows %d", first, err, last)
							return
						}
						if _, err := noise.Reserve(t.Context(), n); err != nil {
							t.Error(err)
							return
						}
						select {
						case to <- first + n - 1:
						case <-time.After(time.Minute): // the ring has ended
						}
					}
				})
			}
			hands[0] <- 0
			wg.Wait()
		})
	}
}

// TestSequenceGivesUpBlocksForGood: a request that has looked at the block in
// hand, and takes from it when that has been replaced, gets nothing. The
// successor may have what was left.
func TestSequenceGivesUpBlocksForGood(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replace func(*testing.T, *keysource.Sequence)
	}{
		{"joined with the next", func(t *testing.T, s *keysource.Sequence) { reserve(t, s, 8, 4) }},
		{"dropped", func(_ *testing.T, s *keysource.Sequence) { s.Drop() }},
		{"advanced over", func(t *testing.T, s *keysource.Sequence) {
			if err := s.Advance(t.Context(), 11); err != nil {
				t.Error(err)
			}
		}},
		{"closed", func(t *testing.T, s *keysource.Sequence) {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := newSequence(t, new(ledger), keysource.SequenceOptions{Block: 10})
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
