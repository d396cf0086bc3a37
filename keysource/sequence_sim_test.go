package keysource_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// What transactions about a sequence are for.
const (
	seqReserve = "reserve"
	seqAdvance = "advance"
	seqMaxKey  = simdb.MaxKey
)

// seqConfig is what a seed draws for all processes of its world.
type seqConfig struct {
	block, least, most int64
	back, behind       keysource.Remedy
	compares           bool

	// The row is looked for over the network, and not before the world begins.
	opens bool
}

func newSeqConfig(w *sim.World) seqConfig {
	r := rand.New(rand.NewPCG(w.Seed, 1))
	c := seqConfig{block: []int64{0, 0, 1, 2, 3, 7, 20}[r.IntN(7)], compares: r.IntN(4) > 0}
	if c.block == 0 {
		c.least, c.most = 2, 50
	}
	if r.IntN(2) == 0 {
		c.back, c.behind = keysource.RemedyAdvance, keysource.RemedyAdvance
	}
	c.opens = r.IntN(4) == 0
	return c
}

// simSequence is a Sequence in a process of the simulation.
type simSequence struct {
	*keysource.Sequence
	stores *simStores // nil on the statements' connections
}

func (s simSequence) Close(ctx context.Context) error {
	if s.stores != nil {
		defer s.stores.close()
	}
	return s.Sequence.Close(ctx)
}

func (s simSequence) Next(ctx context.Context, n int) ([]int64, error) {
	values, err := s.Sequence.Next(ctx, keysource.Request{N: n})
	keys := make([]int64, len(values))
	for i, v := range values {
		keys[i] = v.(int64)
	}
	return keys, err
}

// simStore says what is done to the row of a Sequence, for the laws.
type simStore struct {
	rows     *store.Reserver
	p        *sim.Process
	turn     turns // to advance: while the fetch is in flight, and others advance too
	sequence *keysource.Sequence
	server   string // that answered last
}

// seqStores returns the stores of a life, with the row of a sequence that ends with last; 0:
// never.
func seqStores(p *sim.Process, c seqConfig, m mutate, last int64) (*simStores, *simStore, error) {
	stores := newSimStores(p, m)
	st := stores.network()
	q := store.Sequence{Name: "sequence", Columns: simColumns, Create: true, Max: last}
	s := &simStore{rows: st.Reserver(q), p: p, turn: make(turns, 1)}
	if c.opens {
		return stores, s, nil
	}
	err := stores.directly(func(direct *store.Store) error { return s.rows.At(direct).Open(context.Background()) })
	return stores, s, err
}

func (s *simStore) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	r, err := s.rows.Reserve(simdb.Doing(ctx, seqReserve, 0), n, seen)
	if err == nil {
		if s.sequence.Stats().Fetches > 0 && (r.First < seen || s.server != r.Server) {
			s.p.NoteDrop() // the sequence has to
		}
		s.server = r.Server
	}
	return r, err
}

func (s *simStore) Advance(ctx context.Context, to int64) error {
	return s.turn.do(ctx, func() error { return s.rows.Advance(simdb.Doing(ctx, seqAdvance, to), to) })
}

// seqMutant changes a source of the simulation into one that is wrong.
type seqMutant struct {
	name   string
	law    string // that it breaks
	store  func(*simStore, *keysource.Sequence) keysource.Reserver
	source func(simSequence) sim.Source
	mutate
}

// seqTrial returns the trial of sequences, or of a mutant of them. What is
// checked in every world, besides the laws of package sim:
//
//	reserved   every key was reserved for the life that hands it out, by a
//	           transaction that had been committed before
//	dropped    after a Drop, and after an answer that shows the store to have
//	           gone back, no key of an earlier reservation is handed out
//	compared   the first key of a life, and of a server that has taken over, is
//	           above the greatest one that was in the table before it was
//	           reserved
//	followed   after an Advance no lower key is handed out by that process, or
//	           reserved by any
//	ordered    of block 1 keys are in order of time across processes
//
// A failover or a restored copy that loses commits makes the store give the
// same keys again. That is the known limit: two lives may hand out the same key
// if a commit that reserved it for one of them was lost. One life never does,
// whatever is lost. ErrStoreBack and ErrStoreBehind are errors only where
// something was lost and the remedy is not to advance; then an operator raises
// the store when the faults end, and the sequences have to notice.
func seqTrial(m seqMutant) *sim.Trial {
	return &sim.Trial{
		Faults:     sim.AllFaults(),
		Contiguous: true,
		Ordered:    true,
		Steady:     true,
		Open: func(p *sim.Process) (sim.Source, error) {
			c := newSeqConfig(p.World)
			stores, store, err := seqStores(p, c, m.mutate, 0)
			if err != nil {
				return nil, err
			}
			o := keysource.SequenceOptions{
				Block:           c.block,
				MinBlock:        c.least,
				MaxBlock:        c.most,
				OnStoreRollback: c.back,
				OnBehind:        c.behind,
			}
			if c.compares {
				o.MaxKey = store.rows.MaxKey
			}
			late := new(lateReserver)
			o.Reserver = late
			s, err := keysource.NewSequence(o, keysource.Env{Now: p.Now})
			if err != nil {
				return nil, err
			}
			late.Reserver, store.sequence = store, s
			if m.store != nil {
				late.Reserver = m.store(store, s)
			}
			if m.source != nil {
				return m.source(simSequence{s, stores}), nil
			}
			return simSequence{s, stores}, nil
		},
		Recovery: func(w *sim.World) time.Duration {
			if w.Has(sim.Silence) || w.Has(sim.Loss) || w.Has(sim.Pause) {
				// An attempt that gets no answer has eight seconds at most.
				return 11 * time.Second
			}
			return 2 * time.Second
		},
		Excuse:   excuseLost,
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return reserves(c, key) },
		Allow:    allowSequence,
		Repair:   repairSequence,
		Check:    checkSequence,
	}
}

