package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// marked returns the state of a snowflake. It fails the test if a store asks for the first
// integer of the state, which a snowflake does not have.
func marked(t *testing.T) keysource.State {
	st, _ := state(1)
	st.First = func(context.Context) (int64, error) {
		t.Error("a mark was asked where to begin")
		return 1, nil
	}
	return st
}

// mark calls Mark, which has to succeed and return before.
func mark(t *testing.T, m keysource.Marker, until, before int64) {
	t.Helper()
	if got, err := m.Mark(t.Context(), until); err != nil || got != before {
		t.Errorf("Mark(%d) = %d, %v, want %d", until, got, err, before)
	}
}

// testMark checks that each worker has its own mark (the time up to which it may make
// keys), which begins at 0 and only grows.
func testMark(t *testing.T, o Options) {
	s, st := o.open(t), marked(t)
	one, again, other := s.Marker(st, 3, "a"), o.open(t).Marker(st, 3, "b"), s.Marker(st, 30, "a")
	mark(t, one, 100, 0)
	mark(t, again, 250, 100)
	mark(t, one, 200, 250)
	mark(t, one, 250, 250)
	mark(t, one, 300, 250)
	mark(t, other, 50, 0)
	mark(t, again, 301, 300)
	mark(t, s.Marker(marked(t), 3, "a"), 7, 0)
	changed := st
	changed.Parameters = "q"
	_, err := s.Marker(changed, 3, "a").Mark(t.Context(), 400)
	wantState(t, "a mark with other parameters", err)
	mark(t, one, 302, 301)
}

// testMarkAtOnce checks that no two calls raise a mark (the time up to which a worker may
// make keys) over the same time.
func testMarkAtOnce(t *testing.T, o Options) {
	const stores, each, rounds = 4, 2, 30
	st := marked(t)
	var mu sync.Mutex
	taken := map[int64]int64{} // the mark (the time up to which a worker may make keys) after each call, by the mark before the call
	var group sync.WaitGroup
	for range stores {
		s := o.open(t)
		for i := range each {
			m := s.Marker(st, 1, "a")
			group.Go(func() {
				until := int64(0)
				for range rounds {
					until += int64(7 + i)
					before, err := m.Mark(t.Context(), until)
					if err != nil {
						t.Errorf("Mark(%d): %v", until, err)
						return
					}
					if before >= until {
						until = before
						continue // the call has not raised the mark, so this caller has got no time
					}
					mu.Lock()
					if other, twice := taken[before]; twice {
						t.Errorf("the time from %d on was given up to %d and up to %d", before, other, until)
					}
					taken[before] = until
					mu.Unlock()
				}
			})
		}
	}
	group.Wait()
	// Follow the calls from 0 on: the mark after one call is the mark before the next one.
	at, n := int64(0), 0
	for until, ok := taken[at]; ok; until, ok = taken[at] {
		at, n = until, n+1
	}
	if n != len(taken) || n < rounds {
		t.Errorf("%d of %d calls follow each other", n, len(taken))
	}
}

// testBind checks that a column has one state (the stored counter of its keys), with the
// parameters with which it was bound first.
func testBind(t *testing.T, o Options) {
	s, two := o.open(t), o.open(t)
	column := name("orders") + ".id"
	st, _ := state(1)
	other, _ := state(1)
	bind := func(s keysource.Store, st keysource.State, column string) error {
		return s.Bind(t.Context(), st, column)
	}
	for _, s := range []keysource.Store{s, two, s} {
		if err := bind(s, st, column); err != nil {
			t.Errorf("Bind: %v", err)
		}
	}
	wantState(t, "another state", bind(two, other, column))
	changed := st
	changed.Parameters = "q"
	wantState(t, "other parameters", bind(two, changed, column))
	if err := bind(two, st, column); err != nil {
		t.Errorf("Bind after others were refused: %v", err)
	}
	for what, c := range map[string]string{"another column": column + "2", "a schema": "shop." + column, "odd letters": column + "/ä b"} {
		if err := bind(two, other, c); err != nil {
			t.Errorf("Bind to %s: %v", what, err)
		}
		wantState(t, what, bind(s, st, c))
	}
	if err := bind(s, st, column+"3"); err != nil {
		t.Errorf("Bind of a state to one more column: %v", err)
	}
}

// testBindAtOnce checks that exactly one of several states (stored counters) is bound to a
// column if all of them are bound to it at once.
func testBindAtOnce(t *testing.T, o Options) {
	const states, rounds = 4, 10
	var open []keysource.Store
	for range states {
		open = append(open, o.open(t))
	}
	for range rounds {
		column := name("orders") + ".id"
		errs := make([]error, states)
		var group sync.WaitGroup
		for i := range states {
			st, _ := state(1)
			group.Go(func() { errs[i] = open[i].Bind(t.Context(), st, column) })
		}
		group.Wait()
		bound := 0
		for _, err := range errs {
			if err == nil {
				bound++
				continue
			}
			wantState(t, "Bind at once", err)
		}
		if bound != 1 {
			t.Errorf("%d states were bound to one column", bound)
		}
	}
}
