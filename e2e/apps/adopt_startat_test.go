package apps_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// besideEngines are one for each driver of an engine on which sequences are tried.
var besideEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}

// startingAt is the policy for a sequence that begins where others end.
func startingAt(at int64) *policy.Config {
	return harness.InPlace(harness.Counted(func(s *policy.Source) { s.Name, s.StartAt = "later", at }))
}

// earlier are the forms of a sequence that another one may begin above.
var earlier = map[string]func(*policy.Source){
	"in place":   nil,
	"named":      func(s *policy.Source) { s.Name = "earlier" },
	"joined":     func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined },
	"optimistic": func(s *policy.Source) { s.Lock = policy.LockOptimistic },
	"procedure":  func(s *policy.Source) { s.Via = policy.ViaProcedure },
	"exclusive":  func(s *policy.Source) { s.Exclusive = true },
}

// TestStartAt: a sequence begins above another one, whose processes know nothing of it
// and go on, also those that start later. They end where it begins.
func TestStartAt(t *testing.T) {
	t.Parallel()
	for name, change := range earlier {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
				if change != nil && name == "procedure" && s.Server == nil {
					return // SQLite has none
				}
				harness.CreateIDs(t, s, "t")
				before := harness.InPlace(harness.Counted(change))
				old, _ := s.Open(t, before)
				insertMarked(t, old, "old")
				later, _ := s.Open(t, startingAt(60))
				for range 3 {
					insertMarked(t, later, "later")
					insertMarked(t, old, "old")
				}
				restarted, was := s.Open(t, before)
				insertMarked(t, restarted, "old")
				again, is := s.Open(t, startingAt(60))
				insertMarked(t, again, "later")
				for _, m := range []*keyfill.Mount{was, is} {
					if s.Memory {
						continue // a check sees another database
					}
					if found, err := m.Check(t.Context()); err != nil || slices.ContainsFunc(found, isError) {
						t.Errorf("check finds %v: %v", found, err)
					}
				}
				// The old ones use up what is left to them, and nothing else.
				for n := 0; ; n++ {
					_, err := restarted.Exec(markedInsert("old"))
					if errors.Is(err, keysource.ErrExhausted) {
						if !strings.Contains(err.Error(), store.EndRemedy) {
							t.Errorf("at the end: %v, want it to say %q", err, store.EndRemedy)
						}
						break
					}
					if err != nil || n == 60 {
						t.Fatalf("INSERT %d of the old sequence: %v", n, err)
					}
				}
				insertMarked(t, later, "later")
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 1 AND id >= 60 OR a = 2 AND id < 60"); n != 0 {
					t.Errorf("%d rows have ids of the other sequence", n)
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 2"); n != 5 {
					t.Errorf("%d rows of the later sequence, want 5", n)
				}
			})
		})
	}
}

// isError reports whether a finding is an error.
func isError(f keyfill.Finding) bool {
	return f.Severity == "error"
}

// markedInsert is an INSERT into t of a row that names its program.
func markedInsert(who string) string {
	return fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", map[string]int{"old": 1, "later": 2}[who])
}

func insertMarked(t *testing.T, db *sql.DB, who string) {
	t.Helper()
	if _, err := db.Exec(markedInsert(who)); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}

// TestStartAtPassed: a start_at that the other sequence has passed is refused, and that
// sequence goes on as if nothing had been.
func TestStartAtPassed(t *testing.T) {
	t.Parallel()
	harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		old, _ := s.Open(t, harness.InPlace(harness.Counted(nil)))
		insertMarked(t, old, "old") // reserves up to 10
		later, _ := s.Open(t, startingAt(10))
		if _, err := later.Exec(markedInsert("later")); !errors.Is(err, store.ErrStartAt) || !strings.Contains(err.Error(), "start_at") {
			t.Errorf("in the midst of a block: %v, want %v", err, store.ErrStartAt)
		}
		for range 20 {
			insertMarked(t, old, "old")
		}
		s.WantNumbers(t, harness.UpTo(21)...)
	})
}

