package counting_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/keysource"
)

// simMapping is a mapping as the simulation needs it: with keys that are
// integers.
type simMapping struct {
	mapped
	// keys returns the keys of n numbers; a mutant has others.
	keys func(first int64, n int) ([]int64, error)
	max  int64 // of the sequence
}

func newSimMapping(m mapped, last int64) simMapping {
	return simMapping{mapped: m, max: last, keys: func(first int64, n int) ([]int64, error) {
		values, err := mapping.Keys(m, first, n, "")
		keys := make([]int64, len(values))
		for i, v := range values {
			keys[i] = encoded(v)
		}
		return keys, err
	}}
}

// each makes the keys of a statement of the keys of single numbers.
func each(key func(number int64) any) func(int64, int) ([]int64, error) {
	return func(first int64, n int) ([]int64, error) {
		keys := make([]int64, n)
		for i := range keys {
			keys[i] = encoded(key(first + int64(i)))
		}
		return keys, nil
	}
}

// keyCharacters are all that a key may have. None is worth 0 here, so that texts
// of different lengths are different integers.
const keyCharacters = " 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

// encoded returns an integer for a key: itself, or one for each text of up to
// ten characters.
func encoded(key any) int64 {
	text, ok := key.(string)
	if !ok {
		return key.(int64)
	}
	var n int64
	for i := range len(text) {
		n = n*int64(len(keyCharacters)) + int64(strings.IndexByte(keyCharacters, text[i]))
	}
	return n
}

// number is the inverse of keys; 0 if the mapping has no such key.
func (m simMapping) number(key int64) int64 {
	var value any = key
	if _, ok := m.mapped.(mappedText); ok {
		var text []byte
		for ; key > 0; key /= int64(len(keyCharacters)) {
			text = append(text, keyCharacters[key%int64(len(keyCharacters))])
		}
		slices.Reverse(text)
		value = string(text)
	}
	n, err := m.numberOf(value)
	if err != nil {
		return 0
	}
	return n
}

// mapConfig is what a seed draws for all processes of its world: mostly few
// numbers, which are used up before the world ends.
type mapConfig struct {
	seqConfig
	simMapping
}

func newMapConfig(w *sim.World, m mapMutant) mapConfig {
	c := mapConfig{seqConfig: newSeqConfig(w)}
	c.compares = false // the greatest key says nothing of the numbers
	c.opens = false    // a row that has gone is made again far above what was reserved
	r := rand.New(rand.NewPCG(w.Seed, 2))
	small := m.keys != nil || r.IntN(4) > 0
	c.simMapping = newSimMapping(m.kind(r, small))
	if m.keys != nil {
		c.keys, c.max = m.keys(c.simMapping)
	}
	return c
}

// mapMutant is a kind of mapping, and where keys is set a wrong one.
type mapMutant struct {
	name string
	kind func(r *rand.Rand, small bool) (m mapped, last int64) // the last number asked for
	// keys returns the keys of a mutant, and the last number that it asks for.
	keys func(simMapping) (keys func(first int64, n int) ([]int64, error), last int64)
}

func simCoprime(r *rand.Rand, small bool) (mapped, int64) {
	o := keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62, K: articleK}
	if small {
		o = []keysource.CoprimeOptions{
			{Length: 1, Alphabet: keysource.AlphabetBase62, K: articleK, Grow: true},
			{Length: 1, Grow: true, Start: 31},
			{Length: 2, Grow: true},
			{Length: 2, Alphabet: "0123456789", Grow: true, Start: 42},
			{Length: 3, Alphabet: "0123456789"},
			{Length: 2, Alphabet: keysource.AlphabetBase62, K: articleK, Start: 3843},
			{Length: 2, Residues: true, Start: 7},
		}[r.IntN(7)]
	}
	c, err := keysource.NewCoprime(o)
	if err != nil {
		panic(err) // not a matter of any seed
	}
	return mappedText{c}, c.Last()
}

func simPseudorandom(r *rand.Rand, small bool) (mapped, int64) {
	m := mappedInteger{keysource.NewPseudorandom()}
	if small {
		return m, []int64{256, 1020, 2220, 7918}[r.IntN(4)]
	}
	return m, m.Last()
}

