package counting_test

import (
	"context"
	"math/rand/v2"
	"os"
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
	*counting.Sequence
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
	rows     *reserver.Reserver
	p        *sim.Process
	turn     turns // to advance: while the fetch is in flight, and others advance too
	sequence *counting.Sequence
	server   string // that answered last
}

// seqStores returns the stores of a life, with the row of a sequence that ends with last; 0:
// never.
func seqStores(p *sim.Process, c seqConfig, m mutate, last int64) (*simStores, *simStore, error) {
	stores := newSimStores(p, m)
	st := stores.network()
	q := sequence.Sequence{Name: "sequence", Columns: simColumns, Create: true, Bounds: sequence.Bounds{Max: last}}
	s := &simStore{rows: reserver.New(st, q), p: p, turn: make(turns, 1)}
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
	store  func(*simStore, *counting.Sequence) keysource.Reserver
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
			o := counting.SequenceOptions{
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
			s, err := counting.NewSequence(o, keysource.Env{Now: p.Now})
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
