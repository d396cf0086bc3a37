package keyfilletcd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// What requests are for, in the story of a world and for its laws.
const (
	toReserve = "reserve"
	toAdvance = "advance"
	toMove    = "move"
	toTake    = "take over"
	toOpen    = "open"
	toLook    = "look for its own"
	toGiveUp  = "give up"
	toMark    = "mark"
)

// etcdFaults are the faults of the trials on etcd. Silence is a cluster that has lost its
// leader, Rollback a proposal that was dropped, Restore a copy of a member's data from
// before, and Failover a new cluster from a snapshot.
func etcdFaults() []sim.Fault {
	return append(sim.AllFaults(), sim.Partition)
}

// mutant changes a source on etcd into one that is wrong: by what stands between it and the
// cluster.
type mutant struct {
	name, law string
	kv        func(*client) etcdserverpb.KVClient
	leases    func(*client) etcdserverpb.LeaseClient
	marker    func(keysource.Marker) keysource.Marker
}

// open opens a store in a process of the simulation.
func (m mutant) open(p *sim.Process) (keysource.Store, *client) {
	c := newClient(p)
	var kv etcdserverpb.KVClient = c
	var leases etcdserverpb.LeaseClient = c
	if m.kv != nil {
		kv = m.kv(c)
	}
	if m.leases != nil {
		leases = m.leases(c)
	}
	below := p.Rand()
	return keyfilletcd.NewStoreOver(kv, leases, &seeded{below: below}), c
}

// seeded are random numbers of the world's seed.
type seeded struct {
	mu    sync.Mutex
	below func(int) int
}

func (s *seeded) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(s.below(1<<31))<<33 | uint64(s.below(1<<31))<<2
}

// doing is the context of a request that is for something.
func doing(ctx context.Context, what string) context.Context {
	return context.WithValue(ctx, purpose{}, what)
}

// etcdConfig is what a seed draws for all processes of its world.
type etcdConfig struct {
	block, least, most int64
	remedy             keysource.Remedy // where the store has gone back, or is behind
	size               int64
	lease              time.Duration
}

func newEtcdConfig(w *sim.World) etcdConfig {
	r := rand.New(rand.NewPCG(w.Seed, 1))
	c := etcdConfig{
		block: []int64{0, 0, 0, 1, 3, 20}[r.IntN(6)], remedy: keysource.RemedyAdvance,
		size:  []int64{30, 100, 1000}[r.IntN(3)],
		lease: []time.Duration{time.Second, 3 * time.Second, 6 * time.Second}[r.IntN(3)],
	}
	if c.block == 0 {
		c.least, c.most = 2, 50
	}
	if r.IntN(3) == 0 {
		c.remedy = keysource.RemedyError
	}
	return c
}

// stateKey is the key of the state in the cluster, and countKeys begins the keys of its counts.
const (
	stateKey  = keyfilletcd.DefaultPrefix + "states/orders"
	countKeys = keyfilletcd.DefaultPrefix + "counts/orders/"
)

// standsRow is the row of the simulated server that says where the sequence stands, by the
// keys of the state, so that the laws find it in the commits.
const standsRow = "where the sequence stands"

// stands is the next integer of a sequence.
type stands int64

func (s stands) String() string { return fmt.Sprint(int64(s)) }

// stand writes where the sequence stands.
func stand(tx *sim.Tx) {
	state, ok := tx.Load(stateKey).(item)
	if !ok || !strings.Contains(state.value, `"kind":"sequence"`) {
		if tx.Load(standsRow) != nil {
			tx.Store(standsRow, nil)
		}
		return
	}
	now := stands(baseOf(state))
	for row, value := range tx.All() {
		if digits, found := strings.CutPrefix(row, countKeys); found {
			each, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				panic(err)
			}
			now += stands(each * value.(item).version)
		}
	}
	if tx.Load(standsRow) != now {
		tx.Store(standsRow, now)
	}
}

// simState is the state of the sources, which begins above what is in the table.
func simState(w *sim.World) keysource.State {
	st := state("orders")
	st.Max = 1 << 40
	st.First = func(context.Context) (int64, error) { return w.Server.MaxKey() + 1, nil }
	return st
}

// simSequence is a Sequence on etcd in a process of the simulation.
type simSequence struct{ *counting.Sequence }

func (s simSequence) Next(ctx context.Context, n int) ([]int64, error) {
	return run(s.Reserve(ctx, int64(n)))(n)
}

