package counting_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// simOn is a Sequence on the statements' connections, in a process of the
// simulation.
type simOn struct {
	simSequence
	p      *sim.Process
	c      seqConfig
	client *simdb.Client
	rows   *reserver.Reserver
}

// joiner is what a mutant is made of.
type joiner interface {
	sim.Source
	sim.Joiner
}

func (s simOn) NextOn(ctx context.Context, n int, c *sim.Session) ([]int64, error) {
	return s.reserve(ctx, n, s.at(c))
}

func (s simOn) AdvanceOn(ctx context.Context, to int64, c *sim.Session) error {
	return s.Sequence.AdvanceOn(ctx, to, s.at(c))
}

func (s simOn) reserve(ctx context.Context, n int, at counting.At) ([]int64, error) {
	first, err := s.ReserveOn(ctx, int64(n), at)
	if err != nil {
		return nil, err
	}
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = first + int64(i)
	}
	return keys, nil
}

func (s simOn) at(c *sim.Session) counting.At {
	file := simFile{s, c}
	at := counting.At{Reserver: file, Open: c.Open()}
	if s.c.compares {
		at.MaxKey = s.rows.At(file.store()).MaxKey
	}
	return at
}

// open opens the row of a life.
func (s *simOn) open() error {
	stores := newSimStores(s.p, mutate{db: simSQLite, edit: namedServer})
	s.client = stores.client
	s.rows = reserver.New(store.On(simSQLite.Dialect(), nil), sequence.Sequence{Name: "sequence", Columns: simColumns, Create: true})
	if s.c.opens {
		return nil
	}
	return stores.directly(func(direct *store.Store) error { return s.rows.At(direct).Open(context.Background()) })
}

// namedServer makes the file identify its server. SQLite's has no identity; the laws hold
// for any source on the connections of statements.
func namedServer(text string) string {
	return strings.ReplaceAll(text, "incarnation, ''", "incarnation, sim_server()")
}

// simFile is the store of a simOn on one session, with what is done to it, for the laws.
type simFile struct {
	s simOn
	c *sim.Session
}

// store returns the store as the session sees it.
func (f simFile) store() *store.Store {
	d, conn := f.s.client.DB.Dialect(), f.s.client.On(f.c)
	if f.c.Open() {
		return store.Within(d, conn)
	}
	return store.On(d, conn)
}

func (f simFile) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	rows := f.s.rows.At(f.store())
	if f.c.Open() {
		rows = rows.AllOrNone()
	}
	r, err := rows.Reserve(simdb.Doing(ctx, seqReserve, 0), n, seen)
	if err == nil && r.First < seen && f.s.Stats().Fetches > 0 {
		f.s.p.NoteDrop() // the sequence has to
	}
	return r, err
}

func (f simFile) Advance(ctx context.Context, to int64) error {
	return f.s.rows.At(f.store()).Advance(simdb.Doing(ctx, seqAdvance, to), to)
}

// onTrial returns the trial of sequences on the statements' connections, or of a mutant
// of them. The laws are as of seqTrial, except these:
//
//	unique, ordered   are not asked of keys that were reserved in a transaction
//	                  which was rolled back or lost, and their rows with it
//	reserved          the transaction that has reserved a key may be the one
//	                  that it is drawn in
//	dropped           is not asked of what another server has shown
func onTrial(mutant func(simOn) joiner) *sim.Trial {
	return &sim.Trial{
		Faults: []sim.Fault{sim.Rollback, sim.Refuse, sim.Failover, sim.Restore, sim.Kill, sim.Pause, sim.ClockOff,
			sim.ClockStep, sim.Collide},
		Contiguous: true,
		Ordered:    true,
		// Not Steady: the operator waits for a transaction to end, and keys in
		// hand are handed out before he is done.
		Open: func(p *sim.Process) (sim.Source, error) {
			c := newSeqConfig(p.World)
			s, err := counting.NewSequence(counting.SequenceOptions{
				OnConnection:    true,
				Block:           c.block,
				MinBlock:        c.least,
				MaxBlock:        c.most,
				OnStoreRollback: c.back,
				OnBehind:        c.behind,
			}, keysource.Env{Now: p.Now})
			if err != nil {
				return nil, err
			}
			on := simOn{simSequence: simSequence{s, nil}, p: p, c: c}
			if err := on.open(); err != nil {
				return nil, err
			}
			if mutant != nil {
				return mutant(on), nil
			}
			return on, nil
		},
		Recovery: func(*sim.World) time.Duration { return 11 * time.Second },
		Excuse:   excuseLost,
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return reserves(c, key) },
		Void: func(_ *sim.World, i sim.Issue) bool {
			c := drawnIn(i)
			return c != nil && (c.Lost || i.Transaction.Undone)
		},
		Allow: func(w *sim.World, err error) bool {
			for _, cause := range []error{sim.ErrRefused, sim.ErrReset, sim.ErrRolledBack} {
				if errors.Is(err, cause) {
					return len(w.Faults) > 0
				}
			}
			if strings.Contains(err.Error(), "removed as soon as it was made") {
				return w.Server.Lost() > 0 // the store's own words, on the application's connection
			}
			return errors.Is(err, sim.ErrBusy) || allowSequence(w, err)
		},
		Repair: repairSequence,
		Check:  checkOn,
	}
}

