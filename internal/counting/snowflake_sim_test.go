package counting_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// flakeMark is what a transaction that raises a mark is for.
const flakeMark = "mark"

// flakeConfig is what a seed draws for all processes of its world.
type flakeConfig struct {
	bits   keysource.SnowflakeBits
	shared bool // all processes have one number, as they must not
}

func newFlakeConfig(w *sim.World) flakeConfig {
	draw := w.Seed >> 2 // the last two bits say whether there are faults
	bits := []keysource.SnowflakeBits{
		{},
		keysource.SnowflakeBits53(),
		// Few enough keys to be used up.
		{Time: 41, Worker: 10, Sequence: 5},
		{Time: 38, Worker: 10, Sequence: 5, Unit: 10 * time.Millisecond},
		{Time: 35, Worker: 10, Sequence: 6, Unit: 250 * time.Millisecond},
		{Time: 32, Worker: 10, Sequence: 10, Unit: time.Second},
	}
	return flakeConfig{bits[draw%6], draw/6%2 == 0}
}

// number returns the worker's number of a process.
func (c flakeConfig) number(process int) int {
	if c.shared {
		return 7
	}
	return process
}

// timeOf returns the time of a key in milliseconds since 1970.
func (c flakeConfig) timeOf(key int64) int64 {
	return counting.TimeOf(c.bits, key).UnixMilli()
}

// simFlake is a Snowflake in a process of the simulation.
type simFlake struct {
	*counting.Snowflake
	p      *sim.Process
	c      flakeConfig
	ahead  time.Duration // of its clock: less than that
	stores *simStores    // of its mark; nil without one
}

func (s simFlake) Close(ctx context.Context) error {
	if s.stores != nil {
		defer s.stores.close()
	}
	return s.Snowflake.Close(ctx)
}

func (s simFlake) Next(ctx context.Context, n int) ([]int64, error) {
	first, err := s.Reserve(ctx, int64(n))
	if errors.Is(err, keysource.ErrClock) && sinceBegin() > s.p.World.Calm() {
		// Only time helps, a day of it perhaps. Do not ask all the time.
		select {
		case <-time.After(time.Hour):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return nil, err
	}
	w := s.p.World
	if ahead := time.Duration(s.c.timeOf(first)-s.p.Now().UnixMilli()) * time.Millisecond; ahead >= s.ahead &&
		!w.Has(sim.ClockStep) {
		w.Failf("borrow: process %d.%d got keys of %s ahead", s.p.Number, s.p.Life, ahead)
	}
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = first + int64(i)
	}
	return keys, nil
}

// sinceBegin returns the time since a bubble began.
func sinceBegin() time.Duration {
	return time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
}

// simMarker says what is done to a mark, for the laws.
type simMarker struct{ keysource.Marker }

func markerOf(st *store.Store, number int, owner string) keysource.Marker {
	return simMarker{worker.New(st, worker.Worker{Name: "flakes", Number: int64(number), Owner: owner})}
}

func (m simMarker) Mark(ctx context.Context, until int64) (int64, error) {
	return m.Marker.Mark(simdb.Doing(ctx, flakeMark, 0), until)
}

// marked returns the milliseconds that a commit has reserved: from from to to-1.
func marked(c *sim.Commit) (from, to int64) {
	if c.Note != flakeMark || len(c.Changes) == 0 {
		return 0, 0
	}
	old, now := simdb.Of(workerTable, c.Changes[0].Old), simdb.Of(workerTable, c.Changes[0].New)
	return old.Int("reserved_until"), now.Int("reserved_until")
}

// flakeMutant changes a source of the simulation into one that is wrong.
type flakeMutant struct {
	name    string
	restart bool // found where no two processes have one number, too
	alone   bool // no two have
	marker  func(keysource.Marker, flakeConfig) keysource.Marker
	source  func(simFlake) sim.Source
	mutate

	// bits are the bits of a world; nil: as the seed draws them.
	bits func(*sim.World) keysource.SnowflakeBits
}

// config returns what a seed draws.
func (m flakeMutant) config(w *sim.World) flakeConfig {
	c := newFlakeConfig(w)
	c.shared = c.shared && !m.alone
	if m.bits != nil {
		c.bits = m.bits(w)
	}
	return c
}

// flakeTrial returns the trial of snowflakes, or of a mutant of them.
func flakeTrial(m flakeMutant) *sim.Trial {
	return &sim.Trial{
		Faults:     sim.AllFaults(),
		Contiguous: true,
		Ordered:    true,
		Open: func(p *sim.Process) (sim.Source, error) {
			c := m.config(p.World)
			number := c.number(p.Number)
			stores := newSimStores(p, m.mutate)
			marker := markerOf(stores.network(), number, fmt.Sprintf("%d.%d", p.Number, p.Life))
			o := keysource.SnowflakeOptions{Bits: c.bits, Worker: &number, Marker: marker}
			if m.marker != nil {
				o.Marker = m.marker(marker, c)
			}
			return openFlake(p, c, o, stores, m.source)
		},
		Recovery: recoverFlake,
		Excuse: func(w *sim.World, a, b sim.Issue, key int64) bool {
			return excuseMark(w, m.config(w), a, b, key)
		},
		Reserves: func(w *sim.World, c *sim.Commit, key int64) bool { return marks(m.config(w), c, key) },
		Allow: func(w *sim.World, err error) bool {
			switch {
			case errors.Is(err, keysource.ErrClock):
				return w.Has(sim.ClockStep) || w.Has(sim.ClockOff) && newFlakeConfig(w).shared
			case errors.Is(err, context.DeadlineExceeded):
				return true // the time of the request was over, and perhaps the time of an attempt
			case errors.Is(err, keysource.ErrStoreDown):
				return len(w.Faults) > 0
			case errors.Is(err, keysource.ErrWorkerTaken):
				return newFlakeConfig(w).shared
			}
			return false
		},
		Check: func(w *sim.World) { checkMarked(w, m.config(w)) },
	}
}