// run returns the n keys from first on.
func run(first int64, err error) func(n int) ([]int64, error) {
	return func(n int) ([]int64, error) {
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

// simReserver says what is reserved for the laws, and watches what the store says of the
// cluster.
type simReserver struct {
	keysource.Reserver
	p      *sim.Process
	client *client

	server   string // that the store has named last
	goneBack int    // how often the cluster had gone back by then
}

func (r *simReserver) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := r.Reserver.Reserve(doing(ctx, toReserve), n, seen)
	if err != nil {
		return got, err
	}
	back := r.client.goneBack()
	if r.server == got.Server && back > r.goneBack {
		r.p.World.Failf("restored: process %d.%d takes a cluster for the same one that it has seen go back", r.p.Number, r.p.Life)
	}
	r.server, r.goneBack = got.Server, back
	return got, nil
}

func (r *simReserver) Advance(ctx context.Context, to int64) error {
	return r.Reserver.Advance(doing(ctx, toAdvance), to)
}

// sequenceTrial returns the trial of sequences on etcd, or of a mutant of them. What is
// checked in every world, besides the laws of package sim:
//
//	reserved  every key was reserved for the life that hands it out, by a transaction that
//	          had happened before
//	dropped   after a Drop no key of an earlier reservation is handed out
//	followed  after an Advance no lower key is reserved by any process
//	restored  a process that has seen the revision of its cluster go back takes it for
//	          another server
//
// Where a snapshot was restored, two lives may hand out one key if the transaction that
// reserved it for one of them was lost.
func sequenceTrial(m mutant) *sim.Trial {
	return &sim.Trial{
		Begin:      func(w *sim.World) { w.Model = newCluster() },
		Apart:      true,
		Seeds:      30,
		Faults:     etcdFaults(),
		Contiguous: true,
		Ordered:    true,
		Open: func(p *sim.Process) (sim.Source, error) {
			c := newEtcdConfig(p.World)
			store, client := m.open(p)
			s, err := counting.NewSequence(counting.SequenceOptions{
				Reserver: &simReserver{Reserver: store.Reserver(simState(p.World)), p: p, client: client},
				Block:    c.block, MinBlock: c.least, MaxBlock: c.most,
				OnStoreRollback: c.remedy, OnBehind: c.remedy,
				MaxKey: func(context.Context) (int64, error) { return p.World.Server.MaxKey(), nil },
			}, keysource.Env{Now: p.Now})
			return simSequence{s}, err
		},
		Recovery: func(*sim.World) time.Duration { return 15 * time.Second },
		Excuse:   excuseBy(sequenceMoved),
		Reserves: func(_ *sim.World, c *sim.Commit, key int64) bool { return within(sequenceMoved, c, key) },
		Allow:    allowEtcd,
		Repair:   repairSequence,
		Check: func(w *sim.World) {
			checkReserved(w, sequenceMoved, true)
			checkFollowed(w)
		},
	}
}

// nextOf returns the next integer of a series; 0: it is not there.
func nextOf(value any) int64 { return field(value, "next") }

// baseOf returns the base of a state; 0: it is not there.
func baseOf(value any) int64 { return field(value, "base") }

// field returns an integer in the value of a key.
func field(value any, name string) int64 {
	i, ok := value.(item)
	if !ok || i.value == "" {
		return 0
	}
	var of map[string]any
	if err := json.Unmarshal([]byte(i.value), &of); err != nil {
		panic(err)
	}
	n, _ := of[name].(float64) // which has all integers of the simulation
	return int64(n)
}

// sequenceMoved returns the integers that a commit has reserved: [from, to).
func sequenceMoved(c *sim.Commit) (from, to int64) {
	if c.Note != toReserve {
		return 0, 0
	}
	for _, change := range c.Changes {
		if change.Row == standsRow && change.Old != nil && change.New != nil {
			return int64(change.Old.(stands)), int64(change.New.(stands))
		}
	}
	return 0, 0
}

// moved is such a function.
type moved func(*sim.Commit) (from, to int64)

func within(of moved, c *sim.Commit, key int64) bool {
	from, to := of(c)
	return from <= key && key < to
}

// excuseBy: a key may be handed out twice if the commit that reserved it was lost.
func excuseBy(of moved) func(w *sim.World, a, b sim.Issue, key int64) bool {
	return func(w *sim.World, a, b sim.Issue, key int64) bool {
		for _, c := range w.Server.Commits() {
			mine := c.Process == a.Process && c.Life == a.Life || c.Process == b.Process && c.Life == b.Life
			if c.Lost && mine && within(of, c, key) {
				return true
			}
		}
		return false
	}
}

// allowEtcd: an error needs its cause.
func allowEtcd(w *sim.World, err error) bool {
	switch {
	case errors.Is(err, keysource.ErrStoreBack), errors.Is(err, keysource.ErrStoreBehind), errors.Is(err, keysource.ErrStoreState):
		// The state may be gone altogether.
		return w.Server.Lost()+w.Server.Switches() > 0 || w.Has(sim.Meddle)
	case errors.Is(err, context.DeadlineExceeded):
		return true // the time of the request, and perhaps of an attempt, was over
	}
	return errors.Is(err, keysource.ErrStoreDown) && len(w.Faults) > 0
}

// repairSequence acts as the operator: it raises the state after a restore above all
// integers that were ever reserved, or makes it again.
func repairSequence(w *sim.World) {
	if w.Server.Lost()+w.Server.Switches() == 0 {
		return
	}
	to := w.Server.MaxKey() + 1
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			if now, ok := change.New.(stands); ok {
				to = max(to, int64(now))
			}
		}
	}
	w.Server.Edit(func(tx *sim.Tx) {
		raise(tx, stateKey, "sequence", to)
		stand(tx)
	})
}

