package figures

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/keyfill/keyfill/bench/nulldriver"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/stats"
)

// The bounds of a database's cache of plans, see internal/keys/engine.go.
const (
	cacheEntries = 4096
	cacheBytes   = 16 << 20
)

// literal returns the n-th of many INSERTs that differ in a literal.
func literal(n int) string {
	return "INSERT INTO orders (customer, name, street, amount) VALUES (" + strconv.Itoa(n) + ", 'a name', 'a street and a town', 123.45)"
}

// Cache measures the cost of a program that writes its values into the text, so that no two
// statements have the same text.
func Cache(r Run) ([]Figure, error) {
	kept, err := keptBytes(r.times(1_000_000))
	if err != nil {
		return nil, err
	}
	var times Figure
	err = singly(func() (err error) {
		times, err = cacheTime(r)
		return err
	})
	return []Figure{
		absolute("1,000,000 different INSERTs: kept on the heap", Megabytes, kept/1e6, atMost(16)),
		times,
	}, err
}

// keptBytes returns by how much the heap has grown after n different INSERTs.
func keptBytes(n int) (float64, error) {
	l, err := openLayers(&nulldriver.Driver{}, "mysql", 1)
	if err != nil {
		return 0, err
	}
	if _, err := l[ours].Exec(ordersText, insertArgs...); err != nil {
		return 0, errors.Join(err, l.close())
	}
	before := heap()
	for i := range n {
		if _, err := l[ours].Exec(literal(i)); err != nil {
			return 0, errors.Join(err, l.close())
		}
	}
	after := heap()
	return max(0, float64(after)-float64(before)), l.close()
}

// heap returns the bytes of memory that can be reached.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the second collection frees what the first one has only marked in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cacheTime returns what the cache adds to the time of a statement: the time of a statement
// through keyfill, divided by the time without looking for its text and keeping its plan.
func cacheTime(r Run) (Figure, error) {
	l, err := openLayers(&nulldriver.Driver{}, "mysql", 1)
	if err != nil {
		return Figure{}, err
	}
	d := dialect.MySQL()
	lookup, cache, used := ordersLookup(d), plans.NewCache(cacheEntries, cacheBytes), 0
	var texts []string
	write := func(n int) error {
		texts = texts[:0]
		for range n {
			used++
			texts = append(texts, literal(used))
		}
		return nil
	}
	compiled := func(cache *plans.Cache) func(int) error {
		return func(int) error {
			for _, text := range texts {
				if _, ok := cache.Get(text); ok {
					return fmt.Errorf("figures: a text came twice")
				}
				cache.Put(text, compile.Query(d, lookup, text))
			}
			return nil
		}
	}
	samples, err := turns(r.Rounds, r.times(20_000), []Variant{
		{Name: ours, Setup: write, Run: func(int) error {
			for _, text := range texts {
				if _, err := l[ours].Exec(text); err != nil {
					return err
				}
			}
			return nil
		}},
		{Name: "cached", Setup: write, Run: compiled(cache)},
		{Name: "compiled", Setup: write, Run: func(int) error {
			for _, text := range texts {
				compile.Query(d, lookup, text)
			}
			return nil
		}},
	})
	if err := errors.Join(err, l.close()); err != nil {
		return Figure{}, err
	}
	var ratios []float64
	for i, whole := range samples[ours].CPU {
		ratios = append(ratios, whole/(whole-(samples["cached"].CPU[i]-samples["compiled"].CPU[i])))
	}
	return Figure{What: "different INSERTs: time of a statement", Against: "the same without the cache", Unit: Times,
		Value: stats.Of(ratios), Bar: atMost(1.05)}, nil
}
