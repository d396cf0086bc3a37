package counting_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
)

// TestSequenceRemaining: what is left counts the integers in hand, and the use has a rate.
func TestSequenceRemaining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{Block: 100, Max: 1000})
		if got := s.Stats(); got.Remaining != -1 || got.Max != 1000 || got.Block != 100 || !got.LastUse.IsZero() {
			t.Errorf("before the first key: %+v", got)
		}
		for key := int64(1); key <= 60; key++ {
			reserve(t, s, 1, key)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		got := s.Stats()
		if got.Remaining != 940 || math.Abs(got.Fetching.PerSecond-1) > 0.05 {
			t.Errorf("%d remain at %f a second, want 940 at 1", got.Remaining, got.Fetching.PerSecond)
		}
		if got.LastUse.IsZero() || time.Since(got.LastUse) < 30*time.Second {
			t.Errorf("the store was needed at %v, want at the 25th key", got.LastUse)
		}
		s.Drop() // what is given up is used up
		if got := s.Stats(); got.Remaining != 800 {
			t.Errorf("%d remain behind two blocks, want 800", got.Remaining)
		}
	})
}
