package counting_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// present is a time within the life of the default bits, with nothing but
// zeros below the second.
var present = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// unixMilli counts the milliseconds of snowflakes with the default bits.
const epochMilli = 1_577_836_800_000

// stepClock is a clock that goes with the time of the bubble, which begins with
// the year 2000, and can be set.
type stepClock struct {
	offset atomic.Int64
	frozen atomic.Pointer[time.Time]
}

// newStepClock returns a clock that shows present.
func newStepClock() *stepClock {
	c := new(stepClock)
	c.step(time.Until(present))
	return c
}

func (c *stepClock) step(d time.Duration) { c.offset.Add(int64(d)) }

func (c *stepClock) now() time.Time {
	if t := c.frozen.Load(); t != nil {
		return *t
	}
	return time.Now().Add(time.Duration(c.offset.Load())).Round(0)
}

func (c *stepClock) freeze() { c.frozen.Store(new(c.now())) }

func (c *stepClock) env() keysource.Env { return keysource.Env{Now: c.now} }

// errStore is what a store that is down returns.
var errStore = errors.New("connection refused")

// markStore keeps a mark as a database would.
type markStore struct {
	mu    sync.Mutex
	mark  int64
	calls []int64

	// before and after are called around the raising of the mark; an error is
	// returned instead of the answer.
	before, after func(ctx context.Context) error
}

func (m *markStore) Mark(ctx context.Context, until int64) (int64, error) {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	mark := m.mark
	m.mark = max(mark, until)
	m.calls = append(m.calls, until)
	m.mu.Unlock()
	if m.after != nil {
		if err := m.after(ctx); err != nil {
			return 0, err
		}
	}
	return mark, nil
}

// now returns the mark as it stands.
func (m *markStore) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.UnixMilli(m.mark).UTC()
}

func (m *markStore) called() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

// newSnowflake returns a source of worker 5, or of the one that o names, that is
// closed when the test ends.
func newSnowflake(t testing.TB, o keysource.SnowflakeOptions, env keysource.Env) *counting.Snowflake {
	t.Helper()
	return newSnowflakeAmong(t, nil, o, env)
}

// newSnowflakeAmong is newSnowflake of a number that is in use among workers.
func newSnowflakeAmong(t testing.TB, workers *counting.Workers, o keysource.SnowflakeOptions, env keysource.Env) *counting.Snowflake {
	t.Helper()
	if o.Worker == nil {
		o.Worker = new(5)
	}
	s, err := counting.NewSnowflake(workers, o, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// flake is a key taken apart.
type flake struct {
	time             time.Time
	worker, sequence int64
}

// apart takes a key of the default bits apart.
func apart(key int64) flake {
	return flake{time.UnixMilli(epochMilli + key>>22).UTC(), key >> 12 & 1023, key & 4095}
}

// one draws n keys and returns the first.
func one(t testing.TB, s *counting.Snowflake, n int64) int64 {
	t.Helper()
	key, err := s.Reserve(t.Context(), n)
	if err != nil {
		t.Fatalf("Reserve(%d): %v", n, err)
	}
	return key
}

// pauseOf returns a call of a markStore that takes some time.
func pauseOf(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}
