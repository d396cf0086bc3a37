package storetest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// testReserve checks that integers ascend from the first one on, for any caller, and that
// every store names the same server.
func testReserve(t *testing.T, o Options) {
	st, asked := state(40)
	one, two := o.open(t).Reserver(st), o.open(t).Reserver(st)
	first := wantFirst(t, one, 1, 0, 40)
	wantFirst(t, one, 10, 41, 41)
	second := wantFirst(t, two, 5, 0, 51)
	wantFirst(t, one, 1, 51, 56)
	wantFirst(t, two, 1, 56, 57)
	if first.Server != second.Server {
		t.Errorf("two stores have the servers %q and %q", first.Server, second.Server)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times where to begin, want once", n)
	}
	if first.N > 1 || first.Apart {
		t.Errorf("one integer was reserved as %+v", first)
	}
}

// testReserveEnd checks that a store reserves the remaining integers up to Max, and none
// after that.
func testReserveEnd(t *testing.T, o Options) {
	for _, last := range []int64{12, math.MaxInt32, math.MaxInt64 - 1} {
		st, _ := state(last - 9)
		st.Max = last
		r := o.open(t).Reserver(st)
		wantFirst(t, r, 6, 0, last-9)
		got := wantFirst(t, r, 100, last-3, last-3)
		if got.N != 4 {
			t.Errorf("up to %d: %d integers were reserved, want 4", last, got.N)
		}
		for range 2 {
			if got, err := r.Reserve(t.Context(), 1, last+1); !errors.Is(err, keysource.ErrExhausted) {
				t.Errorf("beyond %d: %+v, %v, want %v", last, got, err, keysource.ErrExhausted)
			}
		}
	}
}

// testReserveSeen checks that a store whose next integer is below what the caller has seen
// returns that integer, and reserves nothing.
func testReserveSeen(t *testing.T, o Options) {
	st, _ := state(1)
	one, two := o.open(t).Reserver(st), o.open(t).Reserver(st)
	wantFirst(t, one, 9, 0, 1)
	wantFirst(t, one, 1, 100, 10)
	wantFirst(t, two, 1, 11, 10)
	wantFirst(t, two, 1, 10, 10)
	wantFirst(t, one, 1, 11, 11)
}

