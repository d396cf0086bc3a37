package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// Source is a source of keys from which the tests draw.
type Source interface {
	Reserve(ctx context.Context, n int64) (int64, error)
	Close(ctx context.Context) error
}

// patient lets a source wait an hour for its store, since a busy machine may be slow and an
// error of a source fails the test.
var patient = keysource.Env{StoreWait: time.Hour}

// settings describe how a kind of source is opened.
type settings struct {
	size  int64 // the number of integers of a series, a range that one owner has; 0 for a sequence
	block int64 // the size of a block; 0 if it adapts to the use
}

var kinds = map[string]settings{
	"sequence": {},
	"blocks":   {block: 20},
	"block":    {block: 1},
	"series":   {size: 1000, block: 20},
	"short":    {size: 100},
	"usual":    {size: counting.DefaultSeries}, // the size of series (a range of integers) that a policy has by default
	"leased":   {size: 1},                      // a snowflake whose worker's number is leased
}

// Kinds are the kinds of [SourceOptions] with which most tests draw.
var Kinds = []string{"blocks", "series", "leased"}

// SourceOptions say which source is opened.
type SourceOptions struct {
	Kind  string
	Name  string        // the name of the state, which is the stored counter
	Owner string        // the owner of a series (a range of integers)
	Lease time.Duration // the lease of a series (a range of integers)
}

// Series returns the access to the series (ranges of integers) from which the source gets
// its integers, or its worker's number.
func (o SourceOptions) Series(s keysource.Store) keysource.SeriesStore {
	st := State(o.Name)
	if o.Kind == "leased" {
		st.Max = 1024
	}
	return s.Series(st, keysource.SeriesOwner{Size: kinds[o.Kind].size, Lease: o.Lease, Owner: o.Owner})
}

// Open opens the source on a store.
func (o SourceOptions) Open(s keysource.Store) (Source, error) {
	kind := kinds[o.Kind]
	if o.Kind == "leased" {
		return leased(s, o.Series(s), o, patient)
	}
	if kind.size > 0 {
		return counting.NewRecycled(counting.RecycledOptions{Store: o.Series(s), Size: kind.size, Lease: o.Lease, Block: kind.block}, patient)
	}
	return counting.NewSequence(counting.SequenceOptions{Reserver: s.Reserver(State(o.Name)), Block: kind.block}, patient)
}

// leased opens a snowflake whose worker's number comes from the integers of a state (a
// stored counter).
func leased(s keysource.Store, numbers keysource.SeriesStore, o SourceOptions, env keysource.Env) (*counting.Leased, error) {
	return counting.NewLeased(counting.LeasedOptions{
		Store: numbers, Lease: o.Lease,
		Open: func(worker int) (*counting.Snowflake, error) {
			return counting.NewSnowflake(nil, keysource.SnowflakeOptions{
				Worker: &worker, Marker: s.Marker(State(o.Name+" (marks)"), int64(worker), o.Owner),
			}, env)
		},
	}, env)
}

// Draw opens the source, draws n keys and closes it.
func (o SourceOptions) Draw(t *testing.T, all *Seen, s keysource.Store, n int) {
	t.Helper()
	src, err := o.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		key, err := src.Reserve(t.Context(), 1)
		if err != nil {
			t.Fatalf("after %d keys: %v", all.Count(), err)
		}
		all.Add(t, key)
	}
	_ = src.Close(context.WithoutCancel(t.Context())) // an error is ignored, since the answer to Close may be lost too
}

// Seen holds the keys that were drawn.
type Seen struct {
	mu   sync.Mutex
	keys map[int64]bool
}

// Add notes a key, and fails the test if it was drawn before, or cannot be a key.
func (s *Seen) Add(t testing.TB, key int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[int64]bool{}
	}
	if key < 1 || key == math.MaxInt64 || s.keys[key] {
		t.Errorf("the key %d is no key, or was drawn twice", key)
	}
	s.keys[key] = true
}

