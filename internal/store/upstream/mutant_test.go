package upstream_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// upstreamMutants are sequences with an upstream that are wrong in one way each.
var upstreamMutants = []upstreamMutant{
	{
		name: "a spare block put into use twice, and from its beginning",
		law:  "unique",
		rows: func(s *shardRows) upstream.Rows { return turnsBlindly{s} },
	},
	{
		name:    "a reservation without an answer taken for the same block, and asked for again",
		law:     "unique",
		central: func(c *simCentral) keysource.Reserver { return &guesses{simCentral: c} },
	},
	{
		name: "a block installed before the central store has committed it",
		law:  "unique",
		conn: func(c *sim.Conn) { c.Early = true },
	},
	{
		name: "an answer to an old request installed as another block",
		law:  "unique",
		conn: func(c *sim.Conn) { c.Unpaired = true },
	},
	{
		name: "one integer past the end of the block installed",
		law:  "unique",
		rows: func(s *shardRows) upstream.Rows { return installsMore{s} },
	},
	{
		name: "a block that was installed without an answer installed again, without looking",
		law:  "unique",
		rows: func(s *shardRows) upstream.Rows { return &repeats{shardRows: s} },
	},
	{
		name:    "the central store not raised above a key that was brought",
		law:     "followed",
		central: func(c *simCentral) keysource.Reserver { return unraised{c} },
	},
}

// turnsBlindly compares nothing, and begins the block anew.
type turnsBlindly struct{ *shardRows }

func (s turnsBlindly) Turn(ctx context.Context, was upstream.Level) (bool, error) {
	return s.replaceMain(ctx, shardRow{was.SpareFirst, staterow.WithEnd(was.Block, was.SpareEnd())})
}

// replaceMain replaces the row of the block in use whatever it is.
func (s *shardRows) replaceMain(ctx context.Context, to shardRow) (bool, error) {
	name, _ := s.names()
	return onShard(ctx, s, func(tx *sim.Tx, _, _ shardRow) bool {
		tx.Note(shardTurn, 0)
		tx.Store(name, to)
		return true
	})
}

// guesses takes it that a reservation without an answer has given what follows the last
// answer.
type guesses struct {
	*simCentral
	end int64 // of the last answer
}

func (g *guesses) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := g.simCentral.Reserve(ctx, n, seen)
	if err != nil && g.end > 0 {
		got, err = keysource.Reservation{First: max(g.end, seen)}, nil
	}
	if err == nil {
		g.end = got.First + n
	}
	return got, err
}

// installsMore installs a block that is too long.
type installsMore struct{ *shardRows }

func (s installsMore) Install(ctx context.Context, was upstream.Level, b upstream.Block) (bool, error) {
	return s.shardRows.Install(ctx, was, upstream.Block{First: b.First, End: b.End + 1})
}

// repeats puts a block that was installed without an answer into use, whatever became of it.
type repeats struct {
	*shardRows
	lost *upstream.Level
}

func (s *repeats) Install(ctx context.Context, was upstream.Level, b upstream.Block) (bool, error) {
	if again := s.lost; again != nil {
		s.lost = nil
		return s.replaceMain(ctx, shardRow{again.SpareFirst, again.Spare})
	}
	ok, err := s.shardRows.Install(ctx, was, b)
	if err != nil && ctx.Err() == nil {
		s.lost = &upstream.Level{SpareFirst: b.First, Spare: staterow.WithEnd(was.Block, b.End)}
	}
	return ok, err
}

// unraised raises nothing.
type unraised struct{ *simCentral }

func (unraised) Advance(context.Context, int64) error { return nil }

// TestUpstreamMutants: the simulation finds every mutant.
func TestUpstreamMutants(t *testing.T) {
	for _, m := range testturn.Some(t, upstreamMutants, 3) {
		t.Run(m.name, func(t *testing.T) { upstreamTrial(m).Find(t, m.law, 10_000) })
	}
}

// TestUpstreamSimulationMeetsEverything: a simulation in which nothing goes wrong finds
// nothing.
func TestUpstreamSimulationMeetsEverything(t *testing.T) {
	sim.NeedsAll(t)
	met := map[string]int{}
	trial := upstreamTrial(upstreamMutant{})
	check := trial.Check
	trial.Check = func(w *sim.World) {
		check(w)
		met["statement"] += len(w.Issues)
		for _, s := range []*sim.Server{w.Server, w.Central} {
			for _, c := range s.Commits() {
				met[c.Note]++
				if c.Lost {
					met["lost "+c.Note]++
				}
			}
		}
	}
	for seed := range uint64(40) {
		if w := trial.One(t, seed); len(w.Broken()) > 0 {
			t.Errorf("seed %d: %s", seed, w.Broken())
		}
	}
	for _, what := range []string{"statement", shardReserve, shardInstall, shardTurn, shardRaise, centralReserve, centralAdvance,
		"lost " + shardReserve, "lost " + shardInstall, "lost " + shardTurn, "lost " + centralReserve} {
		if met[what] < 3 {
			t.Errorf("%s: only %d times in all", what, met[what])
		}
	}
	t.Log(met)
}
