package keysource_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// law is a source and what it promises.
type law struct {
	name    string
	make    func(keysource.Env) keysource.Source
	layouts []dialect.Layout
	traits  keysource.Traits
	ascends bool // within a request
	counts  bool // unique without entropy
}

// The forms of keys as text.
var (
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	ulidForm   = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	typeIDForm = regexp.MustCompile(`^shop_cus_[0-7][0-9a-hjkmnp-tv-z]{25}$`)
)

func newTypeID(e keysource.Env) keysource.Source { return rowsTypeID(e) }

func rowsTypeID(e keysource.Env) keysource.RowSource {
	s, err := keysource.NewTypeID(e, "shop_cus")
	if err != nil {
		panic(err)
	}
	return s
}

var laws = []law{
	{
		name:    "uuidv7",
		make:    func(e keysource.Env) keysource.Source { return keysource.NewUUIDv7(e) },
		layouts: []dialect.Layout{str, bin, atEnd},
		traits:  keysource.Traits{Ordered: true},
		ascends: true,
		counts:  true,
	},
	{
		name:    "uuidv4",
		make:    func(e keysource.Env) keysource.Source { return keysource.NewUUIDv4(e) },
		layouts: []dialect.Layout{str, bin, atEnd},
	},
	{
		name:    "ulid",
		make:    func(e keysource.Env) keysource.Source { return keysource.NewULID(e) },
		layouts: []dialect.Layout{str, bin},
		traits:  keysource.Traits{Ordered: true, Text: true},
		ascends: true,
		counts:  true,
	},
	{
		name:    "typeid",
		make:    newTypeID,
		layouts: []dialect.Layout{str, bin, atEnd},
		traits:  keysource.Traits{Ordered: true, Text: true},
		ascends: true,
		counts:  true,
	},
	{
		name: "comb dotnet",
		make: func(e keysource.Env) keysource.Source {
			return keysource.NewCOMB(e, keysource.EpochDotNet)
		},
		layouts: []dialect.Layout{str, bin, atEnd},
		ascends: true,
	},
	{
		name: "comb unix",
		make: func(e keysource.Env) keysource.Source {
			return keysource.NewCOMB(e, keysource.EpochUnix)
		},
		layouts: []dialect.Layout{str, bin, atEnd},
		ascends: true,
	},
}

func TestTraits(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			if got := l.make(keysource.Env{}).Traits(); got != l.traits {
				t.Errorf("Traits() = %+v, want %+v", got, l.traits)
			}
		})
	}
}

func TestDriverTypes(t *testing.T) {
	for _, l := range laws {
		for _, layout := range l.layouts {
			t.Run(l.name+"/"+string(layout), func(t *testing.T) {
				s := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
				for _, key := range next(t, s, layout, 100) {
					switch k := key.(type) {
					case []byte:
						if layout != bin || len(k) != 16 || cap(k) != 16 {
							t.Fatalf("%d bytes of %d", len(k), cap(k))
						}
					case string:
						form := uuidForm
						switch {
						case l.name == "ulid":
							form = ulidForm
						case l.traits.Text && layout == str:
							form = typeIDForm
						}
						if layout == bin || !form.MatchString(k) {
							t.Fatalf("%q", k)
						}
					default:
						t.Fatalf("key of type %T", key)
					}
				}
			})
		}
	}
}

func TestCount(t *testing.T) {
	for _, l := range laws {
		for _, n := range []int{0, -1} {
			t.Run(fmt.Sprintf("%s/%d", l.name, n), func(t *testing.T) {
				keys, err := l.make(keysource.Env{}).Next(t.Context(), keysource.Request{N: n, Layout: str})
				if !errors.Is(err, keysource.ErrCount) || keys != nil {
					t.Errorf("Next = %d keys, %v, want none, ErrCount", len(keys), err)
				}
			})
		}
	}
}

// TestZeroEnv shows that the zero Env is the system's clock, which in a bubble
// begins with the year 2000, and entropy that is not all the same.
func TestZeroEnv(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := l.make(keysource.Env{})
				key, other := text(t, next(t, s, str, 1)[0]), text(t, next(t, s, str, 1)[0])
				if key[len(key)-8:] == other[len(other)-8:] {
					t.Errorf("%s and %s have the same random bits", key, other)
				}
				readings, err := keysource.Inspect(key)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range readings {
					if r.Time.Equal(time.Now()) || r.Kind == l.name && r.Time.IsZero() {
						return
					}
				}
				t.Errorf("%s is not of %v: %+v", key, time.Now(), readings)
			})
		})
	}
}

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