// Count returns how many keys were drawn.
func (s *Seen) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}

// testSources checks that sources in several processes, each with several users, make no
// key twice. With a Server it draws 10⁵ keys of each kind, except for kinds that send a
// request for each key.
func testSources(t *testing.T, o Options) {
	few := swarm{stores: 4, users: 4, draws: cmp.Or(o.Draws, 500)}
	many := few
	if o.Server != nil {
		many = swarm{stores: 8, users: 4, draws: testturn.Share(t, 3_200, 1_600)}
	}
	for kind, size := range map[string]swarm{"sequence": many, "block": few, "short": few, "series": many, "leased": many} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			shared := name("orders")
			size.draw(t, func(i int) (Source, error) {
				return SourceOptions{Kind: kind, Name: shared, Owner: fmt.Sprint("owner", i), Lease: o.Lease}.Open(o.open(t))
			})
		})
	}
}

// swarm says how many users draw how many keys each, from a source in each of some stores.
type swarm struct{ stores, users, draws int }

// draw lets the users draw keys of sources, closes these, and fails the test if a key comes
// twice. The requests ask for 1 to 7 keys.
func (s swarm) draw(t *testing.T, open func(i int) (Source, error)) {
	t.Helper()
	var seen Seen
	var group sync.WaitGroup
	for i := range s.stores {
		src, err := open(i)
		if err != nil {
			t.Fatal(err)
		}
		var own sync.WaitGroup
		for user := range s.users {
			own.Go(func() {
				for drawn := 0; drawn < s.draws; {
					n := int64(1 + (drawn+user)%7)
					first, err := src.Reserve(t.Context(), n)
					if err != nil {
						t.Errorf("Reserve(%d): %v", n, err)
						return
					}
					drawn += int(n)
					for key := first; key < first+n; key++ {
						seen.Add(t, key)
					}
				}
			})
		}
		group.Go(func() {
			own.Wait()
			if err := src.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	group.Wait()
	if want := s.stores * s.users * s.draws; !t.Failed() && seen.Count() < want {
		t.Errorf("%d keys, want %d or more", seen.Count(), want)
	}
}

// testWorkerNumbers checks that if 16 stores with 4 sources each lease a worker's number at
// once, no two of them have the same number, and that numbers that were given back are
// leased again, the lowest first.
func testWorkerNumbers(t *testing.T, o Options) {
	const stores, each = 16, 4
	const lasts = 10 * time.Minute // longer than this test takes, so that no lease expires
	numbers := State(name("workers"))
	numbers.Max = stores * each
	for round := range 2 {
		sources := make([]*counting.Leased, stores*each)
		var group sync.WaitGroup
		for i := range stores {
			s := o.open(t)
			for j := range each {
				of := SourceOptions{Name: numbers.Name, Lease: lasts, Owner: fmt.Sprint("owner ", round, i, j)}
				src, err := leased(s, s.Series(numbers, keysource.SeriesOwner{Size: 1, Lease: lasts, Owner: of.Owner}), of, keysource.Env{StoreWait: lasts})
				if err != nil {
					t.Fatal(err)
				}
				sources[i*each+j] = src
				group.Go(func() {
					if _, err := src.Reserve(t.Context(), 1); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
		}
		began := time.Now()
		group.Wait()
		owners := map[int]int{}
		for i, src := range sources {
			number := src.Stats().Snowflake.Worker
			if other, twice := owners[number]; twice || number < 0 || number >= len(sources) {
				t.Errorf("round %d: the number %d belongs to source %d and to source %d", round, number, i, other)
			}
			owners[number] = i
		}
		t.Logf("%d sources had a number after %v", len(owners), time.Since(began).Round(time.Millisecond))
		for _, src := range sources {
			group.Go(func() {
				if err := src.Close(t.Context()); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		group.Wait()
	}
}