// drawnIn returns the statement by which an issue's keys were reserved in its
// own transaction; nil: they were not.
func drawnIn(i sim.Issue) *sim.Commit {
	if i.Transaction == nil {
		return nil
	}
	for _, c := range slices.Backward(i.Transaction.Statements) {
		if c.Asked <= i.End && reserves(c, i.Keys[0]) {
			return c
		}
	}
	return nil
}

// advancedIn reports whether an issue's transaction has advanced the store for it.
func advancedIn(i sim.Issue) bool {
	return i.Transaction != nil && slices.ContainsFunc(i.Transaction.Statements, func(c *sim.Commit) bool {
		return c.Note == seqAdvance && i.Begin <= c.Asked && c.Asked <= i.End
	})
}

// checkOn checks what only sequences promise.
func checkOn(w *sim.World) {
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
	for _, c := range slices.Concat(w.Server.Commits(), w.Server.Undone()) {
		if c.Note == seqMaxKey {
			l := of(c.Process, c.Life)
			l.looks = append(l.looks, c)
		}
	}
	for _, d := range w.Drops {
		l := of(d.Process, d.Life)
		l.drops = append(l.drops, d)
	}
	for _, i := range w.Issues {
		of(i.Process, i.Life).checkDrawn(w, i)
		if len(w.Broken()) > 0 {
			return
		}
	}
	for _, f := range w.Follows {
		if f.Transaction == nil || !f.Transaction.Undone {
			checkFollowed(w, f)
		}
	}
}

// checkDrawn checks that an issue was reserved for its life, after the last
// Drop, and that its life has looked at the table before its first key.
func (l *simLife) checkDrawn(w *sim.World, i sim.Issue) {
	c := drawnIn(i)
	if c == nil {
		l.checkReserved(w, i)
		n := l.reservation(i, i.Keys[0])
		if n < 0 {
			return
		}
		c = l.commits[n]
	}
	server, known := c.Server, l.server != ""
	if !newSeqConfig(w).compares || server == l.server {
		return
	}
	if !advancedIn(i) { // else the source has to look again, since a rollback may undo that
		l.server = server
	}
	if !slices.ContainsFunc(l.looks, func(look *sim.Commit) bool {
		return look.Asked <= i.End && look.Read < i.Keys[0] && (look.Server == server || !known)
	}) {
		w.Failf("compared: process %d.%d handed out key %d of %s at %s without looking at the table",
			i.Process, i.Life, i.Keys[0], server, i.End)
	}
}

func TestSequenceOnConnectionSimulation(t *testing.T) { onTrial(nil).Run(t) }

// TestSequenceOnConnectionKilledAtEveryStep kills a process between any two things that it
// does.
func TestSequenceOnConnectionKilledAtEveryStep(t *testing.T) {
	// Worlds without other faults, of blocks of different sizes.
	seeds := []uint64{20}
	if os.Getenv(sim.EnvSeeds) != "" {
		seeds = []uint64{8, 12, 16}
	}
	for _, seed := range seeds {
		runs, w := onTrial(nil).EveryStep(t, seed)
		if w != nil {
			t.Errorf("seed %d, step %d: %s", seed, runs, w.Broken())
		}
		if runs < 100 {
			t.Errorf("seed %d: only %d steps", seed, runs)
		}
		t.Logf("seed %d: %d steps", seed, runs)
	}
}
