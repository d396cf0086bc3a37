package keysource_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
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
	inner  *keysource.Recycled
	errs   error
}

// begin opens another source over rows that a store has opened, or that are to be looked
// for, where before is nil. The caller holds mu.
func (s *simRecycled) begin(before *store.SeriesRows) error {
	owner := s.owner()
	st := s.stores.network()
	rows := st.Series(s.c.seriesOf(owner))
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
	inner, err := keysource.NewRecycled(o, keysource.Env{Now: s.p.Now})
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
	var rows *store.SeriesRows
	err := s.stores.directly(func(st *store.Store) error {
		rows = st.Series(s.c.seriesOf(s.owner()))
		_, err := rows.Own(context.Background())
		return err
	})
	if err != nil {
		return err
	}
	return s.begin(rows)
}

func (c serConfig) options() keysource.RecycledOptions {
	return keysource.RecycledOptions{
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
func (s *simRecycled) current(ctx context.Context) *keysource.Recycled {
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

func (s *simRecycled) held() *keysource.Recycled {
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
// The known limit is that of sequences, see seqTrial.
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

// serMoved is a commit that has reserved the integers of a series from from to to-1.
type serMoved struct {
	by       *sim.Commit
	from, to int64
}

func (m serMoved) has(key int64) bool { return m.from <= key && key < m.to }

// serMoveOf returns what a commit has reserved.
func serMoveOf(c *sim.Commit) serMoved {
	if c.Note != serMove || len(c.Changes) == 0 {
		return serMoved{}
	}
	old := simdb.Of(serTable, c.Changes[0].Old)
	now := simdb.Of(serTable, c.Changes[0].New)
	return serMoved{c, old.Int("next_value"), now.Int("next_value")}
}

// serMoves returns those of the commits that have reserved something.
func serMoves(commits []*sim.Commit) (all []serMoved) {
	for _, c := range commits {
		if m := serMoveOf(c); m.by != nil {
			all = append(all, m)
		}
	}
	return all
}

// moves reports whether a commit has reserved a key.
func moves(c *sim.Commit, key int64) bool { return serMoveOf(c).has(key) }

func excuseSeries(w *sim.World, a, b sim.Issue, key int64) bool {
	for _, c := range w.Server.Commits() {
		mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
		if c.Lost && mine && moves(c, key) {
			return true
		}
	}
	return false
}

// allowSeries: an error needs its cause.
func allowSeries(w *sim.World, err error) bool {
	switch {
	case errors.Is(err, keysource.ErrStoreBack):
		return w.Server.Lost()+w.Server.Switches() > 0
	case errors.Is(err, keysource.ErrStoreBehind):
		return false // the remedy is to advance, or there is no cause
	case errors.Is(err, context.DeadlineExceeded):
		return true // the time of the request was over, and perhaps that of an attempt
	}
	return errors.Is(err, keysource.ErrStoreDown) && len(w.Faults) > 0
}

// repairSeries sets the store above all that was ever reserved, if it has gone
// back; more than once, since what a source gives back then may have been
// another one's before.
func repairSeries(w *sim.World) {
	if w.Server.Lost()+w.Server.Switches() == 0 {
		return
	}
	for range 12 {
		raiseSeries(w)
		time.Sleep(time.Second)
	}
}

func raiseSeries(w *sim.World) {
	c := newSerConfig(w)
	most, counter := map[int64]int64{}, w.Server.MaxKey()+1
	for _, commit := range w.Server.Commits() {
		for _, change := range commit.Changes {
			if row, ok := serRowOf(change.New); ok {
				most[row.first] = max(most[row.first], row.next)
				counter = max(counter, row.last+1)
			}
			if row := simdb.Of(seqTable, change.New); row != nil {
				counter = max(counter, row.Int("next_value"))
			}
		}
	}
	w.Server.Edit(func(tx *sim.Tx) {
		for _, row := range simdb.Rows(tx, serTable) {
			raiseRow(tx, row, "next_value", most[row.Int("series_first")])
		}
		for _, row := range simdb.Rows(tx, seqTable) {
			raiseRow(tx, row, "next_value", (counter+c.size-2)/c.size*c.size+1)
		}
	})
}

// raiseRow raises an integer of a row, as an operator does.
func raiseRow(tx *sim.Tx, row *simdb.Row, column string, to int64) {
	if row.Int(column) < to {
		simdb.Put(tx, row.With(column, to))
	}
}

// checkSeries checks what only series promise.
func checkSeries(w *sim.World) {
	commits := w.Server.Commits()
	moved := serMoves(commits)
	for _, i := range w.Issues {
		checkSeriesReserved(w, moved, i)
		if len(w.Broken()) > 0 {
			return
		}
	}
	checkSeriesOwned(w, commits, newSerConfig(w).lease)
	checkSeriesOne(w, commits)
}

// checkSeriesOwned: a series is changed by its owner, or by another one when its
// lease has run out.
func checkSeriesOwned(w *sim.World, commits []*sim.Commit, lease time.Duration) {
	for _, c := range commits {
		for _, change := range c.Changes {
			old, had := serRowOf(change.Old)
			now, has := serRowOf(change.New)
			owner := fmt.Sprintf("%d.%d.", c.Process, c.Life)
			switch {
			case c.Note == serMove && had && (!strings.HasPrefix(old.owner, owner) || old.epoch != c.Read):
				w.Failf("owned: process %d.%d moved the series of %q at %s", c.Process, c.Life, old.owner, c.At)
			case c.Note == serTake && had && old.owner != "" && c.Read <= old.renewed+lease.Milliseconds():
				w.Failf("leased: process %d.%d took over from %q at %s", c.Process, c.Life, old.owner, c.At)
			case c.Note == serTake && had && has == (old.next > old.last):
				w.Failf("spent: process %d.%d took over a series that is used up at %s, or has removed another one", c.Process, c.Life, c.At)
			case c.Note == serGiveUp && has && now.next < old.next && (!strings.HasPrefix(old.owner, owner) || old.epoch != c.Read):
				w.Failf("given: process %d.%d gave back what is %q's at %s", c.Process, c.Life, old.owner, c.At)
			}
		}
	}
}

// checkSeriesReserved: a key was reserved for the life of the process that hands
// it out, that had been committed before, and it was asked for after the last
// Drop.
func checkSeriesReserved(w *sim.World, moved []serMoved, i sim.Issue) {
	moved = slices.DeleteFunc(slices.Clone(moved), func(m serMoved) bool {
		return m.by.Process != i.Process || m.by.Life != i.Life || m.by.At > i.End
	})
	var dropped time.Duration
	for _, d := range w.Drops {
		if d.Process == i.Process && d.Life == i.Life && d.At < i.Begin {
			dropped = max(dropped, d.At)
		}
	}
	for _, key := range i.Keys {
		at := slices.IndexFunc(moved, func(m serMoved) bool { return m.has(key) })
		if at < 0 {
			w.Failf("reserved: process %d.%d handed out key %d at %s, which was not reserved for it",
				i.Process, i.Life, key, i.End)
			return
		}
		// After a failover it may have been reserved once more.
		if newSerConfig(w).restarts == 0 && !slices.ContainsFunc(moved[at:], func(m serMoved) bool { return m.has(key) && m.by.Asked >= dropped }) {
			w.Failf("dropped: process %d.%d handed out key %d at %s, which it had when it dropped all at %s",
				i.Process, i.Life, key, i.End, dropped)
			return
		}
	}
}

// checkSeriesOne: an owner has one series at a time, and looks for it before it
// gets another one. What is still on its way then, of an attempt whose time was
// over, it does not find, and its lease runs out with nothing handed out of it.
func checkSeriesOne(w *sim.World, commits []*sim.Commit) {
	if w.Server.Lost() > 0 {
		return // an earlier state has other owners
	}
	type holding struct {
		row    string
		commit *sim.Commit
	}
	owners := map[string]holding{}
	looked := map[string]*sim.Commit{}
	for _, c := range commits {
		if owner, ok := strings.CutPrefix(c.Note, serLook+" "); ok {
			looked[owner] = c
		}
		for _, change := range c.Changes {
			if old, ok := serRowOf(change.Old); ok && owners[old.owner].row == change.Row {
				delete(owners, old.owner)
			}
			now, ok := serRowOf(change.New)
			if !ok || now.owner == "" {
				continue
			}
			other, look := owners[now.owner], looked[now.owner]
			late := func(got *sim.Commit) bool { return look != nil && got.Asked < look.Asked && look.At <= got.At }
			if other.row != "" && !late(other.commit) && !late(c) {
				w.Failf("one: %q has the series that begins at %s, and got another one at %s", now.owner, other.row, c.At)
				return
			}
			owners[now.owner] = holding{change.Row, c}
		}
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
