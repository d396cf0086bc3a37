package keys_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// sharedAfterLoss calls f with two policies of one state, in a store without SQL and in a
// database: one for table a, with the store as it was, and one that makes a policy of the
// store that has lost its states, for another table and a start. a has the keys from 1 to
// 30, and its claim says that the state was used.
func sharedAfterLoss(t *testing.T, f func(t *testing.T, s *harness.Scratch, lost func(table string, start int64) *policy.Config)) {
	t.Helper()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		for _, sql := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, SQL %v", kind, sql), func(t *testing.T) {
				harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
					for _, table := range []string{"a", "b"} {
						harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
					}
					central := func() policy.Store {
						if sql {
							return policy.Store{Driver: s.Driver, DSN: s.DSN(t)}
						}
						name, _ := harness.RegisterPlain(t)
						return policy.Store{Driver: name, DSN: "memory"}
					}
					in := func(at policy.Store, table string, start int64) *policy.Config {
						cfg := inPlain(s.Engine, at.Driver, kind, func(s *policy.Source) { s.Name, s.Start = "order_no", start })
						cfg.Stores["central"] = at
						cfg.Tables = map[string]policy.Table{table: cfg.Tables["t"]}
						return cfg
					}
					before, _ := s.Open(t, in(central(), "a", 1))
					insertNoted(t, s, before, "a")
					for harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM a") < 30 {
						harness.Exec(t, before, "INSERT INTO a (a) VALUES (1)")
					}
					empty := central()
					f(t, s, func(table string, start int64) *policy.Config { return in(empty, table, start) })
				})
			})
		}
	}
}

const (
	claimOfA = "order_no (store central) for %a.id" // for LIKE: the schema differs
	inBoth   = "SELECT COUNT(*) FROM b WHERE id IN (SELECT id FROM a)"
)

// TestSharedWiped: a state in a store that was wiped is not made again by another program
// with another table, whose own column never had a key of it.
func TestSharedWiped(t *testing.T) {
	t.Parallel()
	sharedAfterLoss(t, func(t *testing.T, s *harness.Scratch, lost func(string, int64) *policy.Config) {
		for _, start := range []int64{0, 1} {
			after, _ := s.Open(t, lost("b", start))
			if _, err := after.Exec("INSERT INTO b (a) VALUES (1)"); !errors.Is(err, store.ErrGone) {
				t.Errorf("start %d: %v, want %v; %d keys are in both tables", start, err, store.ErrGone, harness.CountInt(t, s.Raw, inBoth))
			}
		}
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences WHERE name LIKE '"+claimOfA+"'")
		mended, _ := s.Open(t, lost("b", 1000))
		harness.Exec(t, mended, "INSERT INTO b (a) VALUES (1)")
	})
}

// TestSharedWipedRenamed: the claim of a table that was renamed says as before that the state
// was used.
func TestSharedWipedRenamed(t *testing.T) {
	t.Parallel()
	sharedAfterLoss(t, func(t *testing.T, s *harness.Scratch, lost func(string, int64) *policy.Config) {
		harness.Exec(t, s.Raw, "DROP TABLE b")
		harness.Exec(t, s.Raw, "ALTER TABLE a RENAME TO b")
		after, _ := s.Open(t, lost("b", 1))
		if _, err := after.Exec("INSERT INTO b (a) VALUES (1)"); !errors.Is(err, store.ErrGone) {
			t.Errorf("%v, want %v", err, store.ErrGone)
		}
	})
}

// TestSharedBeginsAboveAll: where the claim of another table does not say that the state was
// used, the state begins above the keys of that table too. A table that cannot be read is an
// error, which is gone with the claim.
func TestSharedBeginsAboveAll(t *testing.T) {
	t.Parallel()
	sharedAfterLoss(t, func(t *testing.T, s *harness.Scratch, lost func(string, int64) *policy.Config) {
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 1 WHERE name LIKE '"+claimOfA+"'")
		harness.Exec(t, s.Raw, "ALTER TABLE a RENAME TO away")
		blind, _ := s.Open(t, lost("b", 0))
		if _, err := blind.Exec("INSERT INTO b (a) VALUES (1)"); !errors.Is(err, store.ErrUnread) {
			t.Errorf("a table that cannot be read: %v, want %v", err, store.ErrUnread)
		}
		harness.Exec(t, s.Raw, "ALTER TABLE away RENAME TO a")
		after, _ := s.Open(t, lost("b", 1))
		for range 20 {
			harness.Exec(t, after, "INSERT INTO b (a) VALUES (1)")
		}
		if n := harness.CountInt(t, s.Raw, inBoth); n > 0 {
			t.Errorf("%d keys are in both tables", n)
		}
	})
}

// TestSharedMadeTogether: programs with a table each that begin with an empty store at once all
// go on, and no key is in two tables.
func TestSharedMadeTogether(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
				tables := []string{"a", "b", "c", "d"}
				var keys []string
				for _, table := range tables {
					harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
					keys = append(keys, "SELECT id FROM "+table)
				}
				name, _ := harness.RegisterPlain(t)
				var wg sync.WaitGroup
				for _, table := range tables {
					cfg := inPlain(s.Engine, name, kind, func(s *policy.Source) { s.Name, s.Start = "order_no", 0 })
					cfg.Tables = map[string]policy.Table{table: cfg.Tables["t"]}
					db, _ := s.Open(t, cfg)
					wg.Go(func() {
						for range 5 {
							if _, err := db.Exec("INSERT INTO " + table + " (a) VALUES (1)"); err != nil {
								t.Errorf("%s: %v", table, err)
							}
						}
					})
				}
				wg.Wait()
				all := strings.Join(keys, " UNION ALL ")
				if n := harness.CountInt(t, s.Raw, "SELECT COUNT(*) - COUNT(DISTINCT id) FROM ("+all+") k"); n > 0 {
					t.Errorf("%d keys are in two tables", n)
				}
			})
		})
	}
}
