package counting_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// leasedNumbers is how many numbers there are: more than processes, each of which may
// have left one unused, and so few that they are used again.
const leasedNumbers = 12

// simLeased is a Leased in a process of the simulation.
type simLeased struct {
	*counting.Leased
	p      *sim.Process
	stores *simStores
}

func (s simLeased) Next(ctx context.Context, n int) ([]int64, error) {
	first, err := s.Reserve(ctx, int64(n))
	if errors.Is(err, keysource.ErrClock) && sinceBegin() > s.p.World.Calm() {
		select { // only time helps
		case <-time.After(time.Hour):
		case <-ctx.Done():
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

func (s simLeased) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = s.Leased.Close(ctx) // the store is not to be had any more
	s.stores.close()
	return nil
}

// leasedMutant changes a leased number into one that is wrong.
type leasedMutant struct {
	name string
	law  string // that it breaks
	mutate
	marker func(keysource.Marker) keysource.Marker
}

// leasedTrial returns the trial of leased numbers, or of a mutant of them. Besides the
// laws of package sim and of a snowflake's marks it checks
//
//	leased  a number is taken over after its lease has run out by the server's
//	        clock, or was given up
//	number  a key has a number that its process has leased before
//	one     an owner has one number, as of series
func leasedTrial(m leasedMutant) *sim.Trial {
	return &sim.Trial{
		Faults:     sim.AllFaults(),
		Contiguous: true,
		Ordered:    true,
		Open:       m.open,
		Recovery: func(w *sim.World) time.Duration {
			if w.Has(sim.ClockStep) || w.Has(sim.ClockOff) {
				return 30 * 24 * time.Hour
			}
			return 30 * time.Second
		},
		Excuse: func(w *sim.World, a, b sim.Issue, key int64) bool {
			return excuseMark(w, newFlakeConfig(w), a, b, key)
		},
		Reserves: func(w *sim.World, c *sim.Commit, key int64) bool { return marks(newFlakeConfig(w), c, key) },
		Allow: func(w *sim.World, err error) bool {
			switch {
			case errors.Is(err, keysource.ErrClock):
				// A number comes from a process whose clock was ahead.
				return w.Has(sim.ClockStep) || w.Has(sim.ClockOff)
			case errors.Is(err, context.DeadlineExceeded):
				return true // the time of the request was over, and perhaps the time of an attempt
			case errors.Is(err, keysource.ErrStoreDown), errors.Is(err, keysource.ErrWorkerTaken):
				return len(w.Faults) > 0
			}
			return false
		},
		Check: func(w *sim.World) {
			checkMarked(w, newFlakeConfig(w))
			checkLeasedNumbers(w)
			checkSeriesOwned(w, w.Server.Commits(), leasedLease(w))
			if !w.Has(sim.ClockStep) && !w.Has(sim.ClockOff) {
				// Else a number is left whose mark is far ahead.
				checkSeriesOne(w, w.Server.Commits())
			}
		},
	}
}

// leasedLease returns how long a number is leased for. A process takes over all numbers that
// are of no use to it, one after the other, and has to find another one before the first of
// these comes free again.
func leasedLease(w *sim.World) time.Duration { return 5 * newSerConfig(w).lease }

func (m leasedMutant) open(p *sim.Process) (sim.Source, error) {
	c, lease := newFlakeConfig(p.World), leasedLease(p.World)
	owner := fmt.Sprintf("%d.%d.0", p.Number, p.Life)
	numbers := series.Options{
		Sequence: sequence.Sequence{Name: "numbers", Shared: true, Made: sequence.MadeRow{Start: 1}, Bounds: sequence.Bounds{Max: leasedNumbers}, Create: true},
		Size:     1, Lease: lease, Owner: owner,
	}
	stores := newSimStores(p, m.mutate)
	var rows *series.Rows
	err := stores.directly(func(st *store.Store) error {
		rows = series.New(st, numbers)
		_, err := rows.Own(context.Background())
		return err
	})
	if err != nil {
		return nil, err
	}
	st := stores.network()
	s, err := counting.NewLeased(counting.LeasedOptions{
		Store: simSeries{rows.At(st), owner}, Lease: lease,
		Open: func(worker int) (*counting.Snowflake, error) {
			marker := markerOf(st, worker, owner)
			o := keysource.SnowflakeOptions{Bits: c.bits, Worker: &worker, Marker: marker}
			if m.marker != nil {
				o.Marker = m.marker(marker)
			}
			return counting.NewSnowflake(nil, o, keysource.Env{Now: p.Now})
		},
	}, keysource.Env{Now: p.Now})
	return simLeased{s, p, stores}, err
}

// checkLeasedNumbers: the number in a key was leased by the life of the process that
// hands it out, that had been committed before.
func checkLeasedNumbers(w *sim.World) {
	bits := newFlakeConfig(w).bits
	worker, sequence := bits.Worker, bits.Sequence
	if bits == (keysource.SnowflakeBits{}) {
		worker, sequence = 10, 12
	}
	leased := map[string]time.Duration{}
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			if now, ok := serRowOf(change.New); ok && now.owner != "" {
				life, _ := strings.CutSuffix(now.owner, ".0")
				if id := life + " " + now.key(); leased[id] == 0 {
					leased[id] = c.At
				}
			}
		}
	}
	for _, i := range w.Issues {
		number := i.Keys[0] >> sequence & (1<<worker - 1)
		at, ok := leased[fmt.Sprintf("%d.%d %s", i.Process, i.Life, strconv.FormatInt(number+1, 10))]
		if !ok || at > i.End {
			w.Failf("number: process %d.%d handed out %d of the number %d at %s, which it has not leased", i.Process, i.Life, i.Keys[0], number, i.End)
			return
		}
	}
}

func TestLeasedSimulation(t *testing.T) { leasedTrial(leasedMutant{}).Run(t) }

// leasedMutants are leased numbers that are wrong in one thing each.
var leasedMutants = []leasedMutant{
	{name: "<= for < in the take-over", law: "leased", mutate: mutate{edit: earlyLease}},
	{name: "the client's clock", law: "leased", mutate: mutate{edit: clientLease}},
	{name: "neither owner nor epoch in the renewal", law: "owned", mutate: mutate{edit: anybodyMoves}},
	{
		name: "a lease instead of the mark", law: "unique",
		marker: func(m keysource.Marker) keysource.Marker {
			var last int64
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				_, err := m.Mark(ctx, until)
				before := last
				last = max(last, until)
				return before, err
			})
		},
	},
}

// TestLeasedMutants: the simulation finds every mutant.
func TestLeasedMutants(t *testing.T) {
	for _, m := range testturn.Some(t, leasedMutants, 3) {
		t.Run(m.name, func(t *testing.T) { leasedTrial(m).Find(t, m.law, 3_000) })
	}
}
