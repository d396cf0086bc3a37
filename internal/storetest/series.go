package storetest

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// size is how many integers the series (ranges that an owner reserves from) have in most
// tests.
const size = 10

// owners returns access to the series (ranges of integers) of a new state (a stored
// counter) for several owners, each in its own store.
func owners(t *testing.T, o Options, names ...string) []keysource.SeriesStore {
	t.Helper()
	st, _ := state(1)
	var all []keysource.SeriesStore
	for _, owner := range names {
		all = append(all, o.open(t).Series(st, keysource.SeriesOwner{Size: size, Lease: o.Lease, Owner: owner}))
	}
	return all
}

// held returns options for series (ranges of integers) that no other owner may take over
// while a test runs.
func (o Options) held() Options {
	o.Lease = time.Hour
	return o
}

// must returns a function that returns a series (a range of integers) and fails the test if
// there is an error.
func must(t *testing.T) func(s keysource.Series, err error) keysource.Series {
	return func(s keysource.Series, err error) keysource.Series {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// want fails the test if a series (a range of integers) is not the wanted one.
func want(t *testing.T, what string, got, want keysource.Series) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// moved reserves integers of a series (a range of integers), which has to succeed, and
// returns the series.
func moved(t *testing.T, s keysource.SeriesStore, one keysource.Series, to int64) keysource.Series {
	t.Helper()
	now, ok, err := s.Move(t.Context(), one, to)
	if err != nil || !ok {
		t.Fatalf("Move(%+v, %d): %+v, %t, %v", one, to, now, ok, err)
	}
	one.Next, one.Own = to, true
	want(t, "what has moved", now, one)
	return now
}

// stays checks that Move reserves no integer of a series (a range of integers) if one, the
// series as the caller knows it, is out of date.
func stays(t *testing.T, s keysource.SeriesStore, one keysource.Series, to int64, is keysource.Series) {
	t.Helper()
	now, ok, err := s.Move(t.Context(), one, to)
	if err != nil || ok {
		t.Errorf("Move(%+v, %d): %t, %v, want neither", one, to, ok, err)
	}
	want(t, "what has not moved", now, is)
}

// testSeriesOpen checks that new series (ranges of integers) are above all others, and
// belong to their owner.
func testSeriesOpen(t *testing.T, o Options) {
	all := owners(t, o, "a", "b")
	a, b := all[0], all[1]
	want(t, "what an owner has before", must(t)(a.Own(t.Context())), keysource.Series{})
	first := must(t)(a.Open(t.Context(), 0))
	want(t, "the first series", first, keysource.Series{First: 1, Last: size, Next: 1, Epoch: 1, Own: true})
	second := must(t)(b.Open(t.Context(), 0))
	want(t, "the second series", second, keysource.Series{First: size + 1, Last: 2 * size, Next: size + 1, Epoch: 1, Own: true})
	third := must(t)(a.Open(t.Context(), size+1))
	want(t, "the own one", must(t)(a.Own(t.Context())), first)
	want(t, "the own one of the other", must(t)(b.Own(t.Context())), second)

	low := must(t)(b.Open(t.Context(), 100))
	if low.First != third.Last+1 || low.Own {
		t.Errorf("a store below what was seen: %+v, want where it stands", low)
	}
	if err := b.Advance(t.Context(), 100); err != nil {
		t.Fatalf("Advance: %v", err)
	}
	high := must(t)(b.Open(t.Context(), 100))
	if high.First < 100 || high.Last != high.First+size-1 || !high.Own {
		t.Errorf("a series above 100: %+v", high)
	}
	if err := a.Advance(t.Context(), 1); err != nil {
		t.Fatalf("Advance: %v", err)
	}
	if next := must(t)(a.Open(t.Context(), 0)); next.First <= high.Last {
		t.Errorf("after %+v came %+v", high, next)
	}
}

// testSeriesEnd checks that Open makes no series (a range of integers) beyond Max, and no
// series with fewer integers than the others.
func testSeriesEnd(t *testing.T, o Options) {
	for _, last := range []int64{25, math.MaxInt64 - 1} {
		st, _ := state(last - 24)
		st.Max = last
		s := o.open(t).Series(st, keysource.SeriesOwner{Size: size, Lease: o.Lease, Owner: "a"})
		for range 2 {
			must(t)(s.Open(t.Context(), 0))
		}
		if got, err := s.Open(t.Context(), 0); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("up to %d: %+v, %v, want %v", last, got, err, keysource.ErrExhausted)
		}
	}
}

// testSeriesMove checks that integers of a series (a range of integers) are reserved only
// if the series is as the caller knows it.
func testSeriesMove(t *testing.T, o Options) {
	all := owners(t, o, "a", "b", "a")
	a, b, again := all[0], all[1], all[2]
	begun := must(t)(a.Open(t.Context(), 0))
	now := moved(t, a, begun, 4)
	stays(t, a, begun, 6, now)
	stays(t, again, begun, 4, now)
	foreign := now
	foreign.Own = false
	stays(t, b, now, 6, foreign)
	wrong := now
	wrong.Epoch++
	stays(t, a, wrong, 6, now)
	now = moved(t, a, now, 4) // to is unchanged, so only the lease is renewed
	now = moved(t, again, now, size+1)
	stays(t, a, keysource.Series{First: 500, Last: 509, Next: 500, Epoch: 1}, 501, keysource.Series{})
	want(t, "a used-up one", must(t)(a.Own(t.Context())), now)
}

// testSeriesGiveUp checks that any owner may take the rest of a series (a range of
// integers) that was given up at once, and the integers that were given back with it.
func testSeriesGiveUp(t *testing.T, o Options) {
	all := owners(t, o.held(), "a", "b", "c")
	a, b, c := all[0], all[1], all[2]
	begun := must(t)(a.Open(t.Context(), 0))
	want(t, "a series that is leased", must(t)(b.TakeOver(t.Context(), 1)), keysource.Series{})
	now := moved(t, a, begun, 8)
	give := func(s keysource.SeriesStore, one keysource.Series, to int64) {
		t.Helper()
		if err := s.GiveUp(t.Context(), one, to); err != nil {
			t.Errorf("GiveUp(%+v, %d): %v", one, to, err)
		}
	}
	give(b, now, 1) // b gives up a series that does not belong to it, which must do nothing
	want(t, "a series that another one gave up", must(t)(a.Own(t.Context())), now)
	give(a, now, 5)
	want(t, "what is left", must(t)(a.Own(t.Context())), keysource.Series{})
	want(t, "one with more integers", must(t)(b.TakeOver(t.Context(), 7)), keysource.Series{})
	taken := must(t)(b.TakeOver(t.Context(), 6))
	want(t, "what was given up", taken, keysource.Series{First: 1, Last: size, Next: 5, Epoch: 2, Own: true})
	foreign := taken
	foreign.Own = false
	stays(t, a, now, 9, foreign)
	give(a, now, 1)
	next := moved(t, b, taken, 7)
	give(b, taken, 6) // the series has moved on, in a request whose answer b did not get
	want(t, "what has moved", must(t)(c.TakeOver(t.Context(), 1)), keysource.Series{First: 1, Last: size, Next: next.Next, Epoch: 3, Own: true})
}

// testSeriesSpent checks that no owner gets a series (a range of integers) that is used up.
func testSeriesSpent(t *testing.T, o Options) {
	all := owners(t, o, "a", "b")
	a, b := all[0], all[1]
	spent := moved(t, a, must(t)(a.Open(t.Context(), 0)), size+1)
	if err := a.GiveUp(t.Context(), spent, size+1); err != nil {
		t.Fatalf("GiveUp: %v", err)
	}
	want(t, "a used-up one", must(t)(b.TakeOver(t.Context(), 1)), keysource.Series{})
	want(t, "a used-up one of its own", must(t)(a.Own(t.Context())), keysource.Series{})
	stays(t, a, spent, size+1, keysource.Series{})
	if next := must(t)(b.Open(t.Context(), 0)); next.First != size+1 {
		t.Errorf("the next series is %+v", next)
	}
}

// takeOver takes over a series (a range of integers) as soon as the lease of one has
// expired.
func takeOver(t *testing.T, s keysource.SeriesStore, n int64) keysource.Series {
	t.Helper()
	for {
		if taken := must(t)(s.TakeOver(t.Context(), n)); taken.First > 0 {
			return taken
		}
		time.Sleep(20 * time.Millisecond) // if this never ends, the timeout of the test binary ends it
	}
}

// testSeriesTakeOver checks that a series (a range of integers) whose lease has run out
// goes to the owner that takes it, for good, and that no other owner gets it before.
func testSeriesTakeOver(t *testing.T, o Options) {
	all := owners(t, o, "a", "b")
	a, b := all[0], all[1]
	begun := must(t)(a.Open(t.Context(), 0))
	sent := time.Now()
	held := moved(t, a, begun, 3)
	taken := takeOver(t, b, 1)
	if took := time.Since(sent); took < o.Lease {
		t.Errorf("a lease of %v had run out after %v", o.Lease, took)
	}
	want(t, "the series", taken, keysource.Series{First: 1, Last: size, Next: 3, Epoch: 2, Own: true})
	foreign := taken
	foreign.Own = false
	stays(t, a, held, 5, foreign)
	want(t, "what the owner before has", must(t)(a.Own(t.Context())), keysource.Series{})
	if err := a.GiveUp(t.Context(), held, 1); err != nil {
		t.Errorf("GiveUp: %v", err)
	}
	spent := moved(t, b, taken, size+1)
	// The used-up series is removed when its lease has run out, so the next one has other
	// integers.
	next := must(t)(a.Open(t.Context(), 0))
	if next.First != size+1 {
		t.Errorf("the next series is %+v", next)
	}
	want(t, "what is taken over after a used-up series", takeOver(t, b, 1), keysource.Series{First: next.First, Last: next.Last, Next: next.Next, Epoch: 2, Own: true})
	// The lease of the spent series may expire last, although it was renewed first, so wait
	// until the series is removed.
	own := must(t)(b.Own(t.Context()))
	for own.First == spent.First {
		time.Sleep(20 * time.Millisecond) // if this never ends, the timeout of the test binary ends it
		must(t)(b.TakeOver(t.Context(), 1))
		own = must(t)(b.Own(t.Context()))
	}
	if own.First != next.First {
		t.Errorf("after %+v was used up and removed: %+v, want the one from %d on", spent, own, next.First)
	}
}

// testSeriesLowest checks that, if several series (ranges of integers) are abandoned, the
// lowest one with room is taken over.
func testSeriesLowest(t *testing.T, o Options) {
	all := owners(t, o.held(), "a", "b")
	a, b := all[0], all[1]
	var made []keysource.Series
	for i := range int64(12) { // the series begin at 1, 11, … 111, which are in another order if compared as texts
		one := must(t)(a.Open(t.Context(), 0))
		if i < 2 {
			one = moved(t, a, one, one.Last)
		}
		made = append(made, one)
	}
	for _, one := range made {
		if err := a.GiveUp(t.Context(), one, one.Next); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{2, 3, 4} {
		if got := must(t)(b.TakeOver(t.Context(), 2)); got.First != made[n].First {
			t.Errorf("%+v was taken over, want the one from %d on", got, made[n].First)
		}
	}
	if got := must(t)(b.TakeOver(t.Context(), 1)); got.First != made[0].First {
		t.Errorf("%+v was taken over, want the one from %d on", got, made[0].First)
	}
	if own := must(t)(b.Own(t.Context())); own.First != made[0].First {
		t.Errorf("the lowest of its own is %+v, want the one from %d on", own, made[0].First)
	}
}

// testSeriesRenewed checks that a lease lasts its whole time from each renewal on.
func testSeriesRenewed(t *testing.T, o Options) {
	all := owners(t, o, "a", "b")
	a, b := all[0], all[1]
	held := must(t)(a.Open(t.Context(), 0))
	sure := 0
	for range 6 {
		sent := time.Now()
		held = moved(t, a, held, held.Next)
		time.Sleep(o.Lease / 2)
		got := must(t)(b.TakeOver(t.Context(), 1))
		lasts := time.Since(sent) < o.Lease
		switch {
		case got.First > 0 && lasts:
			t.Fatalf("%+v was taken over while its lease lasted", got)
		case got.First > 0:
			t.Logf("this machine was stopped for longer than a lease, after %d renewals", sure)
			return
		}
		sure++
	}
}

// testSeriesAtOnce checks that no integer of a series (a range of integers) has two owners,
// while owners take over series that other owners give up or whose leases expire.
func testSeriesAtOnce(t *testing.T, o Options) {
	const stores, each, rounds = 3, 3, 12
	st, _ := state(1)
	var mu sync.Mutex
	var all []keysource.Reservation
	var group sync.WaitGroup
	for range stores {
		s := o.open(t)
		for i := range each {
			own := s.Series(st, keysource.SeriesOwner{Size: size, Lease: o.Lease, Owner: name("owner")})
			group.Go(func() {
				for round := range rounds {
					one, err := own.TakeOver(t.Context(), 3)
					if err == nil && one.First == 0 {
						one, err = own.Open(t.Context(), 0)
					}
					if errors.Is(err, keysource.ErrStoreDown) {
						continue // the machine is too busy; a series that was opened all the same is free when its lease expires
					}
					if err != nil {
						t.Errorf("TakeOver or Open: %v", err)
						return
					}
					now, ok, err := own.Move(t.Context(), one, one.Next+3)
					if err != nil {
						t.Errorf("Move: %v", err)
						return
					}
					if !ok {
						continue // another owner has taken the series over
					}
					mu.Lock()
					all = append(all, keysource.Reservation{First: one.Next, N: 3})
					mu.Unlock()
					if (round+i)%3 == 0 {
						continue // keep the series without giving it up, as a killed owner does
					}
					if err := own.GiveUp(t.Context(), now, now.Next); err != nil {
						t.Errorf("GiveUp: %v", err)
					}
				}
			})
		}
	}
	group.Wait()
	slices.SortFunc(all, func(a, b keysource.Reservation) int { return cmp.Compare(a.First, b.First) })
	for i, one := range all[1:] {
		if one.First < all[i].First+3 {
			t.Errorf("the integer %d was reserved twice", one.First)
		}
	}
}
