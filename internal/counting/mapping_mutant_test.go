package counting_test

import (
	"database/sql/driver"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
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
			n := m.Last()
			k := int64(2)
			for n%k != 0 {
				k++
			}
			return each(func(number int64) any { return m.Key(1+(number-1)*k%n, "") }), m.max
		},
	},
	{
		name: "coprime: a number too late to the longer texts",
		kind: simGrowing,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			short := firstLonger(m) - 1
			return each(func(number int64) any {
				if number == short+1 {
					return m.Key(1, "") // the first texts begin again
				}
				return m.Key(number, "")
			}), m.max
		},
	},
	{
		name: "coprime: from number 0 on",
		kind: simClosed,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			return each(func(number int64) any {
				if number == 1 {
					return m.Key(m.Last(), "") // the texts are a circle
				}
				return m.Key(number-1, "")
			}), m.max + 1
		},
	},
	{
		name: "coprime: one number more than there are",
		kind: simClosed,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			return each(func(number int64) any { return m.Key((number-1)%m.Last()+1, "") }), m.max + 1
		},
	},
	{
		name: "pseudorandom: the article's misprint",
		kind: smallPseudorandom,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			p := m.mapped.(smallGenerator)
			return each(func(seed int64) any {
				return articleKey(seed, p.multiplier, p.modulus, p.modulus-100)
			}), m.max
		},
	},
	{
		name: "pseudorandom: seeds from 0 to the modulus",
		kind: smallPseudorandom,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			p := m.mapped.(smallGenerator)
			return each(func(number int64) any { return (number - 1) * p.multiplier % p.modulus }), m.max + 2
		},
	},
	{
		name: "scatter: a round that cannot be undone",
		kind: smallScatter,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			n := m.mapped.(smallNetwork)
			return each(func(number int64) any { return n.permute(number, true) }), m.max
		},
	},
	{
		name: "scatter: from number 0 to one more than there are",
		kind: smallScatter,
		keys: func(m simMapping) (func(int64, int) ([]int64, error), int64) {
			n := m.mapped.(smallNetwork)
			return each(func(number int64) any { return n.permute((number-1)%(n.Last()+1), false) }), m.max + 2
		},
	},
}

// simGrowing is simCoprime with texts of two lengths alone, simClosed with texts of one
// that are a circle: after the last one comes the first.
func simGrowing(r *rand.Rand, _ bool) (mapped, int64) {
	for {
		if m, last := simCoprime(r, true); m.(mappedText).Width() > len(m.Key(1, "").(string)) {
			return m, last
		}
	}
}

func simClosed(r *rand.Rand, _ bool) (mapped, int64) {
	c, err := keysource.NewCoprime([]keysource.CoprimeOptions{
		{Length: 3, Alphabet: "0123456789"},
		{Length: 2, Alphabet: keysource.AlphabetBase62, K: articleK, Start: 3843},
	}[r.IntN(2)])
	if err != nil {
		panic(err) // not a matter of any seed
	}
	return mappedText{c}, c.Last()
}

// firstLonger returns the first number whose text is longer than the text of number 1.
func firstLonger(m keysource.Mapping) int64 {
	short := len(m.Key(1, "").(string))
	return int64(sort.Search(int(m.Last()), func(i int) bool { return len(m.Key(int64(i)+1, "").(string)) > short })) + 1
}

// smallGenerator is the generator of Park and Miller with a small modulus, so that a
// world uses it up.
type smallGenerator struct{ multiplier, modulus int64 }

func smallPseudorandom(r *rand.Rand, _ bool) (mapped, int64) {
	// Primes, and multipliers near their roots.
	m := []smallGenerator{{16, 257}, {29, 1021}, {47, 2221}, {87, 7919}}[r.IntN(4)]
	return m, m.Last()
}

func (p smallGenerator) Key(number int64, _ dialect.Layout) driver.Value {
	return number * p.multiplier % p.modulus
}

func (p smallGenerator) Last() int64 { return p.modulus - 1 }

func (p smallGenerator) Parameters() string { return "small" }

func (p smallGenerator) numberOf(key driver.Value) (int64, error) {
	for number := range p.Last() {
		if p.Key(number+1, "") == key {
			return number + 1, nil
		}
	}
	return 0, keysource.ErrOtherKey
}

// articleKey is the procedure of the article: the remainder by Schrage's method, and
// what is added where that is not positive.
func articleKey(seed, multiplier, modulus, added int64) int64 {
	quotient, remainder := modulus/multiplier, modulus%multiplier
	key := multiplier*(seed%quotient) - remainder*(seed/quotient)
	if key <= 0 {
		key += added
	}
	return key
}

// smallNetwork is a Feistel network as a scatter has it, of few bits.
type smallNetwork struct {
	half int // of the bits
	keys [4]uint64
}

func smallScatter(r *rand.Rand, _ bool) (mapped, int64) {
	n := smallNetwork{half: 3 + r.IntN(4)}
	for i := range n.keys {
		n.keys[i] = r.Uint64()
	}
	return n, n.Last()
}

// permute applies the network. Badly, its third round does not add to the left part but
// replaces it.
func (n smallNetwork) permute(x int64, badly bool) int64 {
	mask := int64(1)<<n.half - 1
	left, right := x>>n.half, x&mask
	for i, key := range n.keys {
		if badly && i == 2 {
			left = 0
		}
		rest := (uint64(right) ^ key) * 0x9e3779b97f4a7c15
		left, right = right, left^int64(rest>>(64-n.half))
	}
	return left<<n.half | right
}

// Key returns the key of a number: a permutation of 1 to Last.
func (n smallNetwork) Key(number int64, _ dialect.Layout) driver.Value {
	for {
		if number = n.permute(number, false); number != 0 {
			return number
		}
	}
}

func (n smallNetwork) Last() int64 { return 1<<(2*n.half) - 1 }

func (n smallNetwork) Parameters() string { return "small" }

func (n smallNetwork) numberOf(key driver.Value) (int64, error) {
	for number := range n.Last() {
		if n.Key(number+1, "") == key {
			return number + 1, nil
		}
	}
	return 0, keysource.ErrOtherKey
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
	kinds := map[string]func(*rand.Rand, bool) (mapped, int64){
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
