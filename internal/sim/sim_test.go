package sim_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
)

var allFaults = []sim.Fault{sim.Loss, sim.Duplicate, sim.Rollback, sim.Refuse, sim.Silence, sim.Failover,
	sim.Restore, sim.Kill, sim.Pause, sim.ClockOff, sim.ClockStep, sim.Collide}

// withoutLosses are the faults after which a right source gives no key twice.
var withoutLosses = slices.DeleteFunc(slices.Clone(allFaults), func(f sim.Fault) bool {
	return f == sim.Failover || f == sim.Restore
})

// counter asks the store for the keys of every statement: the simplest source
// that is right.
type counter struct {
	mu   chan struct{} // a connection is for one request at a time
	conn *sim.Conn
}

func newCounter(p *sim.Process) (sim.Source, error) {
	return &counter{make(chan struct{}, 1), p.Conn()}, nil
}

func (c *counter) Next(ctx context.Context, n int) ([]int64, error) {
	c.mu <- struct{}{}
	defer func() { <-c.mu }()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	last, err := sim.Update(ctx, c.conn, func(tx *sim.Tx) int64 {
		tx.Set("counter", tx.Get("counter")+int64(n))
		return tx.Get("counter")
	})
	if err != nil {
		return nil, err
	}
	return consecutive(last-int64(n)+1, n), nil
}

func (c *counter) Close(context.Context) error { return nil }
func (c *counter) Drop()                       {}

func consecutive(first int64, n int) []int64 {
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = first + int64(i)
	}
	return keys
}

// call is a source that is a function.
type call func(ctx context.Context, n int) ([]int64, error)

func (f call) Next(ctx context.Context, n int) ([]int64, error) { return f(ctx, n) }
func (f call) Close(context.Context) error                      { return nil }

func TestRightSourceBreaksNoLaw(t *testing.T) {
	(&sim.Trial{Open: newCounter, Faults: withoutLosses, Contiguous: true, Ordered: true,
		Recovery: func(*sim.World) time.Duration { return 10 * time.Second }}).Run(t)
}

// TestWrongSources: every law is there to be broken.
func TestWrongSources(t *testing.T) {
	errLost := errors.New("lost")
	for _, tt := range []struct {
		law   string
		trial sim.Trial
	}{
		{"unique", sim.Trial{Open: func(*sim.Process) (sim.Source, error) { return counting(1), nil }}},
		{"unique", sim.Trial{Open: newCounter, Faults: allFaults}}, // commits are lost
		{"unique", sim.Trial{Faults: []sim.Fault{sim.ClockStep}, Open: func(p *sim.Process) (sim.Source, error) {
			return call(func(_ context.Context, n int) ([]int64, error) { // a clock is no state
				time.Sleep(time.Duration(n) * time.Millisecond)
				return consecutive(p.Now().UnixMilli()*4+int64(p.Number), n), nil
			}), nil
		}}},
		{"unique", sim.Trial{
			Open:   func(*sim.Process) (sim.Source, error) { return call(always(7)), nil },
			Excuse: func(*sim.World, sim.Issue, sim.Issue, int64) bool { return true }, // but not in one life
		}},
		{"ordered", sim.Trial{Ordered: true, Open: func(*sim.Process) (sim.Source, error) { return counting(-1), nil }}},
		{"contiguous", sim.Trial{Contiguous: true, Open: func(*sim.Process) (sim.Source, error) { return counting(2), nil }}},
		{"count", sim.Trial{Open: func(*sim.Process) (sim.Source, error) {
			return call(func(context.Context, int) ([]int64, error) { return make([]int64, 2), nil }), nil
		}}},
		{"progress", sim.Trial{Open: func(*sim.Process) (sim.Source, error) {
			return call(func(ctx context.Context, _ int) ([]int64, error) { <-ctx.Done(); return nil, ctx.Err() }), nil
		}}},
		{"errors", sim.Trial{Open: func(*sim.Process) (sim.Source, error) {
			return call(func(context.Context, int) ([]int64, error) { return nil, errLost }), nil
		}}},
		{"goroutines", sim.Trial{Open: func(p *sim.Process) (sim.Source, error) {
			go func() { <-make(chan struct{}) }()
			return newCounter(p)
		}}},
		{"goroutines", sim.Trial{Open: func(*sim.Process) (sim.Source, error) {
			return call(func(context.Context, int) ([]int64, error) { select {} }), nil
		}}},
		{"open", sim.Trial{Open: func(*sim.Process) (sim.Source, error) { return nil, errLost }}},
		{"mine", sim.Trial{Open: newCounter, Check: func(w *sim.World) { w.Failf("mine: it is") }}},
	} {
		t.Run(tt.law, func(t *testing.T) {
			w := tt.trial.SearchFor(t, tt.law, 1000)
			if w == nil {
				t.Fatal("no seed breaks the law")
			}
			t.Logf("seed %d: %s", w.Seed, w.Broken()[0])
		})
	}
}

