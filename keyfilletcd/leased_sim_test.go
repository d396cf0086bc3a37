package keyfilletcd_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// leasedNumbers is how many numbers there are: more than processes, each of which may
// have left one unused, and so few that they are used again.
const leasedNumbers = 12

// leasedBits are the bits of the keys. There are few keys in a tick, so that they are used
// up.
var leasedBits = keysource.SnowflakeBits{Time: 41, Worker: 10, Sequence: 5, Epoch: leasedEpoch}

var leasedEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// simLeased is a Leased on etcd in a process of the simulation.
type simLeased struct {
	*counting.Leased
	p *sim.Process
}

func (s simLeased) Next(ctx context.Context, n int) ([]int64, error) {
	first, err := s.Reserve(ctx, int64(n))
	if errors.Is(err, keysource.ErrClock) && s.p.World.Now() > s.p.World.Calm() {
		select { // only time helps
		case <-time.After(time.Hour):
		case <-ctx.Done():
		}
	}
	return run(first, err)(n)
}

func (s simLeased) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = s.Leased.Close(ctx) // the store is not to be had any more
	return nil
}

// simMarker says that a mark is raised, for the laws.
type simMarker struct{ keysource.Marker }

func (m simMarker) Mark(ctx context.Context, until int64) (int64, error) {
	return m.Marker.Mark(doing(ctx, toMark), until)
}

// leasedTrial returns the trial of leased numbers on etcd, or of a mutant of them. What
// is checked in every world, besides the laws of package sim and of series:
//
//	marked  the time of a key was reserved for the life that hands it out, by a transaction
//	        that had happened before
//	late    no key is asked for of a number that another process has taken over
func leasedTrial(m mutant) *sim.Trial {
	clocks := func(w *sim.World) bool { return w.Has(sim.ClockStep) || w.Has(sim.ClockOff) }
	return &sim.Trial{
		Begin:      func(w *sim.World) { w.Model = newCluster() },
		Apart:      true,
		Seeds:      30,
		Faults:     etcdFaults(),
		Contiguous: true,
		Ordered:    true,
		Open:       func(p *sim.Process) (sim.Source, error) { return m.openLeased(p) },
		Recovery: func(w *sim.World) time.Duration {
			if clocks(w) {
				return 30 * 24 * time.Hour
			}
			return time.Minute
		},
		Excuse: func(w *sim.World, a, b sim.Issue, key int64) bool {
			for _, c := range w.Server.Commits() {
				mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
				if c.Lost && mine && marks(c, key) {
					return true
				}
			}
			return false
		},
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return marks(c, key) },
		Allow: func(w *sim.World, err error) bool {
			switch {
			case errors.Is(err, keysource.ErrClock):
				return clocks(w) // a number comes from a process whose clock was ahead
			case errors.Is(err, keysource.ErrWorkerTaken):
				return len(w.Faults) > 0
			}
			return allowEtcd(w, err)
		},
		Repair: func(w *sim.World) { repairEtcd(w, keyfilletcd.DefaultPrefix+"states/numbers", "series") },
		Check: func(w *sim.World) {
			checkMarked(w)
			checkSeries(w)
			if !w.Has(sim.ClockStep) && w.Server.Lost() == 0 {
				checkLate(w)
			}
		},
	}
}

func (m mutant) openLeased(p *sim.Process) (sim.Source, error) {
	lease := 3 * newEtcdConfig(p.World).lease // so that some last for longer than the least
	store, _ := m.open(p)
	name := owner(p.Number, p.Life)
	numbers, flakes := state("numbers"), state("flakes")
	numbers.Max = leasedNumbers
	rows := store.Series(numbers, keysource.SeriesOwner{Size: 1, Lease: lease, Owner: name})
	s, err := counting.NewLeased(counting.LeasedOptions{
		Store: simSeries{rows}, Lease: lease,
		Open: func(worker int) (*counting.Snowflake, error) {
			var mark keysource.Marker = simMarker{store.Marker(flakes, int64(worker), name)}
			if m.marker != nil {
				mark = m.marker(mark)
			}
			return counting.NewSnowflake(nil, keysource.SnowflakeOptions{Bits: leasedBits, Worker: &worker, Marker: mark}, keysource.Env{Now: p.Now})
		},
	}, keysource.Env{Now: p.Now})
	return simLeased{s, p}, err
}

// numberOf returns the number of a worker in a key.
func numberOf(key int64) int64 { return key >> leasedBits.Sequence & (1<<leasedBits.Worker - 1) }

// untilOf returns the end of the time that a mark has reserved.
func untilOf(value any) int64 {
	i, ok := value.(item)
	if !ok {
		return 0
	}
	var of struct{ Until int64 }
	if err := json.Unmarshal([]byte(i.value), &of); err != nil {
		panic(err)
	}
	return of.Until
}

// marks reports whether a commit has raised the mark of a key's number over its time.
func marks(c *sim.Commit, key int64) bool {
	if c.Note != toMark {
		return false
	}
	at := leasedEpoch.UnixMilli() + key>>(leasedBits.Worker+leasedBits.Sequence) // in milliseconds
	for _, change := range c.Changes {
		if strings.HasPrefix(change.Row, keyfilletcd.DefaultPrefix+"marks/") &&
			change.Row[strings.LastIndexByte(change.Row, '/')+1:] == strconv.FormatInt(numberOf(key), 10) {
			return untilOf(change.Old) <= at && at < untilOf(change.New)
		}
	}
	return false
}

// checkMarked checks the law "marked".
func checkMarked(w *sim.World) {
	commits := w.Server.Commits()
	for _, i := range w.Issues {
		if !slices.ContainsFunc(commits, func(c *sim.Commit) bool {
			return c.Process == i.Process && c.Life == i.Life && c.At <= i.End && marks(c, i.Keys[0])
		}) {
			w.Failf("marked: process %d.%d handed out key %d at %s, whose time was not reserved for it", i.Process, i.Life, i.Keys[0], i.End)
			return
		}
	}
}

// checkLate checks the law "late".
func checkLate(w *sim.World) {
	type taking struct {
		at    time.Duration
		owner string
	}
	takings := map[int64][]taking{} // of each number
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			if isSeries(change.Row) && change.New != nil {
				number := firstOf(change.Row) - 1
				takings[number] = append(takings[number], taking{c.At, rowOf(change.New).Owner})
			}
		}
	}
	for _, i := range w.Issues {
		number, mine := numberOf(i.Keys[0]), owner(i.Process, i.Life)
		last := ""
		for _, t := range takings[number] {
			if t.at < i.Begin {
				last = t.owner
			}
			if t.at >= i.Begin && t.at <= i.End && t.owner == mine {
				last = mine // while the statement waited
			}
		}
		if last != mine && last != "" {
			w.Failf("late: process %d.%d asked for key %d at %s, whose number was %s's by then", i.Process, i.Life, i.Keys[0], i.Begin, last)
			return
		}
	}
}

func TestEtcdLeasedSimulation(t *testing.T) { leasedTrial(mutant{}).Run(t) }
