package keysource_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// TestSequenceUnique: of 16 goroutines of two processes, each in statements of
// several rows, no key is handed out twice, those of a statement are
// consecutive and those of a goroutine ascend.
func TestSequenceUnique(t *testing.T) {
	const goroutines = 16
	total := lawKeys(t)
	for _, tt := range []struct {
		name string
		o    keysource.SequenceOptions
	}{
		{"adaptive", keysource.SequenceOptions{}},
		{"block of 100", keysource.SequenceOptions{Block: 100}},
		{"block of 7", keysource.SequenceOptions{Block: 7}},
		{"block of 1", keysource.SequenceOptions{Block: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := new(ledger)
			processes := []*keysource.Sequence{newSequence(t, l, tt.o), newSequence(t, l, tt.o)}
			made := make([][]int64, goroutines)
			var wg sync.WaitGroup
			for g := range made {
				s := processes[g%len(processes)]
				wg.Go(func() { made[g] = draw(t, s, total/goroutines) })
			}
			wg.Wait()
			seen := make(map[int64]struct{}, total)
			for _, keys := range made {
				for _, key := range keys {
					seen[key] = struct{}{}
				}
			}
			if len(seen) != total {
				t.Errorf("%d of %d keys are different", len(seen), total)
			}
		})
	}
}

// draw draws keys by statements of 1 to 40 rows.
func draw(t *testing.T, s *keysource.Sequence, total int) []int64 {
	sizes := []int{1, 1, 2, 7, 1, 40, 3}
	var made []int64
	for i := 0; len(made) < total; i++ {
		n := min(sizes[i%len(sizes)], total-len(made))
		keys, err := s.Next(t.Context(), keysource.Request{N: n})
		if err != nil {
			t.Error(err)
			return made
		}
		for k, key := range keys {
			switch at := len(made); {
			case k > 0 && key.(int64) != made[at-1]+1:
				t.Errorf("%d follows %d in a statement", key, made[at-1])
				return made
			case at > 0 && key.(int64) <= made[at-1]:
				t.Errorf("%d follows %d", key, made[at-1])
				return made
			}
			made = append(made, key.(int64))
		}
	}
	return made
}

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