// TestGoroutineOutlivesClose: a source may have a goroutine that Close does not wait for, such
// as an attempt to connect. It ends with the process, even if it sends another request
// after the first error. That request does not reach the store.
func TestGoroutineOutlivesClose(t *testing.T) {
	var late atomic.Int64
	trial := &sim.Trial{
		Seeds:    24,
		Faults:   []sim.Fault{sim.Loss, sim.Silence, sim.Kill, sim.Pause},
		Recovery: func(*sim.World) time.Duration { return 10 * time.Second },
		Open: func(p *sim.Process) (sim.Source, error) {
			c, err := newCounter(p)
			s := &outlived{counter: c.(*counter)}
			conn := p.Conn()
			go func() {
				for killed := 0; killed < 2; {
					isLate := s.closed.Load()
					_, err := sim.Update(context.Background(), conn, func(*sim.Tx) int64 {
						if isLate {
							late.Add(1)
						}
						return 0
					})
					if err == sim.ErrKilled {
						killed++
					}
				}
			}()
			return s, err
		},
	}
	trial.Run(t)
	if n := late.Load(); n > 0 {
		t.Errorf("%d requests were sent after Close and reached the store", n)
	}
}

// outlived is a counter that notes that it was closed.
type outlived struct {
	*counter
	closed atomic.Bool
}

func (s *outlived) Close(context.Context) error {
	s.closed.Store(true)
	return nil
}

// counting counts on its own, by steps.
func counting(step int64) call {
	var mu sync.Mutex
	next := int64(1 << 40)
	return func(_ context.Context, n int) ([]int64, error) {
		mu.Lock()
		defer mu.Unlock()
		keys := make([]int64, n)
		for i := range keys {
			keys[i] = next
			next += step
		}
		return keys, nil
	}
}

func always(key int64) call {
	return func(_ context.Context, n int) ([]int64, error) { return slices.Repeat([]int64{key}, n), nil }
}

// TestSameSeedSameHistory runs seeds twice.
func TestSameSeedSameHistory(t *testing.T) {
	trial := &sim.Trial{Open: newCounter, Faults: allFaults}
	seeds := uint64(60)
	if testing.Short() {
		seeds /= 3
	}
	distinct, numbers := map[string]bool{}, map[uint64]bool{}
	for seed := range seeds {
		one, two := trial.One(t, seed), trial.One(t, seed)
		if one.Trace() != two.Trace() || one.History() != two.History() {
			t.Errorf("seed %d has two histories, %x and %x:\n%s\n%s", seed, one.History(), two.History(), one.Trace(), two.Trace())
		}
		distinct[one.Trace()], numbers[one.History()] = true, true
	}
	if len(distinct) != int(seeds) || len(numbers) != int(seeds) {
		t.Errorf("%d seeds have %d histories, and %d numbers of histories", seeds, len(distinct), len(numbers))
	}
}

// TestEverythingGoesWrong: a simulation in which nothing happens proves
// nothing.
func TestEverythingGoesWrong(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	note := func(what string, n int) {
		mu.Lock()
		defer mu.Unlock()
		seen[what] += n
	}
	trial := &sim.Trial{
		Open: func(p *sim.Process) (sim.Source, error) {
			if p.Life > 1 {
				note("another life", 1)
			}
			c, err := newCounter(p)
			return noting{c.(*counter), note, p}, err
		},
		Faults:   allFaults,
		Excuse:   func(*sim.World, sim.Issue, sim.Issue, int64) bool { return true },
		Recovery: func(*sim.World) time.Duration { return 10 * time.Second },
		Check: func(w *sim.World) {
			note("keys", len(w.Issues))
			note("drops", len(w.Drops))
			note("lost commits", w.Server.Lost())
			note("other servers", w.Server.Switches())
		},
	}
	for seed := range uint64(60) {
		trial.One(t, seed)
	}
	for _, what := range []string{"keys", "drops", "lost commits", "other servers", "another life",
		"clock back", "clock ahead", "refused", "reset", "rolled back", "silent", "killed"} {
		if seen[what] < 5 {
			t.Errorf("%s: only %d times in all", what, seen[what])
		}
	}
	t.Log(seen)
}

