package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
)

// joined asks the store for the keys of every statement on its connection.
type joined struct {
	heedless bool
	sim.Source
}

func newJoined(heedless bool) func(*sim.Process) (sim.Source, error) {
	return func(*sim.Process) (sim.Source, error) { return joined{heedless, counting(1)}, nil }
}

func (j joined) NextOn(ctx context.Context, n int, c *sim.Session) ([]int64, error) {
	c.Heedless = j.heedless
	last, err := sim.Write(ctx, c, func(tx *sim.Tx) int64 {
		tx.Note("reserve", 0)
		tx.Set("counter", tx.Get("counter")+int64(n))
		return tx.Get("counter")
	})
	if err != nil {
		return nil, err
	}
	return consecutive(last-int64(n)+1, n), nil
}

func (joined) AdvanceOn(ctx context.Context, to int64, c *sim.Session) error {
	_, err := sim.Write(ctx, c, func(tx *sim.Tx) bool {
		tx.Set("counter", max(tx.Get("counter"), to-1))
		return true
	})
	return err
}

// joinedTrial returns the trial of joined, in which keys come again that were
// rolled back or lost.
func joinedTrial(heedless bool) *sim.Trial {
	return &sim.Trial{
		Open:       newJoined(heedless),
		Faults:     allFaults,
		Contiguous: true,
		Ordered:    true,
		Recovery:   func(*sim.World) time.Duration { return 10 * time.Second },
		Void: func(w *sim.World, i sim.Issue) bool {
			if i.Transaction == nil {
				return false
			}
			lost := false
			for _, c := range i.Transaction.Statements {
				lost = lost || c.Lost
			}
			return lost || i.Transaction.Undone
		},
		// Outside a transaction a lost commit is one of a key that is in use.
		Excuse: func(w *sim.World, _, _ sim.Issue, _ int64) bool { return w.Server.Lost() > 0 },
	}
}

func TestSessionOfRightSource(t *testing.T) {
	trial := joinedTrial(false)
	trial.Faults = withoutLosses
	trial.Run(t)
}

func TestSessionOfHeedlessClient(t *testing.T) {
	trial := joinedTrial(true)
	trial.Faults = withoutLosses
	if trial.SearchFor(t, "unique", 1000) == nil {
		t.Error("no seed finds that keys of failed commits are used")
	}
}

// TestSessionKillsLeaveNothing: the uncommitted changes of a process that is killed are
// undone, and its locks are released.
func TestSessionKillsLeaveNothing(t *testing.T) {
	trial := joinedTrial(false)
	trial.Faults = nil
	if runs, w := trial.EveryStep(t, 12); w != nil || runs < 100 {
		t.Errorf("%d steps, and then %v", runs, w)
	}
}

// TestTransactionsAreLostAsAWhole: a failover loses all statements of a
// transaction, or none.
func TestTransactionsAreLostAsAWhole(t *testing.T) {
	met := map[string]int{}
	trial := joinedTrial(false)
	trial.Faults = []sim.Fault{sim.Failover, sim.Restore}
	trial.Check = func(w *sim.World) {
		lost := map[*sim.Transaction]bool{}
		for _, c := range w.Server.Commits() {
			if before, ok := lost[c.Transaction]; ok {
				met["of several statements"]++
				if before != c.Lost {
					w.Failf("whole: a transaction was lost in part")
				}
			}
			lost[c.Transaction] = c.Lost
			if c.Lost {
				met["lost"]++
			}
		}
		met["undone"] += len(w.Server.Undone())
	}
	for seed := range uint64(40) {
		if w := trial.One(t, seed); len(w.Broken()) > 0 && w.Broken()[0][:5] == "whole" {
			t.Errorf("seed %d: %s", seed, w.Broken())
		}
	}
	for _, what := range []string{"lost", "undone", "of several statements"} {
		if met[what] < 5 {
			t.Errorf("%s: only %d times in all", what, met[what])
		}
	}
}

func TestSessionSameSeedSameHistory(t *testing.T) {
	trial := joinedTrial(false)
	for seed := range uint64(20) {
		if a, b := trial.One(t, seed).Trace(), trial.One(t, seed).Trace(); a != b {
			t.Errorf("seed %d has two histories:\n%s\n%s", seed, a, b)
		}
	}
}
