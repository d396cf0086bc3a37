// Package crowd simulates many processes that reserve integers of one state, in virtual
// time: how many rows they store a second, how often they reserve, and for which share of
// the time the state's row is locked. The processes run the real source; the store is a
// [Model], which [Fit] makes of measured rates. It is for tests.
//
// # Caveats
//
// A model knows one server of unlimited processors: what the rows themselves and
// thousands of connections cost the server is not in it. More than 64 waiting reservations
// cost what 64 do, and a sync answers 64 at most, since no more were measured.
package crowd

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	_ "github.com/keyfill/keyfill/internal/sim" // lets the race detector run in a bubble of testing/synctest
	"github.com/keyfill/keyfill/keysource"
)

// Model is how long a store takes for reservations of one state.
type Model struct {
	// Together reports whether the store answers all waiting reservations at once, as etcd
	// and Redis sync one log for all of them. An SQL database locks the state's row from the
	// change to the end of its commit, so that reservations follow each other.
	Together bool

	// Held is the time in which the row is locked for a reservation, or what a sync of a
	// store takes that answers Together. Away is the rest of a reservation, and Each is what
	// one more reservation adds to a sync; Away is 0 if Together is set, otherwise Each is.
	Held, Away, Each time.Duration

	// Waiter is what each reservation that waits for the row adds to Held, since the server
	// keeps a queue, and processes that wait take turns at its processors.
	Waiter time.Duration
}

// The numbers of processes whose rates [Fit] takes.
const (
	Alone = 1
	Few   = 8
	Many  = 32
)

const mostWaiters = 64

// Fit returns the model of a store in which [Alone], [Few] and [Many] processes reserve so
// many times a second together, each one reservation after the other.
func Fit(together bool, alone, few, many float64) Model {
	took := func(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }
	if !together {
		waiter := max(took(many)-took(few), 0) / (Many - Few)
		held := max(took(few)-(Few-1)*waiter, 0)
		return Model{Held: held, Waiter: waiter, Away: max(took(alone)-held, 0)}
	}
	// One process waits for a sync of one reservation: Held + Each. Of many processes some
	// are answered while the others wait for the next sync, so two syncs answer each process
	// once: 2 Held + Many Each.
	each := (Many*took(many) - 2*took(alone)) / (Many - 2)
	each = min(max(each, 0), took(alone))
	return Model{Together: true, Held: took(alone) - each, Each: each}
}

// Crowd is what the processes do.
type Crowd struct {
	Processes int
	Block     int64   // the integers of a reservation; 0: the source's own choice, by the use
	PerSecond float64 // the rows that each process stores a second; 0: as many as it gets keys for

	// Warm is the time before the measurement, in whose first half the processes start, one
	// after the other. Lasts is the length of the measurement.
	Warm, Lasts time.Duration
}

// Seen is what was measured.
type Seen struct {
	Rows, Reservations float64 // a second, of all processes
	Errors             float64 // INSERTs a second that got no key
	Locked             float64 // the share of the time in which the state's row is locked, or a store that answers Together is at work
}

// Run simulates the processes.
func Run(t *testing.T, m Model, c Crowd) (seen Seen) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{model: m, next: 1, begins: time.Now().Add(c.Warm)}
		s.ends = s.begins.Add(c.Lasts)
		s.free = make(chan struct{}, 1)
		var rows, failed atomic.Int64
		var all sync.WaitGroup
		for i := range c.Processes {
			source, err := counting.NewSequence(counting.SequenceOptions{Reserver: s, Block: c.Block}, keysource.Env{})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				defer source.Close(t.Context())
				s.insert(source, c, rand.New(rand.NewPCG(uint64(i), 0)), &rows, &failed)
			})
		}
		all.Wait()
		s.last.Wait()
		lasted := c.Lasts.Seconds()
		s.mu.Lock()
		defer s.mu.Unlock()
		seen = Seen{
			Rows: float64(rows.Load()) / lasted, Errors: float64(failed.Load()) / lasted,
			Reservations: float64(s.reserved) / lasted, Locked: s.locked.Seconds() / lasted,
		}
	})
	return seen
}

