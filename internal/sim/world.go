// Package sim simulates a small world in which sources of keys are tested: processes with
// clocks of their own, a store that is reached over a network, and faults, all drawn from a
// seed and run in virtual time. It is for tests.
//
// A [Trial] runs the real source. It defines how a process opens one; the world starts the
// processes, lets their threads execute statements and insert rows, and breaks things:
//
//	the network   latency, lost requests, lost answers, answers that come twice
//	              and so out of order
//	the store     transactions that wait for each other or roll back, outages in
//	              which it refuses or is silent, failovers and restored copies
//	              that lose the last commits
//	a process     is killed between any two of its steps and started again, or
//	              is paused, or cut off from the store; its clock is off, drifts and
//	              is set by a second, a minute or a day in either direction
//
// A source that is a [Joiner] has a store of another kind: a file, on which each thread has
// a [Session] with transactions of one or more statements. They wait for each other,
// commit, roll back, or are undone by a kill or a crash.
//
// Then the faults end, and every process has to get keys again. What is checked:
//
//	unique        no key is handed out twice. Trial.Excuse may allow it where a
//	              commit was lost, never within one process; and Trial.Void where
//	              a rollback gave it back.
//	contiguous    the keys of one statement are consecutive integers
//	ordered       a process's later keys are greater
//	progress      after the faults every process gets keys within
//	              Trial.Recovery, unless Trial.Spent says that there are none
//	errors        requests fail only as Trial.Allow says
//	goroutines    none waits for ever, neither while the world runs nor when its
//	              processes have ended
//
// and what Trial.Check finds in the [World] besides. A key counts as handed out when the
// source's Next has returned it to a process that is alive.
//
// # One seed, one history
//
// Every goroutine of the world sleeps until instants that no other one uses, and has random
// numbers of its own, so that the order in which goroutines run does not matter. Two timers
// of the code under test that end in the same nanosecond may still be taken in either
// order.
//
// # Adding a source
//
// Write a Trial beside the source's tests, with an Open that connects the source to
// [Process.Now] and to [Conn.Update], and run it with [Trial.Run]. What a mutant does wrong
// belongs into wrappers around the source and its store, so that the code under test stays
// as it is.
package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Source is a source of keys in one life of a process.
type Source interface {
	// Next returns n keys.
	Next(ctx context.Context, n int) ([]int64, error)
	// Close ends what the source has started. It must not send anything to the store.
	Close(ctx context.Context) error
}

// Suspect is a [Source] that is notified when one of its keys was found in use.
type Suspect interface{ Drop() }

// Follower is a [Source] that is notified of keys that the application inserts itself.
type Follower interface {
	Advance(ctx context.Context, to int64) error
}

// Joiner is a [Source] that draws keys on the connection of the statement. Its store is a
// file: see [Session].
type Joiner interface {
	NextOn(ctx context.Context, n int, c *Session) ([]int64, error)
	AdvanceOn(ctx context.Context, to int64, c *Session) error
}

// Trial is one kind of source under test. Open has to be set.
type Trial struct {
	// Open makes the source of a process that has just been started.
	Open func(*Process) (Source, error)
	// Central reports whether there is a second server, on which the first one's rows
	// depend: see [Process.ConnTo]. A fault of servers may hit either server.
	Central bool
	// Faults are the faults that may happen; each seed draws some of them.
	Faults []Fault
	// Recovery returns how long after the faults a process may be without keys. It gets the
	// world, since the time may depend on what has happened in it.
	Recovery func(*World) time.Duration

	// Contiguous and Ordered are the promises of the source. Steady promises that a process
	// which has got keys after the faults never fails again.
	Contiguous, Ordered, Steady bool
	// Excuse reports whether a key may have been handed out twice; nil means never. It is
	// not called for two issues in one life of a process.
	Excuse func(w *World, a, b Issue, key int64) bool
	// Void reports whether the keys of an issue were given back by a rollback, so that they
	// may come again; nil means never.
	Void func(*World, Issue) bool
	// Allow reports whether a request may fail with err. If it is nil, a request may fail
	// when its context has ended, or while there are faults.
	Allow func(w *World, err error) bool
	// Spent reports whether err means that all keys of a source have been handed out, so
	// that a process need not get any after the faults. nil means that this never happens.
	// Allow has to allow such an error, too.
	Spent func(w *World, err error) bool
	// Reserves reports whether a commit has reserved a key; the story of a world shows
	// these commits when a law about the key is broken. If it is nil, a commit reserves the
	// keys from the old integer of its row to the new one.
	Reserves func(w *World, c *Commit, key int64) bool
	// Seeds is how many seeds "make test" runs; zero means as many as of the other trials.
	Seeds uint64
	// Begin, if it is set, prepares the world, such as World.Model.
	Begin func(*World)
	// Meddle carries out a forbidden action when the fault [Meddle] happens, and returns
	// its description.
	Meddle func(*World) string
	// Apart keeps the application's table out of the store's database.
	Apart bool
	// Repair does the operator's work when the faults have ended.
	Repair func(*World)
	// Check checks further laws (rules that every run must obey) at the end. It calls
	// [World.Failf] for each law that is broken.
	Check func(*World)
}