// noting is a counter that notes what its store answers.
type noting struct {
	*counter
	note func(string, int)
	p    *sim.Process
}

func (s noting) Next(ctx context.Context, n int) ([]int64, error) {
	before := s.p.Now()
	began := time.Now()
	keys, err := s.counter.Next(ctx, n)
	switch took := s.p.Now().Sub(before) - time.Since(began); {
	case took < -500*time.Millisecond:
		s.note("clock back", 1)
	case took > 500*time.Millisecond:
		s.note("clock ahead", 1)
	}
	for what, cause := range map[string]error{"refused": sim.ErrRefused, "reset": sim.ErrReset,
		"rolled back": sim.ErrRolledBack, "silent": context.DeadlineExceeded, "killed": sim.ErrKilled} {
		if errors.Is(err, cause) {
			s.note(what, 1)
		}
	}
	return keys, err
}

// TestSpent: a source that has no more keys breaks the law of progress, unless
// the trial says that this was its last answer.
func TestSpent(t *testing.T) {
	errSpent := errors.New("no more keys")
	trial := &sim.Trial{
		Open: func(p *sim.Process) (sim.Source, error) {
			c, err := newCounter(p)
			return call(func(ctx context.Context, n int) ([]int64, error) {
				keys, err := c.Next(ctx, n)
				if err == nil && keys[n-1] > 100 {
					return nil, errSpent
				}
				return keys, err
			}), err
		},
		Allow:  func(_ *sim.World, err error) bool { return err == errSpent || errors.Is(err, context.DeadlineExceeded) },
		Spent:  func(_ *sim.World, err error) bool { return err == errSpent },
		Steady: true,
	}
	trial.Run(t)
	trial.Spent = nil
	if w := trial.SearchFor(t, "progress", 100); w == nil {
		t.Error("a source without keys breaks no law")
	}
}

func TestEveryStep(t *testing.T) {
	runs, w := (&sim.Trial{Open: newCounter}).EveryStep(t, 12)
	if w != nil {
		t.Errorf("step %d: %s", runs, w.Broken())
	}
	if runs < 50 {
		t.Errorf("only %d steps", runs)
	}
	// A source that writes down too late what it has given.
	forgets := &sim.Trial{Open: func(p *sim.Process) (sim.Source, error) {
		c, err := newCounter(p)
		own := counting(1)
		return call(func(ctx context.Context, n int) ([]int64, error) {
			keys, _ := own(ctx, n)
			_, _ = c.Next(ctx, n)
			return keys, nil
		}), err
	}}
	if _, w := forgets.EveryStep(t, 12); w == nil {
		t.Error("a source that forgets breaks no law")
	}
}

func TestTraceTellsTheStory(t *testing.T) {
	trace := (&sim.Trial{Open: newCounter, Faults: allFaults}).One(t, 3).Trace()
	for _, part := range []string{"process 0.1 starts\n", "process 0.1, thread 0, gets the keys ", "is killed at its step", "starts after the kill",
		"\"counter\" goes from ", "the faults end", "is lost on its way to the store"} {
		if !strings.Contains(trace, part) {
			t.Errorf("no %q in\n%s", part, trace)
		}
	}
}

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sim.NewClock(2*time.Second, 0.5)
		at := func(want time.Duration) {
			t.Helper()
			if got := c.Now().Sub(sim.Noon); got != want {
				t.Errorf("the clock shows %s, want %s", got, want)
			}
		}
		at(2 * time.Second)
		time.Sleep(10 * time.Second)
		at(17 * time.Second)
		c.Step(-time.Minute)
		at(17*time.Second - time.Minute)
		if now := c.Now(); now != now.Round(0) {
			t.Error("the clock has a monotonic reading")
		}
	})
}

func TestReplay(t *testing.T) {
	const want = "KEYFILL_TEST_SEED=42 go test github.com/keyfill/keyfill/internal/sim -run '^TestX$' -v"
	if got := sim.Replay(42, "TestX"); got != want {
		t.Errorf("Replay = %s, want %s", got, want)
	}
}