func simScatter(r *rand.Rand, small bool) (mapped, int64) {
	s, err := keysource.NewScatter([]int{31, 53, 63}[r.IntN(3)], fmt.Sprint(r.Uint64()))
	if err != nil {
		panic(err) // not a matter of any seed
	}
	if small {
		return mappedInteger{s}, 1<<(7+r.IntN(7)) - 1
	}
	return mappedInteger{s}, s.Last()
}

// simMapped is a sequence with a mapping in a process of the simulation. It
// follows no keys that the application brings: those say nothing of numbers.
type simMapped struct {
	sequence *counting.Sequence
	c        mapConfig
	stores   *simStores
}

func (s simMapped) Next(ctx context.Context, n int) ([]int64, error) {
	first, err := s.sequence.Reserve(ctx, int64(n))
	if err != nil {
		return nil, err
	}
	return s.c.keys(first, n)
}

func (s simMapped) Drop() { s.sequence.Drop() }

func (s simMapped) Close(ctx context.Context) error {
	defer s.stores.close()
	return s.sequence.Close(ctx)
}

// mapTrial returns the trial of sequences with a mapping, or of a mutant of them. Beside
// the laws of package sim, of which "unique" is about the keys after the mapping, it
// checks the laws of [seqTrial] on the numbers that the keys lead back to, and
//
//	range    every key is one of the mapping's
//	spent    there is [keysource.ErrExhausted] when no statement's length of
//	         numbers is left, and not before
func mapTrial(m mapMutant) *sim.Trial {
	trial := seqTrial(seqMutant{})
	trial.Contiguous, trial.Ordered = false, false // that is for numbers
	trial.Seeds = 100
	trial.Open = func(p *sim.Process) (sim.Source, error) {
		c := newMapConfig(p.World, m)
		stores, store, err := seqStores(p, c.seqConfig, mutate{}, c.max)
		if err != nil {
			return nil, err
		}
		s, err := counting.NewSequence(counting.SequenceOptions{
			Reserver: store, Max: c.max,
			Block: c.block, MinBlock: c.least, MaxBlock: c.most,
			OnStoreRollback: c.back, OnBehind: c.behind,
		}, keysource.Env{Now: p.Now})
		if err != nil {
			return nil, err
		}
		store.sequence = s
		return simMapped{s, c, stores}, nil
	}
	trial.Excuse = func(w *sim.World, a, b sim.Issue, key int64) bool {
		return excuseLost(w, a, b, newMapConfig(w, m).number(key))
	}
	trial.Reserves = func(w *sim.World, c *sim.Commit, key int64) bool {
		return reserves(c, newMapConfig(w, m).number(key))
	}
	trial.Spent = func(w *sim.World, err error) bool {
		return errors.Is(err, keysource.ErrExhausted) && reservedTo(w)+mostRows > newMapConfig(w, m).max
	}
	allow := trial.Allow
	trial.Allow = func(w *sim.World, err error) bool { return trial.Spent(w, err) || allow(w, err) }
	trial.Repair = func(w *sim.World) {
		if newSeqConfig(w).back != keysource.RemedyAdvance && w.Server.Lost()+w.Server.Switches() > 0 {
			raiseSequence(w, reservedTo(w))
		}
	}
	trial.Check = func(w *sim.World) { checkMapped(w, newMapConfig(w, m)) }
	return trial
}

// mostRows is the greatest number of keys of a statement of the simulation.
const mostRows = 30

// checkMapped checks the numbers of all keys.
func checkMapped(w *sim.World, c mapConfig) {
	issues := slices.Clone(w.Issues)
	for i := range issues {
		keys := make([]int64, len(issues[i].Keys))
		for k, key := range issues[i].Keys {
			keys[k] = c.number(key)
			if keys[k] == 0 {
				w.Failf("range: process %d.%d handed out key %d, which the mapping does not have", issues[i].Process, issues[i].Life, key)
				return
			}
			if k > 0 && keys[k] != keys[k-1]+1 {
				w.Failf("contiguous: process %d.%d got numbers %v at %s", issues[i].Process, issues[i].Life, keys, issues[i].End)
				return
			}
		}
		issues[i].Keys = keys
	}
	checkNumbers(w, issues, c.seqConfig)
}

func TestCoprimeSimulation(t *testing.T) { mapTrial(mapMutant{kind: simCoprime}).Run(t) }

func TestPseudorandomSimulation(t *testing.T) { mapTrial(mapMutant{kind: simPseudorandom}).Run(t) }

func TestScatterSimulation(t *testing.T) { mapTrial(mapMutant{kind: simScatter}).Run(t) }