// lateReserver is a Reserver that is known later than the sequence.
type lateReserver struct{ keysource.Reserver }

// excuseLost: a key may be handed out twice if the commit that reserved it was
// lost; the store then gives it again, and whoever has the lost block cannot
// know before his next fetch.
func excuseLost(w *sim.World, a, b sim.Issue, key int64) bool {
	for _, c := range w.Server.Commits() {
		mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
		if c.Lost && mine && reserves(c, key) {
			return true
		}
	}
	return false
}

func reserves(c *sim.Commit, key int64) bool {
	from, to := seqReserved(c)
	return from <= key && key < to
}

// seqReserved returns what a commit has reserved, from from to to-1; nothing if from is 0.
func seqReserved(c *sim.Commit) (from, to int64) {
	if c.Note != seqReserve {
		return 0, 0
	}
	for _, change := range c.Changes {
		if old := simdb.Of(seqTable, change.Old); old != nil {
			return old.Int("next_value"), nextOf(change)
		}
	}
	return 0, 0
}

// nextOf returns where the row of a sequence stands after a change, 0 for another row's.
func nextOf(change sim.Change) int64 { return simdb.Of(seqTable, change.New).Int("next_value") }

// allowSequence: an error needs its cause.
func allowSequence(w *sim.World, err error) bool {
	c := newSeqConfig(w)
	lost := w.Server.Lost() > 0 || w.Server.Switches() > 0
	switch {
	case errors.Is(err, keysource.ErrStoreBack):
		return lost && c.back != keysource.RemedyAdvance
	case errors.Is(err, keysource.ErrStoreBehind):
		return lost && c.behind != keysource.RemedyAdvance
	case errors.Is(err, keysource.ErrStoreState):
		return lost && c.opens // the row has gone, and once more as soon as it was made again
	case errors.Is(err, context.DeadlineExceeded):
		return true // the time of the request was over, and perhaps that of an attempt
	}
	return errors.Is(err, keysource.ErrStoreDown) && len(w.Faults) > 0
}

// repairSequence sets the store above all that was ever reserved, if it has
// gone back and the sequences do not advance it.
func repairSequence(w *sim.World) {
	if newSeqConfig(w).back == keysource.RemedyAdvance || w.Server.Lost()+w.Server.Switches() == 0 {
		return
	}
	raiseSequence(w, max(w.Server.MaxKey()+1, reservedTo(w)))
}

// reservedTo returns the end of all that the store has ever reserved.
func reservedTo(w *sim.World) int64 {
	to := int64(1)
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			to = max(to, nextOf(change))
		}
	}
	return to
}

// raiseSequence sets the row to at least to, as an operator does.
func raiseSequence(w *sim.World, to int64) {
	w.Server.Edit(func(tx *sim.Tx) {
		for _, row := range simdb.Rows(tx, seqTable) {
			raiseRow(tx, row, "next_value", to)
		}
	})
}

type life struct{ process, number int }

// checkSequence checks what only sequences promise.
func checkSequence(w *sim.World) { checkNumbers(w, w.Issues, newSeqConfig(w)) }

