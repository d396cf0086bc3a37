package counting_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

const (
	str   = dialect.SequentialAsString
	bin   = dialect.SequentialAsBinary
	atEnd = dialect.SequentialAtEnd
)

// instant is the time of the first GUID in the article that the combs are from.
var instant = time.Date(2012, 6, 2, 0, 11, 11, 814_000_000, time.UTC)

// frozen is a clock that stands still.
func frozen(t time.Time) func() time.Time {
	return func() time.Time { return t }
}

// setClock is a clock that shows what it was last set to.
type setClock struct{ t atomic.Pointer[time.Time] }

func newSetClock(t time.Time) *setClock {
	c := new(setClock)
	c.set(t)
	return c
}

func (c *setClock) set(t time.Time)    { c.t.Store(&t) }
func (c *setClock) now() time.Time     { return *c.t.Load() }
func (c *setClock) env() keysource.Env { return keysource.Env{Now: c.now} }

// lawKeys returns of how many keys a law is shown: a million, and a tenth of them with
// -short, where tests go by turns, or under the race detector, under which a key takes ten
// times as long. "make everything" shows the laws of this package without the race
// detector too.
func lawKeys(t testing.TB) int {
	if testing.Short() || raceEnabled || testturn.Enabled(t) {
		return 100_000
	}
	return 1_000_000
}

func perKey(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}

// articleK is the k that the article on coprime stepping recommends for n = 62⁶,
// which is less: it is reduced.
const articleK = 67 * 71 * 73 * 79 * 83 * 89

func newCoprime(t testing.TB, o keysource.CoprimeOptions) *keysource.Coprime {
	t.Helper()
	c, err := keysource.NewCoprime(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ring lets goroutines draw one after the other: each hands the last key to the next one.
// Draw complains about keys that are not greater than the last one, and returns the greatest.
func ring[K any](t *testing.T, links int, draw func(link int, last K) (K, error)) {
	const goroutines = 8
	type token struct {
		last  K
		links int
	}
	var hands [goroutines]chan token
	for i := range hands {
		hands[i] = make(chan token, 1)
	}
	var wg sync.WaitGroup
	for i := range hands {
		wg.Go(func() {
			to := hands[(i+1)%goroutines]
			defer close(to)
			for tok := range hands[i] {
				if tok.links == 0 {
					return
				}
				last, err := draw(tok.links, tok.last)
				if err != nil {
					t.Errorf("%d links to go: %v", tok.links, err)
					return
				}
				to <- token{last, tok.links - 1}
			}
		})
	}
	hands[0] <- token{links: links}
	wg.Wait()
}
