// Package sim is a small world in which sources of keys are put to the test: processes
// with clocks of their own, a store that is reached over a network, and faults, all drawn
// from a seed and run in virtual time. It is for tests.
//
// A [Trial] runs the real source. It defines how a process opens one; the world starts
// the processes, lets their threads execute statements and insert rows, and breaks
// things:
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
// A source that is a [Joiner] has a store of another kind: a file, on which each
// thread has a [Session] with transactions of one or more statements. They wait
// for each other, commit, roll back, or are undone by a kill or a crash.
//
// Then the faults end, and every process has to get keys again. What is
// checked:
//
//	unique        no key is handed out twice. Trial.Excuse may allow it where a
//	              commit was lost, never within one process; and Trial.Void where
//	              a rollback gave it back.
//	contiguous    the keys of one statement are consecutive integers
//	ordered       a process's later keys are greater
//	progress      after the faults every process gets keys within
//	              Trial.Recovery, unless Trial.Spent says that there are none
//	errors        requests fail only as Trial.Allow says
//
// and what Trial.Check finds in the [World] besides. A key counts as handed out
// when the source's Next has returned it to a process that is alive.
//
// # One seed, one history
//
// Every goroutine of the world sleeps until instants that no other one uses,
// and has random numbers of its own, so that the order in which goroutines run
// does not matter. Two timers of the code under test that end in the same
// nanosecond may still be taken in either order.
//
// # Adding a source
//
// Write a Trial beside the source's tests, with an Open that connects the
// source to [Process.Now] and to [Conn.Update], and run it with [Trial.Run].
// What a mutant does wrong belongs into wrappers around the source and its
// store, so that the code under test stays as it is.
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
	// Close ends what the source has started. It must not ask the store.
	Close(ctx context.Context) error
}

// Suspect is a [Source] that is notified when a key of it was found in use.
type Suspect interface{ Drop() }

// Follower is a [Source] that is notified of keys which the application brings.
type Follower interface {
	Advance(ctx context.Context, to int64) error
}

// Joiner is a [Source] that draws keys on the connection of the statement. Where
// a source is one, its store is a file: see [Session].
type Joiner interface {
	NextOn(ctx context.Context, n int, c *Session) ([]int64, error)
	AdvanceOn(ctx context.Context, to int64, c *Session) error
}

// Trial is one kind of source under test. Open has to be set.
type Trial struct {
	// Open makes the source of a process that has just been started.
	Open func(*Process) (Source, error)
	// Central reports that there is a second server, on which the first one's rows
	// depend: see [Process.ConnTo]. A fault of servers may hit either of the two.
	Central bool
	// Faults are the faults that may happen; each seed draws some of them.
	Faults []Fault
	// Recovery is how long after the faults a process may be without keys. It
	// gets the world, since that may depend on what has happened.
	Recovery func(*World) time.Duration

	// Contiguous and Ordered are the promises of the source; Steady promises that a
	// process which has keys after the faults fails no more.
	Contiguous, Ordered, Steady bool
	// Excuse reports whether a key may have been handed out twice; nil: never. It is not
	// asked about two issues in one life of a process.
	Excuse func(w *World, a, b Issue, key int64) bool
	// Void reports whether the keys of an issue were given back by a rollback, so that
	// they may come again; nil: never.
	Void func(*World, Issue) bool
	// Allow reports whether a request may fail with err; nil: it may when its context has
	// ended, or while there are faults.
	Allow func(w *World, err error) bool
	// Spent reports whether err is a source's last answer: all its keys have been handed
	// out. Then a process need not get any after the faults. nil: there is no such
	// answer. It is an error besides, which Allow has to allow.
	Spent func(w *World, err error) bool
	// Reserves reports whether a commit has reserved a key; the story of a world shows
	// these commits when a law about the key is broken. nil: a commit reserves the keys
	// from the old integer of its row to the new one.
	Reserves func(w *World, c *Commit, key int64) bool
	// Seeds is how many seeds "make test" runs; 0: as many as of the other trials.
	Seeds uint64
	// Begin makes what else a world has, such as World.Model. nil: nothing.
	Begin func(*World)
	// Meddle is the fault [Meddle]: a forbidden action, which it returns.
	Meddle func(*World) string
	// Apart keeps the table that the application inserts into out of the store's database.
	Apart bool
	// Repair is the operator's work when the faults have ended.
	Repair func(*World)
	// Check finds what else is wrong at the end, and calls [World.Failf].
	Check func(*World)
}

// World is the state of one run. Its exported fields are complete and may be
// read when the run has ended.
type World struct {
	Seed    uint64
	Server  *Server
	Central *Server // another one, of a Trial that says so; else nil
	Issues  []Issue // in order of their ends
	Drops   []Drop
	Follows []Follow
	Faults  []Fault // those that this seed draws from
	Model   any     // of Trial.Begin

	trial  *Trial
	traits traits
	start  time.Time
	calm   time.Duration // when the faults end
	over   atomic.Bool   // they have ended
	trace  bool
	wg     sync.WaitGroup

	story storyLines

	mu     sync.Mutex // guards what follows and the fields above; held for no wait
	broken []string
	procs  []*Process
}

// storyLines are the events of a world, for its story.
type storyLines struct {
	history atomic.Uint64 // see [World.History]
	tale    sync.Mutex    // guards events
	events  []event
}

// traits are the values that a seed draws for its world.
type traits struct {
	processes, threads int
	think              time.Duration // mean time between two statements
	latency            time.Duration // mean time of a message
	rows               int           // most rows of a statement
	loss, rollback     float64       // parts of the messages and transactions
	double             float64       // part of the answers that come twice
	impatient          float64       // part of the requests that have a deadline
	brought            float64       // part of the statements that bring a key
}

// newWorld draws a world. It must be called in a bubble of testing/synctest.
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
		// One seed in four has none, so that what must always work is seen.
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

// run lets the world go on until all processes have ended.
func (w *World) run() {
	w.wg.Go(w.chaos)
	for _, p := range w.procs {
		w.wg.Go(p.live)
	}
	w.wg.Wait()
	w.judge()
}

// Now returns the time since the world began.
func (w *World) Now() time.Duration { return w.now() }

// now is Now.
func (w *World) now() time.Duration { return time.Since(w.start) }

// Calm returns when the faults have ended.
func (w *World) Calm() time.Duration { return w.calm }

// Failf notes that a law is broken; the text begins with the law's name.
func (w *World) Failf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// Broken returns what laws are broken, each with its name first.
func (w *World) Broken() []string { return w.broken }

// breaks reports whether a law is broken, any if its name is empty.
func (w *World) breaks(law string) bool {
	return slices.ContainsFunc(w.broken, func(text string) bool {
		return law == "" || strings.HasPrefix(text, law+":")
	})
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