// checkNumbers is checkSequence for issues of numbers, by sequences of a
// configuration.
func checkNumbers(w *sim.World, issues []sim.Issue, config seqConfig) {
	lives := map[life]*simLife{}
	of := func(process, number int) *simLife {
		l := life{process, number}
		if lives[l] == nil {
			lives[l] = new(simLife)
		}
		return lives[l]
	}
	for _, c := range w.Server.Commits() {
		l := of(c.Process, c.Life)
		l.commits = append(l.commits, c)
	}
	for _, d := range w.Drops {
		l := of(d.Process, d.Life)
		l.drops = append(l.drops, d)
	}
	for _, i := range issues {
		l := of(i.Process, i.Life)
		l.checkReserved(w, i)
		if config.compares {
			l.checkCompared(w, i)
		}
		if len(w.Broken()) > 0 {
			return
		}
	}
	for _, f := range w.Follows {
		checkFollowed(w, f)
	}
	if config.block == 1 && w.Server.Lost() == 0 {
		w.CheckOrdered(issues) // of all processes
	}
}

// simLife is what is known of one life of a process, in order of time.
type simLife struct {
	commits []*sim.Commit
	drops   []sim.Drop
	looks   []*sim.Commit // at the table, on a session
	server  string        // that gave the last key handed out
}

// reservation returns the number of the last commit before the end of i that
// reserved a key of it; -1 if there is none.
func (l *simLife) reservation(i sim.Issue, key int64) int {
	for n, c := range slices.Backward(l.commits) {
		if c.At <= i.End && reserves(c, key) {
			return n
		}
	}
	return -1
}

// checkReserved: a key was reserved for the life of the process that hands it
// out, that had been committed before, and it was asked for after the last
// Drop.
func (l *simLife) checkReserved(w *sim.World, i sim.Issue) {
	var dropped time.Duration
	for _, d := range l.drops {
		if d.At < i.Begin {
			dropped = d.At
		}
	}
	for _, key := range i.Keys {
		switch n := l.reservation(i, key); {
		case n < 0:
			w.Failf("reserved: process %d.%d handed out key %d at %s, which was not reserved for it",
				i.Process, i.Life, key, i.End)
			return
		case l.commits[n].Asked < dropped:
			w.Failf("dropped: process %d.%d handed out key %d at %s, which it had when it dropped all at %s",
				i.Process, i.Life, key, i.End, dropped)
			return
		}
	}
}

// checkCompared: before a life hands out its first key, and the first one that
// another server has given than the key before, it has looked at the table, at
// that server's if it is another one.
func (l *simLife) checkCompared(w *sim.World, i sim.Issue) {
	n := l.reservation(i, i.Keys[0])
	if n < 0 || l.commits[n].Server == l.server {
		return
	}
	server, known := l.commits[n].Server, l.server != ""
	l.server = server
	if !slices.ContainsFunc(l.commits[:n], func(c *sim.Commit) bool {
		return c.Note == seqMaxKey && c.Read < i.Keys[0] && (c.Server == server || !known)
	}) {
		w.Failf("compared: process %d.%d handed out key %d of %s at %s without looking at the table",
			i.Process, i.Life, i.Keys[0], server, i.End)
	}
}

// checkFollowed: after an Advance no lower key is handed out by this process,
// and no lower one reserved by any, unless the store goes back.
func checkFollowed(w *sim.World, f sim.Follow) {
	for _, i := range w.Issues {
		if i.Process == f.Process && i.Life == f.Life && i.Begin > f.End && i.Keys[0] < f.To {
			w.Failf("followed: process %d.%d handed out key %d at %s after it had advanced to %d",
				i.Process, i.Life, i.Keys[0], i.End, f.To)
		}
	}
	if f.Err != nil || w.Server.Lost() > 0 {
		return
	}
	for _, c := range w.Server.Commits() {
		if from, _ := seqReserved(c); from > 0 && c.Asked > f.End && from < f.To {
			w.Failf("followed: process %d.%d was given %d at %s after the store had advanced to %d",
				c.Process, c.Life, from, c.At, f.To)
		}
	}
}

func TestSequenceSimulation(t *testing.T) { seqTrial(seqMutant{}).Run(t) }

// TestSequenceKilledAtEveryStep kills a process between any two things that it
// does.
func TestSequenceKilledAtEveryStep(t *testing.T) {
	// Worlds without other faults, of blocks of different sizes.
	seeds := []uint64{20}
	if os.Getenv(sim.EnvSeeds) != "" {
		seeds = []uint64{4, 8, 12, 16, 20, 24, 28}
	}
	for _, seed := range seeds {
		runs, w := seqTrial(seqMutant{}).EveryStep(t, seed)
		if w != nil {
			t.Errorf("seed %d, step %d: %s", seed, runs, w.Broken())
		}
		if runs < 100 {
			t.Errorf("seed %d: only %d steps", seed, runs)
		}
		t.Logf("seed %d: %d steps", seed, runs)
	}
}
