package counting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// simSeriesOn is a Recycled on the statements' connections, in a process of the
// simulation.
type simSeriesOn struct {
	*counting.Recycled
	p      *sim.Process
	c      serConfig
	mutant onSerMutant
	client *simdb.Client
	rows   *series.Rows
	owner  string
}

// onSerMutant changes a source on the statements' connections into one that is
// wrong.
type onSerMutant struct {
	name  string
	law   string
	edit  func(text string) string
	store func(keysource.SeriesStore) keysource.SeriesStore
	at    func(counting.SeriesAt) counting.SeriesAt
	conn  func(*sim.Session)
}

func (s simSeriesOn) Next(context.Context, int) ([]int64, error) {
	return nil, keysource.ErrNoConnection
}

// open opens the rows of a life.
func (s *simSeriesOn) open() error {
	s.owner = fmt.Sprintf("%d.%d.1", s.p.Number, s.p.Life)
	stores := newSimStores(s.p, mutate{db: simSQLite, edit: s.mutant.edit})
	s.client = stores.client
	s.rows = series.New(store.On(s.client.DB.Dialect(), nil), s.c.seriesOf(s.owner))
	if s.c.opens {
		return nil
	}
	return stores.directly(func(st *store.Store) error {
		_, err := s.rows.At(st).Own(context.Background())
		return err
	})
}

// at returns the way to the rows on a session, as the drawing of keys makes it.
func (s simSeriesOn) at(c *sim.Session) counting.SeriesAt {
	d, conn := s.client.DB.Dialect(), s.client.On(c)
	at := counting.SeriesAt{Open: c.Open()}
	at.Transact = func(_ context.Context, f func(keysource.SeriesStore) error) error {
		return sim.Transact(c, func() error {
			var rows keysource.SeriesStore = simSeries{s.rows.At(store.Within(d, conn)), s.owner}
			if s.mutant.store != nil {
				rows = s.mutant.store(rows)
			}
			return f(rows)
		})
	}
	if s.c.compares {
		at.MaxKey = func(ctx context.Context, from, to int64) (int64, error) {
			return s.rows.At(store.On(d, conn)).MaxKey(ctx, from, to)
		}
	}
	if s.mutant.conn != nil {
		s.mutant.conn(c)
	}
	if s.mutant.at != nil {
		at = s.mutant.at(at)
	}
	return at
}

func (s simSeriesOn) NextOn(ctx context.Context, n int, c *sim.Session) ([]int64, error) {
	first, err := s.ReserveOn(ctx, int64(n), s.at(c))
	if err != nil {
		return nil, err
	}
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = first + int64(i)
	}
	return keys, nil
}

func (s simSeriesOn) AdvanceOn(ctx context.Context, to int64, c *sim.Session) error {
	return s.Recycled.AdvanceOn(ctx, to, s.at(c))
}

// onSerTrial returns the trial of series on the statements' connections, or of a mutant
// of them. The laws are as of serTrial, except these:
//
//	unique    is not asked of keys that were reserved in a transaction which was
//	          rolled back or lost, and their rows with it
//	reserved  the transaction that has reserved a key may be the one that it is
//	          drawn in
func onSerTrial(m onSerMutant) *sim.Trial {
	return &sim.Trial{
		Faults: []sim.Fault{sim.Rollback, sim.Refuse, sim.Failover, sim.Restore, sim.Kill, sim.Pause, sim.ClockOff,
			sim.ClockStep, sim.Collide},
		Seeds:      100,
		Contiguous: true,
		Open: func(p *sim.Process) (sim.Source, error) {
			c := newSerConfig(p.World)
			o := c.options()
			o.OnConnection = true
			r, err := counting.NewRecycled(o, keysource.Env{Now: p.Now})
			if err != nil {
				return nil, err
			}
			s := simSeriesOn{Recycled: r, p: p, c: c, mutant: m}
			return s, s.open()
		},
		Recovery: func(*sim.World) time.Duration { return 11 * time.Second },
		Excuse:   excuseSeries,
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return moves(c, key) },
		Void: func(_ *sim.World, i sim.Issue) bool {
			c := seriesDrawnIn(i)
			return c != nil && (c.Lost || i.Transaction.Undone)
		},
		Allow: func(w *sim.World, err error) bool {
			for _, cause := range []error{sim.ErrRefused, sim.ErrReset, sim.ErrRolledBack} {
				if errors.Is(err, cause) {
					return len(w.Faults) > 0
				}
			}
			return errors.Is(err, sim.ErrBusy) || allowSeries(w, err)
		},
		Repair: repairSeries,
		Check:  checkSeriesOn,
	}
}

// seriesDrawnIn returns the statement by which an issue's keys were reserved in
// its own transaction; nil: they were not.
func seriesDrawnIn(i sim.Issue) *sim.Commit {
	if i.Transaction == nil {
		return nil
	}
	for _, c := range i.Transaction.Statements {
		if moves(c, i.Keys[0]) {
			return c
		}
	}
	return nil
}

// checkSeriesOn is checkSeries, where transactions of several statements and
// those that were rolled back count too.
func checkSeriesOn(w *sim.World) {
	commits := w.Server.Commits()
	moved := serMoves(commits)
	for _, i := range w.Issues {
		if seriesDrawnIn(i) != nil {
			continue
		}
		for _, key := range i.Keys {
			if !slices.ContainsFunc(moved, func(m serMoved) bool {
				return m.by.Process == i.Process && m.by.Life == i.Life && m.by.At <= i.End && m.has(key)
			}) {
				w.Failf("reserved: process %d.%d handed out key %d at %s, which was not reserved for it",
					i.Process, i.Life, key, i.End)
				return
			}
		}
	}
	checkSeriesOwned(w, commits, newSerConfig(w).lease)
	checkSeriesOne(w, commits)
}

func TestRecycledOnConnectionSimulation(t *testing.T) { onSerTrial(onSerMutant{}).Run(t) }

// onSerMutants are sources on the statements' connections that are wrong in one
// way each.
var onSerMutants = []onSerMutant{
	{
		name: "what a transaction has reserved is kept",
		law:  "unique",
		at:   func(at counting.SeriesAt) counting.SeriesAt { at.Open = false; return at },
	},
	{
		name: "a commit that fails goes unnoticed",
		law:  "unique",
		conn: func(c *sim.Session) { c.Heedless = true },
	},
	{
		name:  "own series kept while taking over another",
		law:   "one",
		store: func(s keysource.SeriesStore) keysource.SeriesStore { return keeper{s, new(sync.Map)} },
	},
	{
		name: "max() instead of the counter",
		law:  "unique",
		edit: fromRows,
	},
}

// TestRecycledOnConnectionMutants: the simulation finds every mutant.
func TestRecycledOnConnectionMutants(t *testing.T) {
	for _, m := range testturn.Some(t, onSerMutants, 3) {
		t.Run(m.name, func(t *testing.T) { onSerTrial(m).Find(t, m.law, 3_000) })
	}
}
