package keyfilletcd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// The keys of series and of their leases begin with these.
const (
	seriesKeys = keyfilletcd.DefaultPrefix + "series/"
	leaseKeys  = keyfilletcd.DefaultPrefix + "leases/"
)

func isSeries(key string) bool { return strings.HasPrefix(key, seriesKeys) }
func isLease(key string) bool  { return strings.HasPrefix(key, leaseKeys) }

// seriesRow is the value of a series, as it is stored.
type seriesRow struct {
	Last, Next, Epoch int64
	Owner             string
}

func rowOf(value any) (of seriesRow) {
	if i, ok := value.(item); ok {
		if err := json.Unmarshal([]byte(i.value), &of); err != nil {
			panic(err)
		}
	}
	return of
}

// firstOf returns the first integer of a series.
func firstOf(key string) int64 {
	first, err := strconv.ParseInt(key[strings.LastIndexByte(key, '/')+1:], 10, 64)
	if err != nil {
		panic(err)
	}
	return first
}

// simSeries says what is done to series, for the laws.
type simSeries struct{ keysource.SeriesStore }

func (s simSeries) Own(ctx context.Context) (keysource.Series, error) {
	return s.SeriesStore.Own(doing(ctx, toLook))
}

func (s simSeries) Move(ctx context.Context, one keysource.Series, to int64) (keysource.Series, bool, error) {
	return s.SeriesStore.Move(doing(ctx, toMove), one, to)
}

func (s simSeries) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	return s.SeriesStore.TakeOver(doing(ctx, toTake), n)
}

func (s simSeries) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	return s.SeriesStore.Open(doing(ctx, toOpen), seen)
}

func (s simSeries) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	return s.SeriesStore.GiveUp(doing(ctx, toGiveUp), one, to)
}

func (s simSeries) Advance(ctx context.Context, to int64) error {
	return s.SeriesStore.Advance(doing(ctx, toAdvance), to)
}

// owner names a life of a process, whose series are its own.
func owner(process, life int) string { return fmt.Sprintf("%d.%d", process, life) }

// simRecycled is a Recycled on etcd in a process of the simulation.
type simRecycled struct{ *counting.Recycled }

func (s simRecycled) Next(ctx context.Context, n int) ([]int64, error) {
	return run(s.Reserve(ctx, int64(n)))(n)
}

// Close ends what the source has started; the store is not to be had any more.
func (s simRecycled) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = s.Recycled.Close(ctx)
	return nil
}

// recycledTrial returns the trial of series on etcd, or of a mutant of them. What is checked
// in every world, besides the laws of package sim:
//
//	reserved  as of sequences
//	owned     only its owner moves a series, of the epoch that it knows
//	leased    a series is taken over, or moved, while no other lease of it lasts
//	apart     no two series have an integer in common
//
// An operator deletes the state's key now and then. Integers that are used up and removed
// by then, and not in the table, may come again.
func recycledTrial(m mutant) *sim.Trial {
	excuse := excuseBy(seriesMoved)
	return &sim.Trial{
		Begin:      func(w *sim.World) { w.Model = newCluster() },
		Apart:      true,
		Seeds:      30,
		Faults:     append(etcdFaults(), sim.Meddle),
		Contiguous: true,
		Open: func(p *sim.Process) (sim.Source, error) {
			c := newEtcdConfig(p.World)
			store, _ := m.open(p)
			rows := store.Series(simState(p.World), keysource.SeriesOwner{Size: c.size, Lease: c.lease, Owner: owner(p.Number, p.Life)})
			s, err := counting.NewRecycled(counting.RecycledOptions{
				Store: simSeries{rows}, Size: c.size, Lease: c.lease, Block: c.block, MinBlock: c.least, MaxBlock: min(c.most, c.size),
				OnStoreRollback: c.remedy, OnBehind: keysource.RemedyAdvance,
			}, keysource.Env{Now: p.Now})
			return simRecycled{s}, err
		},
		Recovery: func(*sim.World) time.Duration { return 30 * time.Second },
		Meddle:   deleteState,
		Excuse: func(w *sim.World, a, b sim.Issue, key int64) bool {
			return w.Has(sim.Meddle) || excuse(w, a, b, key)
		},
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return within(seriesMoved, c, key) },
		Allow:    allowEtcd,
		Repair:   func(w *sim.World) { repairEtcd(w, stateKey, "series") },
		Check: func(w *sim.World) {
			checkReserved(w, seriesMoved, false)
			checkSeries(w)
		},
	}
}

// deleteState is what must not be done while programs use a state.
func deleteState(w *sim.World) string {
	w.Server.Edit(func(tx *sim.Tx) {
		if tx.Load(stateKey) != nil {
			tx.Store(stateKey, nil)
			tx.Set(revisionRow, revision(tx)+1)
		}
	})
	return "the key of the state is deleted"
}

// seriesMoved returns the integers that a commit has reserved of a series: [from, to).
func seriesMoved(c *sim.Commit) (from, to int64) {
	if c.Note != toMove {
		return 0, 0
	}
	for _, change := range c.Changes {
		if isSeries(change.Row) && change.Old != nil && change.New != nil {
			return nextOf(change.Old), nextOf(change.New)
		}
	}
	return 0, 0
}

// checkSeries checks the laws of series: owned, leased and apart.
func checkSeries(w *sim.World) {
	there := map[string]seriesRow{}
	for _, c := range w.Server.Commits() {
		mine := owner(c.Process, c.Life)
		for _, change := range c.Changes {
			switch {
			case isLease(change.Row):
				old, had := change.Old.(item)
				if _, has := change.New.(item); had && has && old.value != mine {
					w.Failf("leased: process %d.%d %s at %s while the lease of %s lasts", c.Process, c.Life, did(c), c.At, old.value)
					return
				}
			case isSeries(change.Row):
				old, now := rowOf(change.Old), rowOf(change.New)
				if c.Note == toMove && (old.Owner != mine || now.Epoch != old.Epoch) {
					w.Failf("owned: process %d.%d moved the series of %q at %s", c.Process, c.Life, old.Owner, c.At)
					return
				}
				if change.Old == nil && w.Server.Lost() == 0 {
					first := firstOf(change.Row)
					for key, other := range there {
						if first <= other.Last && firstOf(key) <= now.Last {
							w.Failf("apart: the series from %d to %d was opened at %s beside one from %d to %d", first, now.Last, c.At, firstOf(key), other.Last)
							return
						}
					}
				}
				if there[change.Row] = now; change.New == nil {
					delete(there, change.Row)
				}
			}
		}
	}
}

// did says what a commit has done to a series.
func did(c *sim.Commit) string {
	if c.Note == toMove {
		return "moved a series"
	}
	return "took a series over"
}

func TestEtcdRecycledSimulation(t *testing.T) { recycledTrial(mutant{}).Run(t) }
