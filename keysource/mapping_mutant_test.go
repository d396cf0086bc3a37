package keysource_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// mapMutants are mappings that are wrong in one way each.
var mapMutants = []mapMutant{
	{
		name: "coprime: k has a divisor in common with n",
		kind: simCoprime,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			c := m.mapped.(mappedText).Coprime
			n := c.Last()
			k := int64(2)
			for keysource.GCD(k, n) == 1 {
				k++
			}
			return each(func(number int64) any { return c.WithStep(k).Text(number) }), m.max
		},
	},
	{
		name: "coprime: a number too late to the longer texts",
		kind: simGrowing,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			return each(func(number int64) any { return m.mapped.(mappedText).TextLate(number) }), m.max
		},
	},
	{
		name: "coprime: from number 0 on",
		kind: simClosed,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			return each(func(number int64) any { return m.mapped.(mappedText).Text(number - 1) }), m.max + 1
		},
	},
	{
		name: "coprime: one number more than there are",
		kind: simClosed,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			return each(func(number int64) any { return m.mapped.(mappedText).TextLate(number) }), m.max + 1
		},
	},
	{
		name: "pseudorandom: the article's misprint",
		kind: simPseudorandom,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			modulus := m.Last() + 1
			multiplier := m.Key(1, "").(int64)
			return each(func(seed int64) any {
				return articleKey(seed, multiplier, modulus, modulus-100)
			}), m.max
		},
	},
	{
		name: "pseudorandom: seeds from 0 to the modulus",
		kind: simPseudorandom,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			modulus := m.Last() + 1
			multiplier := m.Key(1, "").(int64)
			return each(func(number int64) any { return (number - 1) * multiplier % modulus }), m.max + 2
		},
	},
	{
		name: "scatter: a round that cannot be undone",
		kind: simScatter,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			s := m.mapped.(mappedInteger).integerMapping.(*keysource.Scatter)
			return each(func(number int64) any { return int64(s.PermuteBadly(uint64(number))) }), m.max
		},
	},
	{
		name: "scatter: from number 0 to one more than there are",
		kind: simScatter,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			s := m.mapped.(mappedInteger).integerMapping.(*keysource.Scatter)
			return each(func(number int64) any {
				return int64(s.Permute(uint64((number - 1) % (m.Last() + 1))))
			}), m.max + 2
		},
	},
}

// simGrowing is simCoprime with texts of two lengths alone, simClosed with texts of one.
func simGrowing(r *rand.Rand, _ bool) mapped {
	for {
		if m := simCoprime(r, true).(mappedText); m.Width() > len(m.Text(1)) {
			return m
		}
	}
}

func simClosed(r *rand.Rand, _ bool) mapped {
	for {
		m := simCoprime(r, true).(mappedText)
		if m.Width() == len(m.Text(1)) && m.Text(m.Last()) == m.Text(0) {
			return m
		}
	}
}

// TestMappingMutants: the simulation finds every mutant.
func TestMappingMutants(t *testing.T) {
	for _, m := range testturn.Some(t, mapMutants, 3) {
		t.Run(m.name, func(t *testing.T) { mapTrial(m).Find(t, "unique", 10_000) })
	}
}

// TestMappingSimulationMeetsEverything: worlds in which the numbers are used up,
// and such in which they are not; coprime goes on with longer texts.
func TestMappingSimulationMeetsEverything(t *testing.T) {
	sim.NeedsAll(t)
	kinds := map[string]func(*rand.Rand, bool) mapped{
		"coprime": simCoprime, "pseudorandom": simPseudorandom, "scatter": simScatter,
	}
	for _, name := range testturn.Some(t, slices.Sorted(maps.Keys(kinds)), len(kinds)) {
		kind := kinds[name]
		t.Run(name, func(t *testing.T) {
			met := map[string]int{}
			var mu sync.Mutex // requests fail in several goroutines
			trial := mapTrial(mapMutant{kind: kind})
			allow, check := trial.Allow, trial.Check
			trial.Allow = func(w *sim.World, err error) bool {
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, keysource.ErrExhausted) {
					met["exhausted"]++
				}
				return allow(w, err)
			}
			trial.Check = func(w *sim.World) {
				check(w)
				c := newMapConfig(w, mapMutant{kind: kind})
				met["statement"] += len(w.Issues)
				for _, i := range w.Issues {
					for _, key := range i.Keys {
						switch c.number(key) {
						case 1:
							met["the first key"]++
						case c.max:
							met["the last key"]++
						}
					}
				}
				if reservedTo(w) < c.max {
					met["world with numbers left"]++
				}
			}
			for seed := range uint64(200) {
				if w := trial.One(t, seed); len(w.Broken()) > 0 {
					t.Errorf("seed %d: %s", seed, w.Broken())
				}
			}
			for _, what := range []string{"statement", "exhausted", "the first key", "the last key", "world with numbers left"} {
				if met[what] < 5 {
					t.Errorf("%s: only %d times in all", what, met[what])
				}
			}
			t.Log(met)
		})
	}
}