// raise raises the base of a state, or makes the state again.
func raise(tx *sim.Tx, state, kind string, to int64) {
	at := revision(tx) + 1
	old, ok := tx.Load(state).(item)
	if !ok {
		old = item{created: at, value: `{"kind":"` + kind + `","parameters":"p","incarnation":"by hand"}`}
	}
	if baseOf(old) >= to {
		return
	}
	old.value, old.modified, old.version = with(old, "base", to), at, old.version+1
	tx.Store(state, old)
	tx.Set(revisionRow, at)
}

// repairEtcd acts as the operator: it raises the state after a restore, or makes it
// again, above all integers that were ever reserved, and above all series.
func repairEtcd(w *sim.World, state, kind string) {
	if w.Server.Lost()+w.Server.Switches() == 0 && !w.Has(sim.Meddle) {
		return
	}
	for range 12 { // what a process gives back then may be another one's
		raiseEtcd(w, state, kind)
		time.Sleep(time.Second)
	}
}

func raiseEtcd(w *sim.World, state, kind string) {
	to := int64(1)
	if state == stateKey { // of keys, and not of workers' numbers
		to = w.Server.MaxKey() + 1
	}
	most := map[string]item{} // series by their keys, where they stood highest
	for _, c := range w.Server.Commits() {
		for _, change := range c.Changes {
			of, ok := change.New.(item)
			switch {
			case !ok:
			case change.Row == state:
				to = max(to, baseOf(of))
			case isSeries(change.Row):
				to = max(to, rowOf(of).Last+1)
				if nextOf(of) >= nextOf(most[change.Row]) {
					most[change.Row] = of
				}
			}
		}
	}
	w.Server.Edit(func(tx *sim.Tx) {
		at := revision(tx) + 1
		for key := range most {
			now, ok := tx.Load(key).(item)
			if !ok {
				continue
			}
			// A state that was made again may have series that begin in an old one.
			next := nextOf(now)
			for other, of := range most {
				if firstOf(other) <= rowOf(now).Last {
					next = max(next, min(nextOf(of), rowOf(now).Last+1))
				}
			}
			// Its owner stays the one that has its lease.
			if next > nextOf(now) {
				now.value, now.modified = with(now, "next", next), at
				tx.Store(key, now)
			}
		}
		raise(tx, state, kind, to)
	})
}

// with returns the value of a state, or of a series, with another integer in a field.
func with(of item, name string, n int64) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(of.value), &fields); err != nil {
		panic(err)
	}
	fields[name] = n
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// checkReserved: a key was reserved for the life of the process that hands it out, by a
// commit before; and, where drops count, by one that was asked for after the last Drop.
func checkReserved(w *sim.World, of moved, drops bool) {
	type life struct{ process, number int }
	type range_ struct {
		*sim.Commit
		from, to int64
	}
	commits := map[life][]range_{}
	for _, c := range w.Server.Commits() {
		if from, to := of(c); to > from {
			l := life{c.Process, c.Life}
			commits[l] = append(commits[l], range_{c, from, to})
		}
	}
	for _, i := range w.Issues {
		var dropped time.Duration
		for _, d := range w.Drops {
			if d.Process == i.Process && d.Life == i.Life && d.At < i.Begin {
				dropped = max(dropped, d.At)
			}
		}
		for _, key := range i.Keys {
			reserved, after := false, false
			for _, c := range commits[life{i.Process, i.Life}] {
				if c.At <= i.End && c.from <= key && key < c.to {
					reserved, after = true, after || c.Asked >= dropped
				}
			}
			switch {
			case !reserved:
				w.Failf("reserved: process %d.%d handed out key %d at %s, which was not reserved for it", i.Process, i.Life, key, i.End)
				return
			case drops && !after:
				w.Failf("dropped: process %d.%d handed out key %d at %s, which it had when it dropped all at %s", i.Process, i.Life, key, i.End, dropped)
				return
			}
		}
	}
}

// checkFollowed: after an Advance no lower key is reserved by any process, unless the
// cluster goes back.
func checkFollowed(w *sim.World) {
	if w.Server.Lost() > 0 {
		return
	}
	for _, f := range w.Follows {
		for _, c := range w.Server.Commits() {
			if from, to := sequenceMoved(c); to > from && f.Err == nil && c.Asked > f.End && from < f.To {
				w.Failf("followed: process %d.%d was given %d at %s after an advance to %d", c.Process, c.Life, from, c.At, f.To)
				return
			}
		}
	}
}

func TestEtcdSequenceSimulation(t *testing.T) { sequenceTrial(mutant{}).Run(t) }