func openFlake(p *sim.Process, c flakeConfig, o keysource.SnowflakeOptions, stores *simStores, mutate func(simFlake) sim.Source) (sim.Source, error) {
	s, err := counting.NewSnowflake(nil, o, keysource.Env{Now: p.Now})
	if err != nil {
		return nil, err
	}
	flake := simFlake{s, p, c, 3 * time.Second, stores}
	if o.Marker == nil {
		flake.ahead = time.Second
	}
	if mutate != nil {
		return mutate(flake), nil
	}
	return flake, nil
}

// recoverFlake: where a clock may have been a day ahead, no process can go on
// before it has come there.
func recoverFlake(w *sim.World) time.Duration {
	switch {
	case w.Has(sim.ClockStep) || w.Has(sim.ClockOff):
		return 30 * 24 * time.Hour
	case newFlakeConfig(w).shared: // and one tick for all of them in a second
		return 30 * time.Second
	case w.Has(sim.Silence) || w.Has(sim.Loss) || w.Has(sim.Pause):
		// A call that gets no answer has eight seconds at most.
		return 11 * time.Second
	}
	return 3 * time.Second
}

// excuseMark: a key may be handed out twice if the commit that reserved its time was
// lost, and its owner does not know.
func excuseMark(w *sim.World, config flakeConfig, a, b sim.Issue, key int64) bool {
	for _, c := range w.Server.Commits() {
		mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
		if c.Lost && mine && marks(config, c, key) {
			return true
		}
	}
	return false
}

// marks reports whether a commit raised the mark over the time of a key.
func marks(config flakeConfig, c *sim.Commit, key int64) bool {
	at := config.timeOf(key)
	from, to := marked(c)
	return from <= at && at < to
}

// checkMarked: the time of a key was reserved for the life of the process that
// hands it out, that had been committed before, and the reservation was asked
// for after the last Drop.
func checkMarked(w *sim.World, config flakeConfig) {
	type life struct{ process, number int }
	commits := map[life][]*sim.Commit{}
	for _, c := range w.Server.Commits() {
		l := life{c.Process, c.Life}
		commits[l] = append(commits[l], c)
	}
	for _, i := range w.Issues {
		var dropped time.Duration
		for _, d := range w.Drops {
			if d.Process == i.Process && d.Life == i.Life && d.At < i.Begin {
				dropped = d.At
			}
		}
		reserved := false
		for _, c := range commits[life{i.Process, i.Life}] {
			reserved = reserved || dropped <= c.Asked && c.At <= i.End && marks(config, c, i.Keys[0])
		}
		if !reserved {
			w.Failf("marked: process %d.%d handed out keys %v at %s, whose time was not reserved for it",
				i.Process, i.Life, i.Keys, i.End)
			return
		}
	}
}

func TestSnowflakeSimulation(t *testing.T) { flakeTrial(flakeMutant{}).Run(t) }

// unmarkedTrial returns the trial of snowflakes without a Marker, each process
// with its own number, or of a mutant of them. Its clocks are not set.
func unmarkedTrial(mutate func(simFlake) sim.Source) *sim.Trial {
	return &sim.Trial{
		Faults:     []sim.Fault{sim.Kill, sim.Pause, sim.ClockOff},
		Contiguous: true,
		Ordered:    true,
		Open: func(p *sim.Process) (sim.Source, error) {
			c := newFlakeConfig(p.World)
			return openFlake(p, c, keysource.SnowflakeOptions{Bits: c.bits, Worker: &p.Number}, nil, mutate)
		},
		Recovery: func(*sim.World) time.Duration { return 3 * time.Second },
		Allow:    func(_ *sim.World, err error) bool { return errors.Is(err, context.DeadlineExceeded) },
	}
}

func TestSnowflakeUnmarkedSimulation(t *testing.T) { unmarkedTrial(nil).Run(t) }

// TestSnowflakeKilledAtEveryStep kills a process between any two things that it
// does.
func TestSnowflakeKilledAtEveryStep(t *testing.T) {
	// Worlds without other faults, in which processes share a number or not.
	seeds := []uint64{12}
	if os.Getenv(sim.EnvSeeds) != "" {
		seeds = []uint64{4, 8, 12, 16, 20, 24, 28}
	}
	for _, seed := range seeds {
		runs, w := flakeTrial(flakeMutant{}).EveryStep(t, seed)
		if w != nil {
			t.Errorf("seed %d, step %d: %s", seed, runs, w.Broken())
		}
		if runs < 100 {
			t.Errorf("seed %d: only %d steps", seed, runs)
		}
		t.Logf("seed %d: %d steps", seed, runs)
	}
}