// testReserveAtOnce checks that no integer is in two reservations.
func testReserveAtOnce(t *testing.T, o Options) {
	const stores, each, rounds = 4, 4, 40
	st, _ := state(1)
	var mu sync.Mutex
	var all []keysource.Reservation
	var group sync.WaitGroup
	for range stores {
		s := o.open(t)
		for i := range each {
			r := s.Reserver(st)
			group.Go(func() {
				seen := int64(0)
				for range rounds {
					n := int64(i + 1)
					got, err := r.Reserve(t.Context(), n, seen)
					if err != nil || got.First < seen {
						t.Errorf("Reserve(%d, %d): %+v, %v", n, seen, got, err)
						return
					}
					got.N = cmp.Or(got.N, n)
					seen = got.First + got.N
					mu.Lock()
					all = append(all, got)
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	slices.SortFunc(all, func(a, b keysource.Reservation) int { return cmp.Compare(a.First, b.First) })
	for i, one := range all[1:] {
		if before := all[i]; one.First < before.First+before.N {
			t.Fatalf("%d integers from %d on, and %d from %d on", before.N, before.First, one.N, one.First)
		}
	}
}

// testFirst checks that only a missing state (a stored counter) is created, and that a
// raised state is not created again.
func testFirst(t *testing.T, o Options) {
	s := o.open(t)
	for _, first := range []int64{1, 7, math.MaxInt64 - 1} {
		st, asked := state(first)
		_, again := state(first + 1)
		wantFirst(t, s.Reserver(st), 1, 0, first)
		same := st
		same.First = func(context.Context) (int64, error) { again.Add(1); return 1, nil }
		if _, err := o.open(t).Reserver(same).Reserve(t.Context(), 1, 0); err != nil && !errors.Is(err, keysource.ErrExhausted) {
			t.Error(err)
		}
		if asked.Load() != 1 || again.Load() != 0 {
			t.Errorf("a state from %d on: asked %d times, and %d times when it was there", first, asked.Load(), again.Load())
		}
	}
}

// unknownFirst is the error of a state's First that does not know the first integer.
type unknownFirst struct{}

func (unknownFirst) Error() string { return "nobody knows" }

// testFirstFails checks that a state (a stored counter) is not created if its First returns
// an error.
func testFirstFails(t *testing.T, o Options) {
	s := o.open(t)
	st, asked := state(5)
	unknown := unknownFirst{}
	bad := st
	bad.First = func(context.Context) (int64, error) { return 0, unknown }
	_, reserveErr := s.Reserver(bad).Reserve(t.Context(), 1, 0)
	_, openErr := s.Series(bad, keysource.SeriesOwner{Size: 10, Lease: o.Lease, Owner: "a"}).Open(t.Context(), 0)
	for what, err := range map[string]error{
		"Reserve": reserveErr, "Advance": s.Reserver(bad).Advance(t.Context(), 9), "Open": openErr,
	} {
		if !errors.Is(err, unknown) {
			t.Errorf("%s: %v, want %v", what, err, unknown)
		}
	}
	wantFirst(t, s.Reserver(st), 1, 0, 5)
	if asked.Load() != 1 {
		t.Errorf("it was asked %d times where to begin, want once", asked.Load())
	}
}

// testFirstAtOnce checks that if several stores create one state (a stored counter) at the
// same time, one store succeeds, and the other stores use its state.
func testFirstAtOnce(t *testing.T, o Options) {
	const stores, rounds = 4, 10
	var open []keysource.Store
	for range stores {
		open = append(open, o.open(t))
	}
	for range rounds {
		st, _ := state(0)
		got := make([]int64, stores)
		var group sync.WaitGroup
		for i, s := range open {
			mine := st
			mine.First = func(context.Context) (int64, error) { return int64(1000 * (i + 1)), nil }
			group.Go(func() {
				one, err := s.Reserver(mine).Reserve(t.Context(), 1, 0)
				if err != nil {
					t.Errorf("Reserve: %v", err)
				}
				got[i] = one.First
			})
		}
		group.Wait()
		slices.Sort(got)
		for i, first := range got {
			if want := got[0] + int64(i); first != want || got[0]%1000 != 0 {
				t.Fatalf("%d of them were given %v", stores, got)
			}
		}
	}
}

// testAdvance checks that a state (a stored counter) is raised and never lowered, and
// created if it is missing.
func testAdvance(t *testing.T, o Options) {
	st, _ := state(1)
	one, two := o.open(t).Reserver(st), o.open(t).Reserver(st)
	advance := func(to int64) {
		t.Helper()
		if err := one.Advance(t.Context(), to); err != nil {
			t.Errorf("Advance(%d): %v", to, err)
		}
	}
	advance(100)
	wantFirst(t, two, 5, 0, 100)
	advance(50)
	advance(105)
	wantFirst(t, two, 1, 105, 105)
	advance(106)
	wantFirst(t, one, 1, 0, 106)
}

// testParameters checks that a state (a stored counter) that was created with other
// parameters, or for another kind of source, is not used and stays as it is.
func testParameters(t *testing.T, o Options) {
	s, owner := o.open(t), keysource.SeriesOwner{Size: 10, Lease: o.Lease, Owner: "a"}
	st, _ := state(1)
	wantFirst(t, s.Reserver(st), 1, 0, 1)
	other := st
	other.Parameters = "q"
	_, err := s.Reserver(other).Reserve(t.Context(), 1, 0)
	wantState(t, "Reserve with other parameters", err)
	wantState(t, "Advance with other parameters", s.Reserver(other).Advance(t.Context(), 50))
	_, err = s.Series(st, owner).Open(t.Context(), 0)
	wantState(t, "Open of a sequence's state", err)
	wantFirst(t, s.Reserver(st), 1, 0, 2)

	st, _ = state(1)
	if _, err := s.Series(st, owner).Open(t.Context(), 0); err != nil {
		t.Fatalf("Open: %v", err)
	}
	other = st
	other.Parameters = "q"
	_, err = s.Series(other, owner).Open(t.Context(), 0)
	wantState(t, "Open with other parameters", err)
	wantState(t, "Advance of series with other parameters", s.Series(other, owner).Advance(t.Context(), 50))
	_, err = s.Reserver(st).Reserve(t.Context(), 1, 0)
	wantState(t, "Reserve of the state of series", err)
	if got, err := s.Series(st, owner).Open(t.Context(), 0); err != nil || got.First != 11 {
		t.Errorf("the second series is %+v, %v, want one from 11 on", got, err)
	}
}

// testNames checks that each name has a state (a stored counter) of its own, whatever is in
// the name.
func testNames(t *testing.T, o Options) {
	s, suffix := o.open(t), name("")
	for i, prefix := range []string{
		"a", "a/", "a/1", "a b", "A", "a.b", "a%2F", "a%2F1", "a\"b", "ä", "order lines (x)", "a{b}", "a*", "a:1", strings.Repeat("ü", 170),
	} {
		st, _ := state(int64(1000 * (i + 1)))
		st.Name = prefix + suffix
		wantFirst(t, s.Reserver(st), 1, 0, int64(1000*(i+1)))
		wantFirst(t, o.open(t).Reserver(st), 1, 0, int64(1000*(i+1))+1)
		rows, _ := state(int64(1000 * (i + 1)))
		rows.Name = prefix + suffix + "s"
		made, err := s.Series(rows, keysource.SeriesOwner{Size: 10, Lease: o.Lease, Owner: "a/b " + prefix}).Open(t.Context(), 0)
		if err != nil || made.First != int64(1000*(i+1)) {
			t.Errorf("a series of %q: %+v, %v", rows.Name, made, err)
		}
		own, err := s.Series(rows, keysource.SeriesOwner{Size: 10, Lease: o.Lease, Owner: "a/b " + prefix}).Own(t.Context())
		if err != nil || own != made {
			t.Errorf("its own series of %q: %+v, %v, want %+v", rows.Name, own, err, made)
		}
	}
}