// insert stores rows until the measurement ends: each takes a key, and is stored at once.
func (s *server) insert(source *counting.Sequence, c Crowd, r *rand.Rand, rows, failed *atomic.Int64) {
	var pause time.Duration
	if c.PerSecond > 0 {
		pause = time.Duration(float64(time.Second) / c.PerSecond)
	}
	time.Sleep(time.Duration(r.Int64N(int64(c.Warm / 2))))
	ctx, cancel := context.WithDeadline(context.Background(), s.ends)
	defer cancel()
	for due := time.Now(); time.Now().Before(s.ends); due = due.Add(pause) {
		time.Sleep(time.Until(due)) // a process that was late stores its next rows at once
		_, err := source.Next(ctx, keysource.Request{N: 1})
		switch now := time.Now(); {
		case now.Before(s.begins) || !now.Before(s.ends):
		case err != nil:
			failed.Add(1)
		default:
			rows.Add(1)
		}
	}
}

// server is the simulated store of one state.
type server struct {
	model        Model
	free         chan struct{} // holds the lock of the row
	begins, ends time.Time     // of the measurement
	last         sync.WaitGroup
	queued       atomic.Int64 // reservations that wait for the row, or have it

	mu       sync.Mutex // guards the fields below
	next     int64
	waiting  []chan struct{} // reservations that wait for the next sync
	syncing  bool
	reserved int64
	locked   time.Duration
}

// Reserve implements [keysource.Reserver].
func (s *server) Reserve(ctx context.Context, n, _ int64) (keysource.Reservation, error) {
	time.Sleep(s.model.Away)
	if s.model.Together {
		if err := s.sync(ctx); err != nil {
			return keysource.Reservation{}, err
		}
	} else {
		s.queued.Add(1)
		defer s.queued.Add(-1)
		select {
		case s.free <- struct{}{}:
		case <-ctx.Done():
			return keysource.Reservation{}, ctx.Err()
		}
		s.work(s.model.Held + time.Duration(min(s.queued.Load()-1, mostWaiters))*s.model.Waiter)
		<-s.free
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.next
	s.next += n
	if now := time.Now(); !now.Before(s.begins) && now.Before(s.ends) {
		s.reserved++
	}
	return keysource.Reservation{First: first}, nil
}

// Advance implements [keysource.Reserver].
func (s *server) Advance(context.Context, int64) error { return nil }

// work passes the time of a reservation or a sync, and adds what lies in the measurement.
func (s *server) work(d time.Duration) {
	from := time.Now()
	time.Sleep(d)
	begin, end := max(from.Sub(s.begins), 0), min(time.Since(s.begins), s.ends.Sub(s.begins))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked += max(end-begin, 0)
}

// sync waits until a sync that has begun after the call has ended.
func (s *server) sync(ctx context.Context) error {
	answered := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, answered)
	begin := !s.syncing
	s.syncing = true
	s.mu.Unlock()
	if begin {
		s.last.Go(s.syncs)
	}
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting = slices.DeleteFunc(s.waiting, func(c chan struct{}) bool { return c == answered })
		return ctx.Err()
	}
}

// syncs syncs while there are reservations that wait. One that comes when a sync ends
// waits for the end of the next one.
func (s *server) syncs() {
	for all := s.take(); len(all) > 0; {
		s.work(s.model.Held + time.Duration(len(all))*s.model.Each)
		next := s.take()
		for _, answered := range all {
			close(answered)
		}
		all = next
	}
}

// take returns the reservations that wait, and notes whether a sync begins for them.
func (s *server) take() []chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.waiting), mostWaiters)
	all := s.waiting[:n:n]
	s.waiting, s.syncing = s.waiting[n:], n > 0
	return all
}
