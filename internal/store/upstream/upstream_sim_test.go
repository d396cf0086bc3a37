package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// The simulation of an upstream has two servers. The first one has the rows of two shards,
// so that a key of both is a key twice; the central one has the state of the upstream. A
// process belongs to a shard.
const (
	upstreamShards = 2
	centralRow     = "central"

	centralReserve = "central reserve"
	centralAdvance = "central advance"
	shardReserve   = "reserve"
	shardInstall   = "install"
	shardTurn      = "turn"
	shardRaise     = "raise"
)

// shardRow is one of the two rows of a shard.
type shardRow struct {
	Next        int64
	Incarnation string
}

// upstreamConfig is what a seed draws for all processes of its world.
type upstreamConfig struct {
	block, upstream int64
	back            keysource.Remedy
}

func newUpstreamConfig(w *sim.World) upstreamConfig {
	r := rand.New(rand.NewPCG(w.Seed, 2))
	c := upstreamConfig{block: []int64{0, 1, 2, 5}[r.IntN(4)], upstream: []int64{0, 3, 10, 40}[r.IntN(4)]}
	if r.IntN(2) == 0 {
		c.back = keysource.RemedyAdvance
	}
	return c
}

// upstreamMutant changes what stands around the code under test into something wrong.
type upstreamMutant struct {
	name    string
	law     string // that it breaks
	rows    func(*shardRows) upstream.Rows
	central func(*simCentral) keysource.Reserver
	conn    func(*sim.Conn) // to the central server
}

// turns lets one request at a time use a connection, in virtual time.
type turns chan struct{}

func (c turns) do(f func()) {
	c <- struct{}{}
	defer func() { <-c }()
	f()
}

// shardRows are the two rows of a shard, as the statements of this package treat them.
type shardRows struct {
	alwaysOurs

	p    *sim.Process
	conn *sim.Conn
	turn turns
	end  atomic.Int64 // of the block, as the last answer has shown it
}

func (s *shardRows) names() (main, spare string) {
	shard := s.p.Number % upstreamShards
	return fmt.Sprintf("shard %d", shard), fmt.Sprintf("shard %d (spare)", shard)
}

// onShard runs a transaction on the rows.
func onShard[T any](ctx context.Context, s *shardRows, f func(tx *sim.Tx, main, spare shardRow) T) (value T, err error) {
	mainRow, spareRow := s.names()
	s.turn.do(func() {
		value, err = sim.Update(ctx, s.conn, func(tx *sim.Tx) T {
			main, ok := tx.Load(mainRow).(shardRow)
			if !ok {
				main = shardRow{1, mainRow}
			}
			spare, _ := tx.Load(spareRow).(shardRow)
			return f(tx, main, spare)
		})
	})
	return value, err
}

// ReserveRow is the UPDATE of a reservation: from the block that was known, if the row
// still has it.
func (s *shardRows) ReserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	type answer struct {
		got  keysource.Reservation
		end  int64
		none bool
	}
	name, _ := s.names()
	a, err := onShard(ctx, s, func(tx *sim.Tx, main, _ shardRow) answer {
		end := upstream.Level{Block: main.Incarnation}.End()
		a := answer{keysource.Reservation{First: main.Next, Server: tx.Server()}, end, false}
		left := end - main.Next
		switch {
		case main.Next < seen:
			return a
		case left < 1:
			a.none = true
			return a
		case left < n:
			a.got.N, n = left, left
		}
		tx.Note(shardReserve, n)
		tx.Store(name, shardRow{main.Next + n, main.Incarnation})
		return a
	})
	if err != nil {
		return keysource.Reservation{}, err
	}
	if s.end.Store(a.end); a.none {
		return keysource.Reservation{}, keysource.ErrExhausted
	}
	return a.got, nil
}

func (s *shardRows) ReadLevel(ctx context.Context) (upstream.Level, error) {
	l, err := onShard(ctx, s, func(_ *sim.Tx, main, spare shardRow) upstream.Level {
		return upstream.Level{Next: main.Next, Block: main.Incarnation, SpareFirst: spare.Next, Spare: spare.Incarnation}
	})
	if err == nil {
		s.end.Store(l.End())
		if l.Spare == "" {
			l.Spare = "made"
		}
	}
	return l, err
}

// swap replaces a row where its incarnation is still the one that was read.
func (s *shardRows) swap(ctx context.Context, note, name, was string, to func(next int64) shardRow) (bool, error) {
	return onShard(ctx, s, func(tx *sim.Tx, main, spare shardRow) bool {
		now := main
		if note == shardInstall {
			now = spare
		}
		if now.Incarnation != was && !(now.Incarnation == "" && was == "made") {
			return false
		}
		tx.Note(note, 0)
		tx.Store(name, to(now.Next))
		return true
	})
}

