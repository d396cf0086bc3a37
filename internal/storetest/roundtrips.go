package storetest

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// Counted is a server that no other test uses, and that counts its requests.
type Counted struct {
	Open  func() keysource.Store // opens a store, which the test closes
	Count func() int
}

// RoundTrips checks that a source that uses its state (a stored counter) alone sends one
// request for each block, and at most a few more. spare returns how many more it may send
// if a given number of its requests has failed.
func RoundTrips(t *testing.T, s Counted, spare func(failed int) int) {
	const block, blocks = 100, 50
	src, err := counting.NewSequence(counting.SequenceOptions{Reserver: s.Open().Reserver(State("alone")), Block: block}, patient)
	if err != nil {
		t.Fatal(err)
	}
	for range blocks * block {
		if _, err := src.Reserve(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := src.Close(t.Context()); err != nil {
		t.Error(err)
	}
	failed := int(src.Stats().Fetching.Errors)
	n := s.Count()
	t.Logf("%d round trips for %d blocks", n, blocks)
	if n < blocks || n > blocks+spare(failed) {
		t.Errorf("%d round trips for %d blocks, and %d questions that failed", n, blocks, failed)
	}
}

// RoundTripsASecond measures the round trips of processes that each draw 200 keys a second
// from one state (a stored counter), with the settings of a policy that sets none. start
// starts a server for each measurement. If tests go by turns (see package testturn), it
// makes only one measurement.
func RoundTripsASecond(t *testing.T, start func(t *testing.T) Counted) {
	const rate, lasts = 200, 12 * time.Second
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it takes a minute")
	}
	type measured struct {
		kind      string
		processes int
	}
	for _, m := range testturn.Some(t, []measured{{"sequence", 1}, {"sequence", 8}, {"usual", 1}, {"usual", 8}, {"leased", 1}, {"leased", 8}}, 6) {
		t.Run(fmt.Sprint(m.kind, m.processes), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			var group sync.WaitGroup
			for i := range m.processes {
				src, err := SourceOptions{Kind: m.kind, Name: m.kind, Owner: fmt.Sprint("owner", i), Lease: counting.DefaultLease}.Open(s.Open())
				if err != nil {
					t.Fatal(err)
				}
				group.Go(func() {
					tick := time.NewTicker(time.Second / rate)
					defer tick.Stop()
					for end := time.Now().Add(lasts); time.Now().Before(end); <-tick.C {
						if _, err := src.Reserve(t.Context(), 1); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			n := s.Count()
			if n == 0 {
				t.Fatal("the server was asked nothing: this test reads its counts wrongly")
			}
			perSecond := float64(n) / lasts.Seconds() / float64(m.processes)
			t.Logf("%s, processes: %d, round trips a second of each: %.2f (%d round trips)", m.kind, m.processes, perSecond, n)
		})
	}
}
