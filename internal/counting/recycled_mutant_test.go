package counting_test

import (
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// serMutants are series that are wrong in one way each. They are made by what
// stands around the code under test, which is the real one.
var serMutants = []serMutant{
	{
		name:   "block used before its reservation was committed",
		law:    "unique",
		mutate: mutate{db: simPostgreSQL, wire: func(c *sim.Conn) { c.Early = true }},
	},
	{
		name:   "answer to an old request accepted",
		law:    "reserved",
		mutate: mutate{wire: func(c *sim.Conn) { c.Unpaired = true }},
	},
	{
		name:   "one integer past the end of the block",
		law:    "unique",
		mutate: mutate{edit: shortMove},
	},
	{
		name:   "<= for < at the end of the lease",
		law:    "leased",
		mutate: mutate{edit: earlyLease},
	},
	{
		name:   "<= for < at the end of the series",
		law:    "spent",
		mutate: mutate{edit: edgeLeft},
	},
	{
		name:   "the client's clock for the server's",
		law:    "leased",
		mutate: mutate{edit: clientLease},
	},
	{
		name:   "no owner and no epoch in the WHERE",
		law:    "owned",
		mutate: mutate{db: simPostgreSQL, edit: anybodyMoves},
	},
	{
		name:   "max() instead of the counter",
		law:    "unique",
		mutate: mutate{edit: fromRows, db: simPostgreSQL},
	},
	{
		name:   "used-up series taken over",
		law:    "spent",
		mutate: mutate{edit: spentLeft},
	},
	{
		name:  "own series kept while taking over another",
		law:   "one",
		store: func(s keysource.SeriesStore) keysource.SeriesStore { return keeper{s, new(sync.Map)} },
	},
	{
		name:   "the lease not compared where a series is taken over",
		law:    "leased",
		mutate: mutate{edit: in("UPDATE", " AND leased_until < clock_timestamp()", "", " AND leased_until < UTC_TIMESTAMP(6)", "")},
	},
	{
		name:   "what is left not compared where a used-up series is removed",
		law:    "spent",
		mutate: mutate{edit: edits(in("DELETE", "next_value > series_last", "1 = 1"), in("SELECT", "next_value > series_last", "1 = 1"))},
	},
	{
		name:   "rest given back twice",
		law:    "unique",
		mutate: mutate{db: simMariaDB, edit: blindGiveUp},
		store:  func(s keysource.SeriesStore) keysource.SeriesStore { return twice{s} },
	},
}

// TestRecycledMutants: the simulation finds every mutant.
func TestRecycledMutants(t *testing.T) {
	for _, m := range testturn.Some(t, serMutants, 3) {
		t.Run(m.name, func(t *testing.T) { serTrial(m).Find(t, m.law, 10_000) })
	}
}

// TestRecycledSimulationMeetsEverything: a simulation in which nothing goes
// wrong finds nothing.
func TestRecycledSimulationMeetsEverything(t *testing.T) {
	sim.NeedsAll(t)
	var mu sync.Mutex // requests fail in several goroutines
	met := map[string]int{}
	trial := serTrial(serMutant{})
	check := trial.Check
	trial.Check = func(w *sim.World) {
		check(w)
		met["drop"] += len(w.Drops)
		met["advance"] += len(w.Follows)
		for _, c := range w.Server.Commits() {
			met[c.Note]++
			if c.Lost {
				met["lost "+c.Note]++
			}
			for _, change := range c.Changes {
				old, had := serRowOf(change.Old)
				now, has := serRowOf(change.New)
				switch {
				case !had && !has:
				case had && !has:
					met["removed"]++
				case c.Note == serGiveUp && now.next < old.next:
					met["given back"]++
				case c.Note == serTake && old.owner != "":
					met["taken over after the lease"]++
				}
			}
		}
	}
	allow := trial.Allow
	trial.Allow = func(w *sim.World, err error) bool {
		mu.Lock()
		met[err.Error()[:min(len(err.Error()), 60)]]++
		mu.Unlock()
		return allow(w, err)
	}
	for seed := range uint64(100) {
		if w := trial.One(t, seed); len(w.Broken()) > 0 {
			t.Errorf("seed %d: %s", seed, w.Broken())
		}
	}
	for _, what := range []string{"drop", "advance", serMove, serTake, serOpen, serGiveUp, "lost " + serMove, "lost " + serTake,
		"lost " + serOpen, "removed", "given back", "taken over after the lease", anchor.Plain(keysource.ErrStoreDown.Error()),
		anchor.Plain(keysource.ErrStoreBack.Error())} {
		n := 0
		for text, times := range met {
			if len(text) >= len(what) && text[:len(what)] == what {
				n += times
			}
		}
		if n < 5 {
			t.Errorf("%s: only %d times in all", what, n)
		}
	}
	t.Log(met)
}