// World is the state of one run. Its exported fields are complete and may be
// read when the run has ended.
type World struct {
	Seed    uint64
	Server  *Server
	Central *Server // the second server, if Trial.Central is set; otherwise nil
	Issues  []Issue // the keys that were handed out, in the order of the ends of the calls
	Drops   []Drop
	Follows []Follow
	Faults  []Fault // the faults that may happen under this seed
	Model   any     // data of the trial, which Trial.Begin has set

	trial  *Trial
	traits traits
	start  time.Time
	calm   time.Duration // when the faults end, as time since the world began
	over   atomic.Bool   // whether the faults have ended
	trace  bool
	wg     sync.WaitGroup

	story storyLines

	mu     sync.Mutex // guards the fields after it and the exported fields; never held during a wait
	broken []string
	procs  []*Process
}

// storyLines are the events of a world (a simulated run from one seed), for its story.
type storyLines struct {
	history atomic.Uint64 // see [World.History]
	tale    sync.Mutex    // guards events
	events  []event
}

// traits are the properties that a seed draws for its world (the simulated run).
type traits struct {
	processes, threads int
	think              time.Duration // mean time of a thread between two statements
	latency            time.Duration // mean time that a message takes
	rows               int           // the most rows that a statement inserts
	loss, rollback     float64       // the share of messages that are lost, and of transactions that are rolled back
	double             float64       // the share of answers that arrive twice
	impatient          float64       // the share of requests that have a deadline
	brought            float64       // the share of statements that bring their own key
}

// newWorld draws the world (the simulated run) of a seed. It must be called in a bubble of
// testing/synctest.
func newWorld(t *Trial, seed uint64, trace bool) *World {
	w := &World{Seed: seed, trial: t, start: time.Now(), trace: trace}
	r := rand.New(rand.NewPCG(seed, 0))
	w.traits = traits{
		processes: 1 + r.IntN(4),
		threads:   1 + r.IntN(4),
		think:     between(r, 20*time.Millisecond, 300*time.Millisecond),
		latency:   between(r, 100*time.Microsecond, 20*time.Millisecond),
		rows:      1 + r.IntN(30),
		impatient: []float64{0, 0.1, 0.5}[r.IntN(3)],
		brought:   []float64{0, 0, 0.05}[r.IntN(3)],
	}
	w.calm = between(r, 2*time.Second, 10*time.Second)
	for _, f := range t.Faults {
		// The world of every fourth seed has no faults, which shows that everything works
		// without faults.
		if seed%4 != 0 && r.IntN(2) == 0 {
			w.Faults = append(w.Faults, f)
		}
	}
	if w.Has(Loss) {
		w.traits.loss = []float64{0.01, 0.1, 0.4}[r.IntN(3)]
	}
	if w.Has(Rollback) {
		w.traits.rollback = []float64{0.05, 0.3}[r.IntN(2)]
	}
	if w.Has(Duplicate) {
		w.traits.double = []float64{0.1, 0.5}[r.IntN(2)]
	}
	w.Server = newServer(w, r)
	if t.Apart {
		w.Server.shared = false
	}
	for i := range w.traits.processes {
		w.procs = append(w.procs, newProcess(w, i))
	}
	if t.Central {
		w.Central = newServer(w, r)
		w.Central.name = "the central store"
	}
	if t.Begin != nil {
		t.Begin(w)
	}
	return w
}

// Has reports whether a fault may happen in this world.
func (w *World) Has(f Fault) bool { return slices.Contains(w.Faults, f) }

// Brings reports whether the application may insert keys of its own.
func (w *World) Brings() bool { return w.traits.brought > 0 || w.Has(Collide) }

// run runs the world until all processes have ended.
func (w *World) run() {
	w.wg.Go(w.chaos)
	for _, p := range w.procs {
		w.wg.Go(p.live)
	}
	w.wg.Wait()
	// The processes have ended, but they need not have waited for all their goroutines: an
	// attempt to connect may be asleep until its next step, at which it ends. In a bubble,
	// time stands still after run has returned, and so they would sleep for ever.
	time.Sleep(time.Millisecond)
	w.wg.Wait()
	w.judge()
}

// Now returns the time since the world began.
func (w *World) Now() time.Duration { return w.now() }

// now is Now.
func (w *World) now() time.Duration { return time.Since(w.start) }

// Calm returns when the faults have ended.
func (w *World) Calm() time.Duration { return w.calm }

// Failf notes that a law (a rule that every run must obey) is broken; the text begins with
// the law's name.
func (w *World) Failf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// Broken returns the laws (rules that every run must obey) that are broken, each with its
// name first.
func (w *World) Broken() []string { return w.broken }

// breaks reports whether the law (a rule that every run must obey) of that name is broken,
// or any law if the name is empty.
func (w *World) breaks(law string) bool {
	return slices.ContainsFunc(w.broken, func(text string) bool {
		return law == "" || strings.HasPrefix(text, law+":")
	})
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