// TestStartAtKinds: beside a source that has no end, a sequence with start_at is refused.
func TestStartAtKinds(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]policy.Source{
		"snowflake":    {Kind: policy.KindSnowflake, Worker: new(1), EnsureSchema: true},
		"recycled":     {Kind: policy.KindRecycled, EnsureSchema: true},
		"maxplusone":   {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
		"pseudorandom": {Kind: policy.KindPseudorandom, EnsureSchema: true},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				if name == "snowflake" && s.Server == nil {
					return // it has no state there
				}
				harness.CreateIDs(t, s, "t")
				cfg := harness.InPlace(src)
				if name == "pseudorandom" {
					cfg = harness.FillID("t", policy.Table{InPlace: &src, MaxBits: 31})
				}
				old, _ := s.Open(t, cfg)
				insertMarked(t, old, "old")
				later, _ := s.Open(t, startingAt(1<<62))
				if _, err := later.Exec(markedInsert("later")); !errors.Is(err, store.ErrStartAt) {
					t.Errorf("%v, want %v", err, store.ErrStartAt)
				}
				insertMarked(t, old, "old")
			})
		})
	}
}

// TestStartAtRolledBack: an end that was given in a transaction which is rolled back is
// no end, and the sequence above gives it again before its next number.
func TestStartAtRolledBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		old, _ := s.Open(t, harness.InPlace(harness.Counted(nil)))
		insertMarked(t, old, "old")
		later, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
			s.Name, s.StartAt, s.Block, s.Transaction = "later", 100, 0, policy.TransactionJoined
		})))
		tx, err := later.Begin()
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, tx, markedInsert("later"))
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		insertMarked(t, old, "old")
		insertMarked(t, later, "later")
		var end int
		if end = harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE name LIKE '%t.id' AND incarnation LIKE '%<100'"); end != 1 {
			t.Errorf("%d rows have the end", end)
		}
		s.WantNumbers(t, 1, 2, 100)
	})
}

// TestStartAtAfterDuplicate: the old sequence, which looks at the greatest key after a
// duplicate one, looks only at its own keys, inside of a transaction too.
func TestStartAtAfterDuplicate(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		old, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.OnBehind = keysource.RemedyAdvance })))
		insertMarked(t, old, "old")
		later, _ := s.Open(t, startingAt(1000))
		insertMarked(t, later, "later")
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (2, 3)")
		if _, err := old.Exec(markedInsert("old")); err == nil {
			t.Error("a key that is in use was stored")
		}
		harness.Eventually(t, func() error { _, err := old.Exec(markedInsert("old")); return err })
		tx, err := old.Begin()
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, tx, markedInsert("old"))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t WHERE a = 1"); n >= 1000 {
			t.Errorf("the old sequence has stored %d", n)
		}
	})
}

// TestSkipRange: a sequence gives no integer of the range that another generator has, and
// the keys of that one are not the greatest ones.
func TestSkipRange(t *testing.T) {
	t.Parallel()
	harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		harness.Must(t, s.Raw, "INSERT INTO t (id, a) VALUES (7, 3)", "INSERT INTO t (id, a) VALUES (100, 3)", "INSERT INTO t (id, a) VALUES (199, 3)")
		cfg := harness.InPlace(harness.Counted(func(s *policy.Source) {
			s.SkipRange, s.FollowExplicit = policy.Range{First: 100, Last: 199}, true
		}))
		db, m := s.Open(t, cfg)
		insertMarked(t, db, "old")
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (150, 3)") // the other generator's, through keyfill
		insertMarked(t, db, "old")
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (60, 1)")
		insertMarked(t, db, "old")
		if s.Server != nil {
			first, err := m.Reserve(t.Context(), "t", 45)
			if err != nil || first != 200 {
				t.Errorf("45 keys in a row begin at %d: %v; want 200", first, err)
			}
		}
		again, _ := s.Open(t, cfg)
		for range 60 {
			insertMarked(t, again, "old")
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 1 AND id BETWEEN 100 AND 199"); n != 0 {
			t.Errorf("%d rows have ids of the range", n)
		}
		if got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = 1 AND id < 62 ORDER BY id")); got != "[8 9 60 61]" {
			t.Errorf("the sequence begins with %s, want above 7, and above 60", got)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 1 AND id >= 200"); n == 0 {
			t.Error("no row has an id above the range")
		}
	})
}