func (s *shardRows) Install(ctx context.Context, was upstream.Level, b upstream.Block) (bool, error) {
	_, name := s.names()
	return s.swap(ctx, shardInstall, name, was.Spare, func(int64) shardRow {
		return shardRow{b.First, staterow.WithEnd(was.Block, b.End)}
	})
}

func (s *shardRows) Turn(ctx context.Context, was upstream.Level) (bool, error) {
	name, _ := s.names()
	return s.swap(ctx, shardTurn, name, was.Block, func(next int64) shardRow {
		return shardRow{max(next, was.SpareFirst), staterow.WithEnd(was.Block, was.SpareEnd())}
	})
}

func (s *shardRows) Raise(ctx context.Context, to int64) error {
	name, _ := s.names()
	_, err := onShard(ctx, s, func(tx *sim.Tx, main, _ shardRow) bool {
		if main.Next < to {
			tx.Note(shardRaise, to)
			tx.Store(name, shardRow{to, main.Incarnation})
		}
		return true
	})
	return err
}

func (s *shardRows) BlockEnd() int64 { return s.end.Load() }

// simCentral is the state of the upstream.
type simCentral struct {
	p    *sim.Process
	conn *sim.Conn
	turn turns
}

func (s *simCentral) Reserve(ctx context.Context, n, seen int64) (got keysource.Reservation, err error) {
	s.turn.do(func() {
		got, err = sim.Update(ctx, s.conn, func(tx *sim.Tx) keysource.Reservation {
			next := max(tx.Get(centralRow), 1)
			if next >= seen {
				tx.Note(centralReserve, n)
				tx.Set(centralRow, next+n)
			}
			return keysource.Reservation{First: next, Server: tx.Server()}
		})
	})
	return got, err
}

func (s *simCentral) Advance(ctx context.Context, to int64) (err error) {
	s.turn.do(func() {
		_, err = sim.Update(ctx, s.conn, func(tx *sim.Tx) bool {
			if tx.Get(centralRow) < to {
				tx.Note(centralAdvance, to)
				tx.Set(centralRow, to)
			}
			return true
		})
	})
	return err
}

// simUpstream is a sequence with an upstream in a process of the simulation.
type simUpstream struct {
	*counting.Sequence
	upstream *upstream.Upstream
}

func (s simUpstream) Next(ctx context.Context, n int) ([]int64, error) {
	first, err := s.Sequence.Reserve(ctx, int64(n))
	if err != nil {
		return nil, err
	}
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = first + int64(i)
	}
	return keys, nil
}

func (s simUpstream) Close(ctx context.Context) error {
	return errors.Join(s.Sequence.Close(ctx), s.upstream.Close(ctx))
}

// upstreamTrial returns the trial of sequences with an upstream, or of a mutant of them.
// What is checked in every world, besides the laws of package sim:
//
//	blocks     every key lies in a block that the central server has given, and that was
//	           committed there before
//	followed   after an Advance the central server gives no lower integers
//
// A key may come twice where a server has lost the commit that reserved it: the first
// server's, for one of the two processes; or the central one's, for processes of two
// shards. In one shard the rows remember what they have had.
func upstreamTrial(m upstreamMutant) *sim.Trial {
	return &sim.Trial{
		// Not Steady: while there are keys of an old block, what the central server has refused
		// is the answer for a second more.
		Central: true, Faults: sim.AllFaults(), Contiguous: true, Ordered: true,
		Open:     func(p *sim.Process) (sim.Source, error) { return openUpstream(p, m) },
		Recovery: func(*sim.World) time.Duration { return 40 * time.Second },
		Excuse:   excuseUpstream,
		Reserves: reservesUpstream,
		Allow:    allowUpstream,
		Repair:   repairUpstream,
		Check:    checkUpstream,
	}
}

