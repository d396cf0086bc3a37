package counting_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// simComposite draws the integers of composite keys one by one, as a statement
// does, and compares the keys with them.
type simComposite struct {
	simFlake
	*keysource.Composite
}

func (s simComposite) Next(ctx context.Context, n int) ([]int64, error) {
	var (
		made []int64
		last string
	)
	for range n {
		one, err := s.simFlake.Next(ctx, 1)
		if err != nil {
			return nil, err
		}
		keys, err := mapping.Keys(s.Composite, one[0], 1, str)
		if err != nil {
			return nil, err
		}
		key := keys[0].(string)
		switch number, err := s.Number(key); {
		case err != nil || number != one[0]:
			s.p.World.Failf("text: %s is of %d, %v, and not %d", key, number, err, one[0])
		case key <= last:
			s.p.World.Failf("text: %s follows %s", key, last)
		}
		made, last = append(made, one[0]), key
	}
	return made, nil
}

// compositeLength returns the length of the keys of a world.
func compositeLength(w *sim.World) int { return []int{20, 24}[w.Seed>>2%2] }

// compositeTrial is the trial of snowflakes, except for the bits and how they are drawn:
// the keys of a statement of length 20 are not consecutive.
func compositeTrial(m flakeMutant) *sim.Trial {
	m.bits = func(w *sim.World) keysource.SnowflakeBits {
		bits, err := keysource.CompositeBits(compositeLength(w))
		if err != nil {
			panic(err) // not a matter of any seed
		}
		return bits
	}
	m.source = func(s simFlake) sim.Source {
		c, err := keysource.NewComposite(compositeLength(s.p.World))
		if err != nil {
			panic(err)
		}
		return simComposite{s, c}
	}
	trial := flakeTrial(m)
	trial.Contiguous = false
	return trial
}

func TestCompositeSimulation(t *testing.T) { compositeTrial(flakeMutant{}).Run(t) }

// TestCompositeMutants: the simulation finds the mutants of a snowflake's marks
// with these bits too.
func TestCompositeMutants(t *testing.T) {
	for _, m := range testturn.Some(t, flakeMutants[:4], 4) {
		t.Run(m.name, func(t *testing.T) { compositeTrial(m).Find(t, "unique", 10_000) })
	}
}
