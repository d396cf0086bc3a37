package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// eachUpstream runs a test with two shards on each engine, which have had some blocks.
func eachUpstream(t *testing.T, change func(*policy.Source), f func(t *testing.T, central policy.Store, at *harness.Scratch, shards []*shard)) {
	for _, e := range harness.ByTurns(t, faultEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			central, _, at := centralOf(t, e)
			source := upstreamSource()
			if change != nil {
				change(&source)
			}
			shards := []*shard{newShard(t, e, central, source), newShard(t, e, central, source)}
			for _, s := range shards {
				s.many(t, upstreamBlock+upstreamBlock/2)
			}
			f(t, central, at, shards)
			keysOfAll(t, shards...)
		})
	}
}

// untilError inserts until there is an error, for the time that blocks may last, and
// returns it.
func (s *shard) untilError() (err error) {
	for n := 0; err == nil && n < 6*upstreamBlock; n++ {
		err = s.insert(jobPatience)
	}
	return err
}

// wantBack fails unless an error says that the central store has gone back.
func wantBack(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, keysource.ErrStoreBack) || !strings.Contains(fmt.Sprint(err), `store "central"`) {
		t.Errorf("%v, want %v, and the name of the store", err, keysource.ErrStoreBack)
	}
}

// TestFaultUpstreamBack: the central store is put back below the blocks that two shards have
// had. Both use up their blocks, and then say so, after a restart too, until it is set right.
func TestFaultUpstreamBack(t *testing.T) {
	t.Parallel()
	eachUpstream(t, nil, func(t *testing.T, central policy.Store, at *harness.Scratch, shards []*shard) {
		next := at.Next(t, "t.id")
		harness.Exec(t, at.Raw, "UPDATE keyfill_sequences SET next_value = 11 WHERE name = 't.id'")
		for _, s := range shards {
			wantBack(t, s.untilError())
		}
		again, _ := shards[0].Open(t, shards[0].policy)
		anew := *shards[0].inserter
		anew.db = again
		wantBack(t, anew.insert(jobPatience))
		harness.Exec(t, at.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d WHERE name = 't.id'", next))
		for _, s := range shards {
			harness.Eventually(t, func() error { return s.insert(jobPatience) })
			s.many(t, upstreamBlock)
		}
	})
}

// TestFaultUpstreamBackAdvance: as before, but the shard raises the central store above its
// own blocks. Which blocks another shard has had it cannot know.
func TestFaultUpstreamBackAdvance(t *testing.T) {
	t.Parallel()
	advance := func(s *policy.Source) { s.OnStoreRollback = keysource.RemedyAdvance }
	eachUpstream(t, advance, func(t *testing.T, _ policy.Store, at *harness.Scratch, shards []*shard) {
		last := shards[1] // which has had the last blocks
		last.many(t, 3*upstreamBlock)
		harness.Exec(t, at.Raw, "UPDATE keyfill_sequences SET next_value = 11 WHERE name = 't.id'")
		last.many(t, 4*upstreamBlock)
	})
}

// TestFaultUpstreamGone: a state that is missing in the central store is not made again by a
// database that has had blocks from it.
func TestFaultUpstreamGone(t *testing.T) {
	t.Parallel()
	eachUpstream(t, nil, func(t *testing.T, central policy.Store, at *harness.Scratch, shards []*shard) {
		harness.Exec(t, at.Raw, "DELETE FROM keyfill_sequences")
		for _, s := range shards {
			err := s.untilError()
			if !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(fmt.Sprint(err), `store "central"`) {
				t.Errorf("%v, want %v, and the name of the store", err, keysource.ErrStoreState)
			}
		}
		if n := harness.Count(t, at.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE name = 't.id'"); n != 0 {
			t.Error("the state was made again")
		}
	})
}

// TestFaultUpstreamRowGone: the rows of a shard are deleted while it inserts, and when it is
// closed. It takes another block, above all others.
func TestFaultUpstreamRowGone(t *testing.T) {
	t.Parallel()
	eachUpstream(t, nil, func(t *testing.T, _ policy.Store, at *harness.Scratch, shards []*shard) {
		for _, names := range []string{"'t.id'", "'t.id', 't.id (spare)'", "'t.id (spare)'"} {
			harness.Exec(t, shards[0].Raw, "DELETE FROM keyfill_sequences WHERE name IN ("+names+")")
			for _, s := range shards {
				s.many(t, upstreamBlock)
			}
		}
	})
}

// TestFaultUpstreamRowBack: the rows of a shard are put back, as a restored copy does. Its
// processes notice that, as they do without an upstream.
func TestFaultUpstreamRowBack(t *testing.T) {
	t.Parallel()
	eachUpstream(t, nil, func(t *testing.T, _ policy.Store, at *harness.Scratch, shards []*shard) {
		s := shards[0]
		saved := harness.Text(t, s.Raw, "SELECT incarnation FROM keyfill_sequences WHERE name = 't.id'")
		savedNext := s.Next(t, "t.id")
		s.many(t, 2*upstreamBlock)
		reached := s.Next(t, "t.id")
		for stood := 0; stood != reached; { // a block may be on its way
			time.Sleep(time.Second)
			stood, reached = reached, s.Next(t, "t.id")
		}
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d, incarnation = '%s' WHERE name = 't.id'", savedNext, saved))
		if err := s.untilError(); !errors.Is(err, keysource.ErrStoreBack) {
			t.Errorf("%v, want %v", err, keysource.ErrStoreBack)
		}
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d WHERE name = 't.id'", reached))
		harness.Eventually(t, func() error { return s.insert(jobPatience) })
		s.many(t, 2*upstreamBlock)
	})
}

// TestFaultUpstreamFollows: a key that an INSERT brings above all blocks raises the row and
// the central store. keyfill check finds nothing.
func TestFaultUpstreamFollows(t *testing.T) {
	t.Parallel()
	follow := func(s *policy.Source) { s.FollowExplicit = true }
	eachUpstream(t, follow, func(t *testing.T, _ policy.Store, at *harness.Scratch, shards []*shard) {
		const brought = 1_000_000
		s := shards[0]
		if _, err := s.db.Exec(fmt.Sprintf("INSERT INTO t (id, stmt, pos) VALUES (%d, -1, 0)", brought)); err != nil {
			t.Fatal(err)
		}
		s.stored++
		if next := at.Next(t, "t.id"); next <= brought {
			t.Errorf("the central store stands at %d after the key %d", next, brought)
		}
		for _, s := range shards {
			s.many(t, 3*upstreamBlock)
			findings, err := s.mount.Check(t.Context())
			for _, f := range findings {
				if f.Severity == "error" || strings.Contains(f.Rule, "state") {
					t.Errorf("check: %+v", f)
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
		if n := harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id > %d", brought)); n < 3*upstreamBlock-20 {
			t.Errorf("%d rows are above the key that was brought", n)
		}
	})
}