func TestUnique(t *testing.T) {
	const goroutines = 16
	total := lawKeys(t)
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			env := keysource.Env{Now: frozen(instant), Rand: newStream()}
			if l.counts {
				env.Rand = zeros{}
			}
			s := l.make(env)
			made := make([][][16]byte, goroutines)
			begin := make(chan struct{})
			var wg sync.WaitGroup
			for g := range made {
				wg.Go(func() {
					<-begin
					sizes := []int{1, 7, 2}
					for i := 0; len(made[g]) < total/goroutines; i++ {
						n := min(sizes[i%len(sizes)], total/goroutines-len(made[g]))
						keys, err := s.Next(t.Context(), keysource.Request{N: n, Layout: bin})
						if err != nil {
							t.Error(err)
							return
						}
						for _, key := range keys {
							made[g] = append(made[g], [16]byte(key.([]byte)))
						}
					}
				})
			}
			close(begin)
			wg.Wait()
			seen := make(map[[16]byte]struct{}, total)
			for _, keys := range made {
				for _, key := range keys {
					seen[key] = struct{}{}
				}
			}
			if len(seen) != total {
				t.Errorf("%d of %d keys are different", len(seen), total)
			}
		})
	}
}

// TestOrder takes keys in a ring of goroutines, each handing the last key to
// the next goroutine: every key must be greater than all before it.
func TestOrder(t *testing.T) {
	const links = 4000
	clocks := []struct {
		name string
		now  func() func() time.Time
	}{
		{"frozen", func() func() time.Time { return frozen(instant) }},
		{"steady", func() func() time.Time { return (&walker{start: instant, step: time.Microsecond}).now }},
		{"system", func() func() time.Time { return nil }},
	}
	for _, back := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
		clocks = append(clocks, struct {
			name string
			now  func() func() time.Time
		}{"back " + back.String(), func() func() time.Time {
			return (&walker{start: instant, step: time.Microsecond, back: back, turn: links / 2}).now
		}})
	}
	for _, l := range laws {
		if !l.traits.Ordered {
			continue
		}
		for _, clock := range clocks {
			for _, layout := range l.layouts {
				t.Run(fmt.Sprintf("%s/%s/%s", l.name, clock.name, layout), func(t *testing.T) {
					// In a bubble the second for which a source waits takes no time.
					synctest.Test(t, func(t *testing.T) {
						s := l.make(keysource.Env{Now: clock.now(), Rand: newStream()})
						ring(t, links, func(link int, last string) (string, error) {
							keys, err := s.Next(t.Context(), keysource.Request{N: 1 + link%3, Layout: layout})
							if err != nil {
								return "", err
							}
							for _, key := range keys {
								k := indexed(t, layout, key)
								if k <= last {
									return "", fmt.Errorf("%x follows %x", k, last)
								}
								last = k
							}
							return last, nil
						})
					})
				})
			}
		}
	}
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

// TestRowsAscend: the keys of one request ascend in the index of the layout.
func TestRowsAscend(t *testing.T) {
	for _, l := range laws {
		if !l.ascends {
			continue
		}
		for _, layout := range l.layouts {
			for _, n := range []int{2, 8, 9, 1000} {
				t.Run(fmt.Sprintf("%s/%s/%d", l.name, layout, n), func(t *testing.T) {
					s := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
					keys := next(t, s, layout, n)
					for i := range keys[1:] {
						if a, b := indexed(t, layout, keys[i]), indexed(t, layout, keys[i+1]); a >= b {
							t.Fatalf("row %d: %x follows %x", i+1, b, a)
						}
					}
				})
			}
		}
	}
}

// TestRequestEqualsCalls: n keys of one request equal the keys of n requests.
func TestRequestEqualsCalls(t *testing.T) {
	const n = 100
	for _, l := range laws {
		for _, layout := range l.layouts {
			t.Run(l.name+"/"+string(layout), func(t *testing.T) {
				one := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
				many := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
				want := next(t, one, layout, n)
				var got []any
				for range n {
					got = append(got, next(t, many, layout, 1)...)
				}
				if !l.traits.Ordered && l.ascends {
					// Calls of the same millisecond are in random order.
					slices.SortFunc(got, func(a, b any) int {
						return strings.Compare(indexed(t, layout, a), indexed(t, layout, b))
					})
				}
				for i := range want {
					if g, w := text(t, got[i]), text(t, want[i]); g != w {
						t.Fatalf("key %d is %s from a call of its own, %s in a request", i, g, w)
					}
				}
			})
		}
	}
}
