package counting_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
)

// serConfig is what a seed draws for all processes of its world.
type serConfig struct {
	size, block, least, most int64
	limit                    int64
	lease                    time.Duration
	back, behind             keysource.Remedy
	compares                 bool
	restarts                 int // one call in so many is preceded by a clean restart; 0: none

	// The tables and the counter's row are looked for over the network, and not before the
	// world begins.
	opens bool
}

func newSerConfig(w *sim.World) serConfig {
	r := rand.New(rand.NewPCG(w.Seed, 2))
	c := serConfig{
		size:     []int64{30, 40, 100, 1000}[r.IntN(4)],
		block:    []int64{0, 0, 1, 2, 7, 20}[r.IntN(6)],
		lease:    []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}[r.IntN(3)],
		compares: r.IntN(4) > 0,
		restarts: []int{0, 5, 20}[r.IntN(3)],
		limit:    1 << 40,
	}
	if c.block == 0 {
		c.least, c.most = 2, 30
	}
	if w.Has(sim.Failover) || w.Has(sim.Restore) {
		// What a source has seen ends with it, and the law that one life never
		// repeats a key, whatever is lost, is one source's.
		c.restarts = 0
	}
	// Keys that the application brings lie in the series of others.
	c.back, c.behind = keysource.RemedyAdvance, keysource.RemedyAdvance
	if r.IntN(2) == 0 {
		c.back = keysource.RemedyError
	}
	if !w.Brings() && !w.Has(sim.Failover) && !w.Has(sim.Restore) && r.IntN(2) == 0 {
		c.behind = keysource.RemedyError // without a cause it would be a false alarm
	}
	c.opens = r.IntN(4) == 0
	return c
}

// simRecycled is a Recycled in a process of the simulation. It closes and
// begins anew now and then.
type simRecycled struct {
	p      *sim.Process
	c      serConfig
	mutant serMutant
	stores *simStores
	turn   turns // to advance: while the fetch is in flight, and others advance too

	mu     sync.Mutex
	rand   func(int) int
	number int
	inner  *counting.Recycled
	errs   error
}

// begin opens another source over rows that a store has opened, or that are to be looked
// for, where before is nil. The caller holds mu.
func (s *simRecycled) begin(before *series.Rows) error {
	owner := s.owner()
	st := s.stores.network()
	rows := series.New(st, s.c.seriesOf(owner))
	if before != nil {
		rows = before.At(st)
	}
	var series keysource.SeriesStore = simSeries{rows, owner}
	if s.mutant.store != nil {
		series = s.mutant.store(series)
	}
	o := s.c.options()
	o.Store = advancing{series, s.turn}
	if s.c.compares {
		o.MaxKey = rows.MaxKey
	}
	inner, err := counting.NewRecycled(o, keysource.Env{Now: s.p.Now})
	s.inner, s.number = inner, s.number+1
	return err
}

// owner names the next source.
func (s *simRecycled) owner() string {
	return fmt.Sprintf("%d.%d.%d", s.p.Number, s.p.Life, s.number+1)
}

// first opens the first source of a life.
func (s *simRecycled) first() error {
	if s.c.opens {
		return s.begin(nil)
	}
	var rows *series.Rows
	err := s.stores.directly(func(st *store.Store) error {
		rows = series.New(st, s.c.seriesOf(s.owner()))
		_, err := rows.Own(context.Background())
		return err
	})
	if err != nil {
		return err
	}
	return s.begin(rows)
}

func (c serConfig) options() counting.RecycledOptions {
	return counting.RecycledOptions{
		Size: c.size, Lease: c.lease, Block: c.block, MinBlock: c.least, MaxBlock: c.most,
		OnBehind: c.behind, OnStoreRollback: c.back,
	}
}

// advancing advances in turn.
type advancing struct {
	keysource.SeriesStore
	turn turns
}

func (a advancing) Advance(ctx context.Context, to int64) error {
	return a.turn.do(ctx, func() error { return a.SeriesStore.Advance(ctx, to) })
}

