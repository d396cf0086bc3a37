package storetest

import (
	"cmp"
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// source is what the tests draw from.
type source interface {
	Reserve(ctx context.Context, n int64) (int64, error)
	Close(ctx context.Context) error
}

// patient lets a source wait for as long as a busy machine needs: any error of one fails a
// test.
var patient = keysource.Env{StoreWait: time.Hour}

// testSources: sources in several processes, each with several users, make no key twice.
func testSources(t *testing.T, o Options) {
	for kind, open := range map[string]func(s keysource.Store, st keysource.State, o Options) (source, error){
		"sequence": func(s keysource.Store, st keysource.State, _ Options) (source, error) {
			return keysource.NewSequence(keysource.SequenceOptions{Reserver: s.Reserver(st)}, patient)
		},
		"block": func(s keysource.Store, st keysource.State, _ Options) (source, error) {
			return keysource.NewSequence(keysource.SequenceOptions{Reserver: s.Reserver(st), Block: 1}, patient)
		},
		"recycled": openRecycled,
		"leased":   openLeased,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st, _ := state(1)
			Swarm(t, 4, 4, cmp.Or(o.Draws, 500), func(int) (source, error) { return open(o.open(t), st, o) })
		})
	}
}

func openRecycled(s keysource.Store, st keysource.State, o Options) (source, error) {
	const size = 100
	rows := s.Series(st, keysource.SeriesOwner{Size: size, Lease: o.Lease, Owner: name("owner")})
	return keysource.NewRecycled(keysource.RecycledOptions{Store: rows, Size: size, Lease: o.Lease}, patient)
}

// openLeased opens a snowflake whose worker's number is leased.
func openLeased(s keysource.Store, st keysource.State, o Options) (source, error) {
	numbers, marks := st, st
	numbers.Name, numbers.Max = st.Name+" workers", 1024
	marks.Name = st.Name + " (workers)"
	owner := name("owner")
	return keysource.NewLeased(keysource.LeasedOptions{
		Store: s.Series(numbers, keysource.SeriesOwner{Size: 1, Lease: o.Lease, Owner: owner}),
		Lease: o.Lease,
		Open: func(worker int) (*keysource.Snowflake, error) {
			return keysource.NewSnowflake(keysource.SnowflakeOptions{
				Worker: &worker, Marker: s.Marker(marks, int64(worker), owner),
			}, patient)
		},
	}, patient)
}

// Swarm lets a number of users draw keys of each of several sources, which are closed
// after that, and fails where a key comes twice. The requests ask for 1 to 7 keys.
func Swarm[S source](t *testing.T, sources, users, draws int, open func(i int) (S, error)) {
	t.Helper()
	var mu sync.Mutex
	seen := map[int64]bool{}
	var group sync.WaitGroup
	for i := range sources {
		src, err := open(i)
		if err != nil {
			t.Fatal(err)
		}
		var own sync.WaitGroup
		for user := range users {
			own.Go(func() {
				for drawn := 0; drawn < draws; {
					n := int64(1 + (drawn+user)%7)
					first, err := src.Reserve(t.Context(), n)
					if err != nil {
						t.Errorf("Reserve(%d): %v", n, err)
						return
					}
					drawn += int(n)
					mu.Lock()
					for key := first; key < first+n; key++ {
						if key < 1 || key == math.MaxInt64 || seen[key] {
							t.Errorf("the key %d is no key, or came twice", key)
						}
						seen[key] = true
					}
					mu.Unlock()
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
	if !t.Failed() && len(seen) < sources*users*draws {
		t.Errorf("%d keys, want %d or more", len(seen), sources*users*draws)
	}
}
