package counting_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// seqMutants are sequences that are wrong in one way each. They are made by
// what stands around the code under test, which is the real one.
var seqMutants = []seqMutant{
	{
		name:   "block kept before its reservation was committed",
		law:    "unique",
		mutate: mutate{wire: func(c *sim.Conn) { c.Early = true }},
	},
	{
		name:   "answer to an old request accepted",
		law:    "unique",
		mutate: mutate{wire: func(c *sim.Conn) { c.Unpaired = true }},
	},
	{
		name:   "no floor carried to the store",
		law:    "unique",
		store:  func(inner *simStore, _ *counting.Sequence) keysource.Reserver { return floorless{inner} },
		source: func(s simSequence) sim.Source { return forgetful{s} },
	},
	{
		name:  "another server goes unnoticed",
		law:   "compared",
		store: func(inner *simStore, _ *counting.Sequence) keysource.Reserver { return nameless{inner} },
	},
	{
		name:   "fetched block used after Drop",
		law:    "dropped",
		source: func(s simSequence) sim.Source { return keepsSpare{s} },
	},
	{
		name:   "block in flight used after Drop",
		law:    "dropped",
		source: func(s simSequence) sim.Source { return keepsFetch{s} },
	},
	{
		name:  "one integer past the end of the block",
		law:   "unique",
		store: func(inner *simStore, _ *counting.Sequence) keysource.Reserver { return short{inner} },
	},
	{
		name:   "a row raised by one integer less than is reserved",
		law:    "unique",
		mutate: mutate{db: simPostgreSQL, edit: inSequence("next_value + $1", "next_value + $1 - 1")},
	},
	{
		name:   "a row lowered where it is to be advanced",
		law:    "unique",
		mutate: mutate{db: simPostgreSQL, edit: inSequence("GREATEST(next_value, $1)", "$1")},
	},
	{
		name:   "one request over two blocks that do not meet",
		law:    "contiguous",
		source: func(s simSequence) sim.Source { return patchwork{s} },
	},
}

// inSequence returns an edit of the statements that change the row.
func inSequence(old, replaced string) func(string) string {
	return func(text string) string {
		if strings.HasPrefix(text, "UPDATE "+seqTable) {
			return strings.ReplaceAll(text, old, replaced)
		}
		return text
	}
}

// floorless passes no seen integers to the store.
type floorless struct{ *simStore }

func (s floorless) Reserve(ctx context.Context, n, _ int64) (keysource.Reservation, error) {
	return s.simStore.Reserve(ctx, n, 0)
}

// forgetful does not know it either.
type forgetful struct{ simSequence }

func (s forgetful) Next(ctx context.Context, n int) ([]int64, error) {
	s.Forget()
	return s.simSequence.Next(ctx, n)
}

// nameless does not say which server has answered.
type nameless struct{ *simStore }

func (s nameless) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	r, err := s.simStore.Reserve(ctx, n, seen)
	r.Server = ""
	return r, err
}

type keepsSpare struct{ simSequence }

func (s keepsSpare) Drop() { s.DropCurrent() }

type keepsFetch struct{ simSequence }

func (s keepsFetch) Drop() { s.DropInHand() }

// short reserves one integer less than it says.
type short struct{ *simStore }

func (s short) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	return s.simStore.Reserve(ctx, max(n-1, 1), seen)
}

// patchwork makes up a request of what is left in the block in hand, and what
// comes after it.
type patchwork struct{ simSequence }

func (s patchwork) Next(ctx context.Context, n int) ([]int64, error) {
	left := int(s.InHand())
	if left == 0 || left >= n {
		return s.simSequence.Next(ctx, n)
	}
	keys, err := s.simSequence.Next(ctx, left)
	if err != nil {
		return nil, err
	}
	more, err := s.simSequence.Next(ctx, n-left)
	if err != nil {
		return nil, err
	}
	return append(keys, more...), nil
}

// TestSequenceMutants: the simulation finds every mutant.
func TestSequenceMutants(t *testing.T) {
	for _, m := range testturn.Some(t, seqMutants, 3) {
		t.Run(m.name, func(t *testing.T) { seqTrial(m).Find(t, m.law, 10_000) })
	}
}

// TestSequenceSimulationMeetsEverything: a simulation in which nothing goes
// wrong finds nothing.
func TestSequenceSimulationMeetsEverything(t *testing.T) {
	sim.NeedsAll(t)
	met := map[string]int{}
	trial := seqTrial(seqMutant{})
	check := trial.Check
	trial.Check = func(w *sim.World) {
		check(w)
		met["statement"] += len(w.Issues)
		met["drop"] += len(w.Drops)
		for _, c := range w.Server.Commits() {
			met[c.Note]++
			if c.Lost {
				met["lost "+c.Note]++
			}
		}
		for _, i := range w.Issues {
			if slices.ContainsFunc(w.Server.Commits(), func(c *sim.Commit) bool {
				return reserves(c, i.Keys[0]) && !reserves(c, i.Keys[len(i.Keys)-1])
			}) {
				met["statement over two blocks"]++
			}
		}
	}
	var mu sync.Mutex // requests fail in several goroutines
	allow := trial.Allow
	trial.Allow = func(w *sim.World, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, cause := range []error{keysource.ErrStoreDown, keysource.ErrStoreBack, keysource.ErrStoreBehind} {
			if errors.Is(err, cause) {
				met[cause.Error()]++
			}
		}
		return allow(w, err)
	}
	for seed := range uint64(100) {
		if w := trial.One(t, seed); len(w.Broken()) > 0 {
			t.Errorf("seed %d: %s", seed, w.Broken())
		}
	}
	for _, what := range []string{"statement", "drop", seqReserve, seqAdvance, seqMaxKey, "lost " + seqReserve,
		"lost " + seqAdvance, "statement over two blocks", keysource.ErrStoreDown.Error(),
		keysource.ErrStoreBack.Error(), keysource.ErrStoreBehind.Error()} {
		if met[what] < 5 {
			t.Errorf("%s: only %d times in all", what, met[what])
		}
	}
	t.Log(met)
}