func openUpstream(p *sim.Process, m upstreamMutant) (sim.Source, error) {
	c := newUpstreamConfig(p.World)
	rows := &shardRows{p: p, conn: p.Conn(), turn: make(turns, 1)}
	central := &simCentral{p: p, conn: p.ConnTo(p.World.Central), turn: make(turns, 1)}
	if m.conn != nil {
		m.conn(central.conn)
	}
	env := keysource.Env{Now: p.Now}
	u, err := upstream.New(upstream.Options{
		Store: "central", Block: c.upstream, Lasts: 2 * time.Second, OnStoreRollback: c.back, Env: env,
		Open: func(int64, bool) (keysource.Reserver, error) {
			if m.central != nil {
				return m.central(central), nil
			}
			return central, nil
		},
	})
	if err != nil {
		return nil, err
	}
	var of upstream.Rows = rows
	if m.rows != nil {
		of = m.rows(rows)
	}
	o := counting.SequenceOptions{Reserver: over(u, of), Block: c.block, OnStoreRollback: c.back}
	if c.block == 0 {
		o.MinBlock, o.MaxBlock = 2, 50
	}
	s, err := counting.NewSequence(o, env)
	return simUpstream{s, u}, err
}

// given returns the integers that a commit of the first server has reserved.
func given(c *sim.Commit) (first, end int64) {
	if c.Note != shardReserve || len(c.Changes) != 1 {
		return 0, 0
	}
	to := c.Changes[0].New.(shardRow).Next
	return to - c.Read, to
}

// reservesUpstream reports whether a commit of either server has reserved a key.
func reservesUpstream(_ *sim.World, c *sim.Commit, key int64) bool {
	first, end := given(c)
	return first <= key && key < end || c.Note == centralReserve && max(c.Old, 1) <= key && key < c.New
}

func excuseUpstream(w *sim.World, a, b sim.Issue, key int64) bool {
	for _, c := range w.Server.Commits() {
		mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
		if first, end := given(c); c.Lost && mine && first <= key && key < end {
			return true
		}
	}
	return a.Process%upstreamShards != b.Process%upstreamShards && slices.ContainsFunc(w.Central.Commits(), func(c *sim.Commit) bool {
		return c.Lost && c.Note == centralReserve && max(c.Old, 1) <= key && key < c.New
	})
}

// allowUpstream: an error needs its cause.
func allowUpstream(w *sim.World, err error) bool {
	lost := w.Server.Lost()+w.Server.Switches()+w.Central.Lost()+w.Central.Switches() > 0
	switch {
	case errors.Is(err, keysource.ErrStoreBack):
		return lost && newUpstreamConfig(w).back != keysource.RemedyAdvance
	case errors.Is(err, keysource.ErrStoreBehind):
		return lost // before the first block of a process, which knows no earlier state
	case errors.Is(err, context.DeadlineExceeded):
		return true // the time of the request, and perhaps of an attempt, was over
	}
	return errors.Is(err, keysource.ErrStoreDown) && len(w.Faults) > 0
}

// repairUpstream sets servers that have gone back above all that they have ever given.
func repairUpstream(w *sim.World) {
	if newUpstreamConfig(w).back == keysource.RemedyAdvance {
		return
	}
	var most int64
	for _, c := range w.Central.Commits() {
		most = max(most, c.New)
	}
	if w.Central.Lost() > 0 {
		w.Central.Raise(centralRow, most)
	}
	if w.Server.Lost() == 0 {
		return
	}
	reserved := map[string]int64{}
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			if row, ok := change.New.(shardRow); ok && (c.Note == shardReserve || c.Note == shardRaise) {
				reserved[change.Row] = max(reserved[change.Row], row.Next)
			}
		}
	}
	w.Server.Edit(func(tx *sim.Tx) {
		for name, to := range reserved {
			row, ok := tx.Load(name).(shardRow)
			if !ok {
				row = shardRow{1, name}
			}
			row.Next = max(row.Next, to)
			tx.Store(name, row)
		}
	})
}

// checkUpstream checks what only sequences with an upstream promise.
func checkUpstream(w *sim.World) {
	blocks := slices.DeleteFunc(slices.Clone(w.Central.Commits()), func(c *sim.Commit) bool { return c.Note != centralReserve })
	for _, i := range w.Issues {
		for _, key := range i.Keys {
			if !slices.ContainsFunc(blocks, func(c *sim.Commit) bool {
				return c.At <= i.End && max(c.Old, 1) <= key && key < c.New
			}) {
				w.Failf("blocks: process %d.%d handed out key %d at %s, which the central server had not given", i.Process, i.Life, key, i.End)
				return
			}
		}
	}
	for _, f := range w.Follows {
		for _, c := range w.Central.Commits() {
			if f.Err == nil && w.Central.Lost() == 0 && c.Note == centralReserve && c.Asked > f.End && max(c.Old, 1) < f.To {
				w.Failf("followed: process %d.%d was given %d at %s after an advance to %d", c.Process, c.Life, c.Old, c.At, f.To)
				return
			}
		}
	}
}

func TestUpstreamSimulation(t *testing.T) { upstreamTrial(upstreamMutant{}).Run(t) }
