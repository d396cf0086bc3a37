// Package storetest tests what every [keysource.Store] has to do, whatever keeps the states
// (the stored counters): the rules of the interfaces in package keysource, and the law that
// no key is made twice, by sources that use the store from several processes at once.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Options{
//			Open:  func(t testing.TB) keysource.Store { return open(t, cluster) },
//			Lease: 2 * time.Second,
//		})
//	}
//
// The tests wait for leases to run out, so they run side by side. A test fails because of a
// store's answers, never because the machine is slow. All names of states are new, so tests
// may share a server.
//
// [RunDriver], [Shards], [RoundTrips] and [Drawers] test the driver of such stores, and
// what happens while its server is killed.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// Options say how the tests reach a store.
type Options struct {
	// Open returns a store, as another process would open it: all stores have the same
	// states (stored counters). The tests close it. It may be nil if there is a Server.
	Open func(t testing.TB) keysource.Store

	// Server is the server of the store. If it is nil, tests that drop its answers or start
	// processes are not run.
	Server *Server

	// Lease is the shortest lease that the store keeps.
	Lease time.Duration

	// Draws is how many keys each source draws in the concurrent tests; 0 means 500. The
	// concurrent tests open 4 stores, each with one source, and 4 goroutines draw from each
	// source.
	Draws int
}

// Run runs all tests.
func Run(t *testing.T, o Options) {
	type test struct {
		name string
		run  func(t *testing.T, o Options)
	}
	tests := []test{
		{"Reserve", testReserve},
		{"ReserveEnd", testReserveEnd},
		{"ReserveSeen", testReserveSeen},
		{"ReserveAtOnce", testReserveAtOnce},
		{"First", testFirst},
		{"FirstFails", testFirstFails},
		{"FirstAtOnce", testFirstAtOnce},
		{"Advance", testAdvance},
		{"Parameters", testParameters},
		{"Names", testNames},
		{"Mark", testMark},
		{"MarkAtOnce", testMarkAtOnce},
		{"Bind", testBind},
		{"BindAtOnce", testBindAtOnce},
		{"SeriesOpen", testSeriesOpen},
		{"SeriesEnd", testSeriesEnd},
		{"SeriesMove", testSeriesMove},
		{"SeriesGiveUp", testSeriesGiveUp},
		{"SeriesSpent", testSeriesSpent},
		{"SeriesTakeOver", testSeriesTakeOver},
		{"SeriesLowest", testSeriesLowest},
		{"SeriesRenewed", testSeriesRenewed},
		{"SeriesAtOnce", testSeriesAtOnce},
		{"Sources", testSources},
		{"WorkerNumbers", testWorkerNumbers},
		{"Close", testClose},
	}
	if o.Server != nil {
		tests = append(tests, []test{
			{"AnswerLost", testAnswerLost},
			{"AnswersLost", testAnswersLost},
			{"Stopped", testStopped},
			{"ProcessesKilled", testProcessesKilled},
		}...)
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, o)
		})
	}
}

// open opens a store that is closed with the test.
func (o Options) open(t *testing.T) keysource.Store {
	t.Helper()
	s := o.openHere(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// openHere opens a store that the caller closes.
func (o Options) openHere(t *testing.T) keysource.Store {
	t.Helper()
	if o.Open == nil {
		return o.Server.open(t, o.Server.Addr)
	}
	return o.Open(t)
}

// name returns the name of a state (a stored counter) that no other test has.
func name(of string) string { return of + "." + rand.Text()[:8] }

// State returns the state (a stored counter) of a source, which begins at 1.
func State(name string) keysource.State {
	return keysource.State{
		Name: name, Parameters: "p", Max: 1 << 62,
		First: func(context.Context) (int64, error) { return 1, nil },
	}
}

// state returns a state (a stored counter) that begins at first, and a counter of how often
// its First was called.
func state(first int64) (keysource.State, *atomic.Int64) {
	asked := new(atomic.Int64)
	st := State(name("orders"))
	st.Max = math.MaxInt64 - 1
	st.First = func(context.Context) (int64, error) {
		asked.Add(1)
		return first, nil
	}
	return st, asked
}

// Await calls Reserve until the store answers.
func Await(t *testing.T, r keysource.Reserver, n, seen int64) keysource.Reservation {
	t.Helper()
	for {
		got, err := r.Reserve(t.Context(), n, seen)
		if err == nil {
			return got
		}
		if errors.Is(err, keysource.ErrStoreState) || t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// reserve calls Reserve, which has to succeed.
func reserve(t *testing.T, r keysource.Reserver, n, seen int64) keysource.Reservation {
	t.Helper()
	got, err := r.Reserve(t.Context(), n, seen)
	if err != nil {
		t.Fatalf("Reserve(%d, %d): %v", n, seen, err)
	}
	return got
}

// wantFirst reserves n integers, which have to begin at first.
func wantFirst(t *testing.T, r keysource.Reserver, n, seen, first int64) keysource.Reservation {
	t.Helper()
	got := reserve(t, r, n, seen)
	if got.First != first {
		t.Errorf("Reserve(%d, %d) begins at %d, want %d", n, seen, got.First, first)
	}
	return got
}

// wantState fails the test unless the error says that the state (a stored counter) cannot
// be used.
func wantState(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, keysource.ErrStoreState) {
		t.Errorf("%s: %v, want %v", what, err, keysource.ErrStoreState)
	}
}

func testClose(t *testing.T, o Options) {
	st, _ := state(1)
	one, two := o.openHere(t), o.open(t)
	wantFirst(t, one.Reserver(st), 1, 0, 1)
	if err := one.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wantFirst(t, two.Reserver(st), 1, 0, 2)
}
