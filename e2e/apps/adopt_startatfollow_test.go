package apps_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestStartAtFollows: an old sequence that follows the keys that INSERTs bring, and that the
// engine alone can read, follows the greatest of its own. Keys from its end on are the
// later sequence's, and do not use it up.
func TestStartAtFollows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*policy.Source){
		"blocks":     nil,
		"optimistic": func(s *policy.Source) { s.Lock = policy.LockOptimistic },
		"joined":     func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined },
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
				harness.CreateIDs(t, s, "t")
				old, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
					if s.FollowExplicit = true; change != nil {
						change(s)
					}
				})))
				insertMarked(t, old, "old")
				later, _ := s.Open(t, startingAt(60))
				insertMarked(t, later, "later")
				harness.Exec(t, old, "INSERT INTO t (id, a) SELECT 20, 3")
				insertMarked(t, old, "old")
				tx, err := old.Begin()
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, "INSERT INTO t (id, a) SELECT 40, 3", markedInsert("old"))
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				insertMarked(t, later, "later")
				s.WantNumbers(t, 1, 20, 21, 40, 41, 60, 61)
			})
		})
	}
}

// TestStartAtDuplicateWithin: after a duplicate key in a transaction the old sequence
// looks only at its own keys, before that transaction ends too.
func TestStartAtDuplicateWithin(t *testing.T) {
	t.Parallel()
	harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		old, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.OnBehind = keysource.RemedyAdvance })))
		insertMarked(t, old, "old")
		later, _ := s.Open(t, startingAt(60))
		insertMarked(t, later, "later")
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (2, 3)")
		tx, err := old.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		harness.Must(t, tx, "SAVEPOINT s")
		if _, err := tx.Exec(markedInsert("old")); err == nil {
			t.Error("a key that is in use was stored")
		}
		harness.Must(t, tx, "ROLLBACK TO SAVEPOINT s", markedInsert("old"), markedInsert("old"))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 1 AND id < 60"); n != 3 {
			t.Errorf("%d rows of the old sequence, want 3", n)
		}
	})
}