// current returns the source to be asked, after a restart where one is due.
func (s *simRecycled) current(ctx context.Context) *counting.Recycled {
	s.mu.Lock()
	old, inner := s.inner, s.inner
	if s.c.restarts > 0 && s.rand(s.c.restarts) == 0 {
		if err := s.begin(nil); err != nil {
			s.errs = err
		}
		inner = s.inner
	}
	s.mu.Unlock()
	if old != inner {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = old.Close(short) // else its lease runs out
	}
	return inner
}

func (s *simRecycled) Next(ctx context.Context, n int) ([]int64, error) {
	inner := s.current(ctx)
	for {
		first, err := inner.Reserve(ctx, int64(n))
		if errors.Is(err, keysource.ErrClosed) {
			s.mu.Lock()
			again := s.inner != inner
			inner = s.inner
			s.mu.Unlock()
			if again {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		keys := make([]int64, n)
		for i := range keys {
			keys[i] = first + int64(i)
		}
		return keys, nil
	}
}

func (s *simRecycled) held() *counting.Recycled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner
}

func (s *simRecycled) Drop() { s.held().Drop() }

func (s *simRecycled) Advance(ctx context.Context, to int64) error {
	err := s.held().Advance(ctx, to)
	if errors.Is(err, keysource.ErrClosed) {
		return s.held().Advance(ctx, to)
	}
	return err
}

// Close ends what the source has started; the store is not to be had any more.
func (s *simRecycled) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = s.held().Close(ctx)
	s.stores.close()
	return s.errs
}

// serMutant changes a source of the simulation into one that is wrong.
type serMutant struct {
	name string
	law  string // that it breaks
	mutate
	store func(keysource.SeriesStore) keysource.SeriesStore
}

// serTrial returns the trial of series, or of a mutant of them. What is checked
// in every world, besides the laws of package sim:
//
//	reserved  every key was reserved for the life that hands it out, by a
//	          transaction that had been committed before
//	dropped   after a Drop no key of an earlier reservation is handed out
//	owned     only its owner moves a series, of the epoch that it knows
//	leased    a series is taken over after its lease has run out by the server's
//	          clock, or was given up
//	spent     what is taken over is not used up, and what is removed is
//	one       an owner has one series, but for one that it has asked for, not
//	          waited for, and looked for in vain before it was made
//	given     what is given back was reserved last
//
// The known limit is the same as of sequences, see seqTrial.
func serTrial(m serMutant) *sim.Trial {
	return &sim.Trial{
		Faults:     sim.AllFaults(),
		Seeds:      100,
		Contiguous: true,
		// Not Steady: that a store has gone back is found series by series.
		Open: func(p *sim.Process) (sim.Source, error) {
			s := &simRecycled{
				p: p, c: newSerConfig(p.World), mutant: m, rand: p.Rand(),
				stores: newSimStores(p, m.mutate), turn: make(turns, 1),
			}
			return s, s.first()
		},
		Recovery: func(w *sim.World) time.Duration { return 15 * time.Second },
		Excuse:   excuseSeries,
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return moves(c, key) },
		Allow:    allowSeries,
		Repair:   repairSeries,
		Check:    checkSeries,
	}
}

func TestRecycledSimulation(t *testing.T) { serTrial(serMutant{}).Run(t) }

// TestRecycledKilledAtEveryStep kills a process between any two things that it
// does.
func TestRecycledKilledAtEveryStep(t *testing.T) {
	seeds := []uint64{24}
	if os.Getenv(sim.EnvSeeds) != "" {
		seeds = []uint64{4, 8, 12, 16, 20, 24, 28}
	}
	for _, seed := range seeds {
		runs, w := serTrial(serMutant{}).EveryStep(t, seed)
		if w != nil && len(w.Broken()) > 0 {
			t.Errorf("seed %d, step %d: %s", seed, runs, w.Broken())
		}
		if runs < 100 {
			t.Errorf("seed %d: only %d steps", seed, runs)
		}
		t.Logf("seed %d: %d steps", seed, runs)
	}
}
