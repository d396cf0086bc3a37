package keysource_test

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
		name: "block used before its reservation was committed",
		law:  "unique",
		conn: func(c *sim.Conn) { c.Early = true },
	},
	{
		name: "answer to an old request accepted",
		law:  "reserved",
		conn: func(c *sim.Conn) { c.Unpaired = true },
	},
	{
		name:  "one integer past the end of the block",
		law:   "unique",
		rules: serRules{shortened: true},
	},
	{
		name:  "<= for < at the end of the lease",
		law:   "leased",
		rules: serRules{early: true},
	},
	{
		name:  "<= for < at the end of the series",
		law:   "spent",
		rules: serRules{edge: true},
	},
	{
		name:  "the client's clock for the server's",
		law:   "leased",
		rules: serRules{client: true},
	},
	{
		name:  "no owner and no epoch in the WHERE",
		law:   "owned",
		rules: serRules{anybody: true},
	},
	{
		name:  "max() instead of the counter",
		law:   "unique",
		rules: serRules{fromMax: true},
	},
	{
		name:  "used-up series taken over",
		law:   "spent",
		rules: serRules{spent: true},
	},
	{
		name:  "own series kept while taking over another",
		law:   "one",
		rules: serRules{keeps: true},
	},
	{
		name:  "rest given back twice",
		law:   "unique",
		rules: serRules{blind: true},
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
				old, had := change.Old.(serRow)
				now, has := change.New.(serRow)
				switch {
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
		met[err.Error()[:min(len(err.Error()), 40)]]++
		mu.Unlock()
		return allow(w, err)
	}
	for seed := range uint64(200) {
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
