package counting_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// markFunc is a Marker that does something wrong.
type markFunc func(ctx context.Context, until int64) (int64, error)

func (f markFunc) Mark(ctx context.Context, until int64) (int64, error) { return f(ctx, until) }

// unitOf returns a tick in milliseconds.
func unitOf(c flakeConfig) int64 { return max(1, c.bits.Unit.Milliseconds()) }

// clockTruster is a source that takes its time from the wall clock alone.
type clockTruster struct{ simFlake }

func (s clockTruster) Next(ctx context.Context, n int) ([]int64, error) {
	s.TrustClock()
	return s.simFlake.Next(ctx, n)
}

// flakeMutants are snowflakes that are wrong in one thing each. All but one are so by the
// answers of a Marker, which set where a start begins and what is reserved: the ticks
// [before, until).
var flakeMutants = []flakeMutant{
	{
		name:    "the mark is not reserved ahead: it is raised when the next one is",
		restart: true,
		marker: func(m keysource.Marker, _ flakeConfig) keysource.Marker {
			var last int64
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := m.Mark(ctx, last)
				if err != nil {
					return 0, err
				}
				if last > 0 {
					before = last
				}
				last = until
				return before, nil
			})
		},
	},
	{
		name:    "a start begins at the last tick reserved, not above it",
		restart: true,
		marker: func(m keysource.Marker, c flakeConfig) keysource.Marker {
			started := false
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := m.Mark(ctx, until)
				if err == nil && !started {
					started = true
					before -= unitOf(c)
				}
				return before, err
			})
		},
	},
	{
		name:    "a start does not look at the mark",
		restart: true,
		marker: func(m keysource.Marker, _ flakeConfig) keysource.Marker {
			started := false
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := m.Mark(ctx, until)
				if err == nil && !started {
					started = true
					before = 0
				}
				return before, err
			})
		},
	},
	{
		name:    "<= for < at the mark",
		restart: true,
		marker: func(m keysource.Marker, c flakeConfig) keysource.Marker {
			var stored int64 // by this source
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := m.Mark(ctx, until-unitOf(c))
				if err != nil {
					return 0, err
				}
				if before == stored {
					before += unitOf(c) // which it has used
				}
				stored = until - unitOf(c)
				return before, nil
			})
		},
	},
	{
		name: "the ticks of others are taken for its own: from its last until on",
		marker: func(m keysource.Marker, _ flakeConfig) keysource.Marker {
			var last int64
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := m.Mark(ctx, until)
				if err != nil {
					return 0, err
				}
				if last > 0 {
					before = last
				}
				last = until
				return before, nil
			})
		},
	},
	{
		name:    "a call that failed counts as one that did not",
		restart: true,
		marker: func(m keysource.Marker, _ flakeConfig) keysource.Marker {
			var last int64
			return markFunc(func(ctx context.Context, until int64) (int64, error) {
				before, err := m.Mark(ctx, until)
				if err != nil {
					return last, nil
				}
				last = until
				return before, nil
			})
		},
	},
	{
		name:    "an answer is taken before the commit",
		restart: true,
		mutate:  mutate{wire: func(c *sim.Conn) { c.Early = true }},
	},
	{
		name:   "any answer is taken for that to the last call",
		mutate: mutate{wire: func(c *sim.Conn) { c.Unpaired = true }},
	},
	{
		name:   "the mark not compared where it was read before",
		mutate: mutate{db: simMariaDB, edit: forgetMark},
	},
	{
		name:   "the mark lowered where it is higher",
		mutate: mutate{db: simPostgreSQL, edit: lowerMark},
	},
	{
		name:    "the wall clock is trusted after a step back",
		restart: true,
		source:  func(s simFlake) sim.Source { return clockTruster{s} },
	},
}

// forgetMark leaves the mark that was read out of the WHERE.
func forgetMark(text string) string {
	before, _, _ := strings.Cut(text, " AND reserved_until = ")
	return before
}

func lowerMark(text string) string {
	return strings.ReplaceAll(text, "GREATEST(reserved_until, $1)", "$1")
}

// TestSnowflakeMutants: the simulation finds each of them, by a key that is made
// twice.
func TestSnowflakeMutants(t *testing.T) {
	find := func(name string, trial *sim.Trial) {
		t.Run(name, func(t *testing.T) {
			// Some never get on again.
			trial.Recovery = func(*sim.World) time.Duration { return 3 * time.Second }
			trial.Find(t, "unique", 10_000)
		})
	}
	for _, m := range testturn.Some(t, flakeMutants, 3) {
		find(m.name, flakeTrial(m))
		if m.restart {
			m.alone = true
			trial := flakeTrial(m)
			trial.Faults = []sim.Fault{sim.Kill, sim.ClockStep, sim.Refuse, sim.Rollback}
			find(m.name+", across a restart", trial)
		}
	}
	find("no wait without a Marker", unmarkedTrial(func(s simFlake) sim.Source {
		s.SkipStart()
		return s
	}))
}