// TestStartAtBeforeExclusive: an exclusive sequence whose row is made when a sequence with
// start_at has begun would have no end, and would pass the other one's numbers.
func TestStartAtBeforeExclusive(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]policy.Source{
		"sequence":   harness.Counted(func(s *policy.Source) { s.Exclusive = true }),
		"named":      harness.Counted(func(s *policy.Source) { s.Exclusive, s.Name = true, "earlier" }),
		"joined":     {Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Transaction: policy.TransactionJoined},
		"recycled":   {Kind: policy.KindRecycled, EnsureSchema: true, Exclusive: true},
		"maxplusone": {Kind: policy.KindMaxPlusOne, EnsureSchema: true, Exclusive: true},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, besideEngines, func(t *testing.T, s *harness.Scratch) {
				harness.CreateIDs(t, s, "t")
				later, _ := s.Open(t, startingAt(60))
				insertMarked(t, later, "later")
				old, m := s.Open(t, harness.InPlace(src))
				if _, err := old.Exec(markedInsert("old")); !errors.Is(err, store.ErrBegun) || !strings.Contains(err.Error(), "start_at") {
					t.Errorf("an exclusive %s whose row is made later: %v, want %v", name, err, store.ErrBegun)
				}
				if !s.Memory { // a check sees another database
					if found, err := m.Check(t.Context()); err != nil || !slices.ContainsFunc(found, isError) {
						t.Errorf("check finds %v: %v", found, err)
					}
				}
				for range 20 {
					insertMarked(t, later, "later")
				}
			})
		})
	}
}

// leftRow makes the row of a sequence that was refused in the moment when its row was made:
// the other sequence had reserved from at on since it was looked for.
func leftRow(t *testing.T, s *harness.Scratch, at int64) {
	t.Helper()
	harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) "+
		"SELECT 'later', %d, table_name, column_name, '', 'left', updated_at FROM keyfill_sequences WHERE table_name LIKE '%%t' AND name LIKE '%%t.id'", at))
}

// TestStartAtEndedBoth: of two sequences that a third one has ended at the same integer,
// the one that was refused stays so, although the other one has come to its end.
func TestStartAtEndedBoth(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		old, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block = 199 })))
		insertMarked(t, old, "old") // holds up to 199
		leftRow(t, s, 60)
		third, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Name, s.StartAt = "third", 200 })))
		insertMarked(t, third, "later")
		for range 70 {
			insertMarked(t, old, "old")
		}
		later, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
			s.Name, s.StartAt, s.OnBehind = "later", 60, keysource.RemedyAdvance
		})))
		if _, err := later.Exec(markedInsert("later")); !errors.Is(err, store.ErrStartAt) {
			t.Errorf("the sequence that was refused: %v, want %v", err, store.ErrStartAt)
		}
		insertMarked(t, old, "old")
	})
}

// TestStartAtRefusedEndsNone: a sequence that is refused gives no end to a state that it
// could have ended.
func TestStartAtRefusedEndsNone(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		old, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block = 150 })))
		insertMarked(t, old, "old") // holds up to 150
		leftRow(t, s, 60)
		third, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Name, s.StartAt = "third", 100 })))
		if _, err := third.Exec(markedInsert("later")); !errors.Is(err, store.ErrStartAt) {
			t.Errorf("a start_at that the first one has passed: %v, want %v", err, store.ErrStartAt)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE incarnation LIKE '%<%'"); n != 0 {
			t.Errorf("%d rows have an end", n)
		}
		later, _ := s.Open(t, startingAt(60))
		if _, err := later.Exec(markedInsert("later")); !errors.Is(err, store.ErrStartAt) {
			t.Errorf("the sequence that was refused: %v, want %v", err, store.ErrStartAt)
		}
		for range 70 {
			insertMarked(t, old, "old")
		}
	})
}
