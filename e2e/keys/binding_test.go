package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/policy"
)

// bindingEngines are one for each driver.
var bindingEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}

// namedFor is the policy for the ids of tables with one source under sources:.
func namedFor(s policy.Source, tables ...string) *policy.Config {
	cfg := &policy.Config{Sources: map[string]policy.Source{"numbers": s}, Tables: map[string]policy.Table{}}
	for _, table := range tables {
		cfg.Tables[table] = policy.Table{Column: "id", Source: "numbers"}
	}
	return cfg
}

// TestBinding: a column that a state serves is not filled from another one,
// whichever comes first, and the first one goes on, also after a restart.
func TestBinding(t *testing.T) {
	t.Parallel()
	named, other := namedFor(harness.Counted(nil), "t", "u"), harness.FillID("t", policy.Table{InPlace: new(harness.Counted(func(s *policy.Source) { s.Name = "other" }))})
	for _, c := range []struct {
		name          string
		first, second *policy.Config
		says          string // in the error, of the first state
	}{
		{"in place, then named", harness.InPlace(harness.Counted(nil)), named, `t.id"`},
		{"named, then in place", named, harness.InPlace(harness.Counted(nil)), `"numbers", whose row for this column is "numbers for `},
		{"named, then named", named, other, `"numbers", whose row for this column is "numbers for `},
		{"named, then of one name", other, namedFor(harness.Counted(nil), "t"), `"other", whose row for this column is "other for `},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, bindingEngines, func(t *testing.T, s *harness.Scratch) {
				harness.CreateIDs(t, s, "t", "u")
				first, _ := s.Open(t, c.first)
				harness.Exec(t, first, harness.InsertT)
				second, _ := s.Open(t, c.second)
				for range 2 {
					_, err := second.Exec(harness.InsertT)
					if !errors.Is(err, store.ErrTaken) || !strings.Contains(err.Error(), c.says) {
						t.Errorf("the second: %v, want %v by %s", err, store.ErrTaken, c.says)
					}
				}
				harness.Exec(t, first, harness.InsertT)
				again, _ := s.Open(t, c.first)
				harness.Exec(t, again, harness.InsertT)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 3 {
					t.Errorf("%d rows, want 3", n)
				}
			})
		})
	}
}

// TestBindingExclusive: a policy that says so is taken at its word, and one that
// does not finds it.
func TestBindingExclusive(t *testing.T) {
	t.Parallel()
	harness.Each(t, bindingEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t", "u")
		high := func(s *policy.Source) { s.Start, s.Exclusive = 1000, true }
		for i, cfg := range []*policy.Config{harness.InPlace(harness.Counted(nil)), namedFor(harness.Counted(high), "t", "u")} {
			db, _ := s.Open(t, cfg)
			if _, err := db.Exec(harness.InsertT); err != nil {
				t.Errorf("policy %d: %v", i, err)
			}
		}
		db, _ := s.Open(t, harness.InPlace(harness.Counted(nil)))
		if _, err := db.Exec(harness.InsertT); !errors.Is(err, store.ErrTaken) {
			t.Errorf("the first once more: %v, want %v", err, store.ErrTaken)
		}
	})
}

// TestBindingTables: tables come to a named source, and go, while its row stays
// what it is; a row that was made for one of them alone is taken.
func TestBindingTables(t *testing.T) {
	t.Parallel()
	harness.Each(t, bindingEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t", "u", "w")
		for _, tables := range [][]string{{"t"}, {"t", "u"}, {"t"}, {"t", "u", "w"}, {"w", "t"}} {
			db, _ := s.Open(t, namedFor(harness.Counted(nil), tables...))
			for _, table := range tables {
				harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (1)")
			}
		}
		keys := harness.IntegersOf(t, s.Raw, "SELECT id FROM t UNION ALL SELECT id FROM u UNION ALL SELECT id FROM w ORDER BY 1")
		if distinct := slices.Compact(slices.Clone(keys)); len(distinct) != 9 {
			t.Errorf("keys %v, want 9 distinct ones", keys)
		}
		if got := states(t, s); got != "numbers" {
			t.Errorf("states %s", got)
		}
		harness.Exec(t, s.Raw, `UPDATE keyfill_sequences SET
			table_name = (SELECT table_name FROM (SELECT * FROM keyfill_sequences) k WHERE name LIKE '% for %t.id' OR name = 'numbers for t.id'),
			column_name = 'id' WHERE name = 'numbers'`)
		db, _ := s.Open(t, namedFor(harness.Counted(nil), "t", "u"))
		harness.Exec(t, db, harness.InsertT)
	})
}

// TestBindingAtOnce: of two states that bind one column at the same time, at
// most one is used.
func TestBindingAtOnce(t *testing.T) {
	t.Parallel()
	harness.Each(t, bindingEngines[1:], func(t *testing.T, s *harness.Scratch) {
		harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		for range 10 {
			var (
				wg    sync.WaitGroup
				start = make(chan struct{})
				errs  [2]error
			)
			for i, name := range []string{"one", "two"} {
				st, q := harness.StoreOf(t, s), harness.Orders
				q.Name, q.Shared = name, true
				wg.Go(func() {
					<-start
					_, errs[i] = reserver.Open(context.Background(), st, q)
				})
			}
			close(start)
			wg.Wait()
			if errs[0] == nil && errs[1] == nil {
				t.Fatal("both states serve the column")
			}
			for _, err := range errs {
				if err != nil && !errors.Is(err, store.ErrTaken) {
					t.Errorf("%v, want %v", err, store.ErrTaken)
				}
			}
			harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		}
	})
}

// TestBindingRolledBack: a binding that was made in the application's
// transaction, and undone with it, is made again.
func TestBindingRolledBack(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.CreateIDs(t, s, "t", "u")
	db, _ := s.Open(t, namedFor(harness.Counted(nil), "t", "u"))
	harness.Exec(t, db, "INSERT INTO u (a) VALUES (1)") // makes the tables
	harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences WHERE parameters = 'binding'")
	db, _ = s.Open(t, namedFor(harness.Counted(nil), "t", "u"))
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(harness.InsertT); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE parameters = 'binding'"); n != 2 {
		t.Errorf("%d rows bind the state, want 2", n)
	}
}

// TestBindingName: a name that does not fit is shortened, and stays distinct.
func TestBindingName(t *testing.T) {
	t.Parallel()
	harness.Each(t, bindingEngines, func(t *testing.T, s *harness.Scratch) {
		st := harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		harness.Exec(t, s.Raw, "CREATE TABLE parts (id BIGINT NOT NULL PRIMARY KEY)")
		for _, prefix := range []int{150, 189} {
			q := harness.Orders
			q.Name, q.Shared = strings.Repeat("ö", prefix)+"x", true
			q.Columns = []store.Column{{Table: "orders", Name: "id"}, {Table: "parts", Name: "id"}}
			q.Exclusive = prefix == 189
			for range 2 {
				if _, err := reserver.Open(context.Background(), st, q); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE parameters = 'binding'"); n != 4 {
			t.Errorf("%d rows bind two states to two columns, want 4", n)
		}
	})
}

// TestBindingLater: a table that comes to a state while a process runs, of a
// glob or made since, is bound as those are that it began with.
func TestBindingLater(t *testing.T) {
	t.Parallel()
	for _, source := range []policy.Source{harness.Counted(nil), marked(1)} {
		t.Run(source.Kind, func(t *testing.T) {
			harness.Each(t, bindingEngines, func(t *testing.T, s *harness.Scratch) {
				if source.Kind == policy.KindSnowflake && s.Server == nil {
					return // it has no mark on the statements' connections
				}
				harness.CreateIDs(t, s, "log_a")
				cfg := namedFor(source, "log_*", "u")
				db, _ := s.Open(t, cfg)
				harness.Exec(t, db, "INSERT INTO log_a (a) VALUES (1)")
				harness.CreateIDs(t, s, "log_b", "u")
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				for _, table := range []string{"u", "u"} {
					if _, err := tx.Exec("INSERT INTO " + table + " (a) VALUES (1)"); err != nil {
						t.Fatal(err)
					}
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, db, "INSERT INTO log_b (a) VALUES (1)")
				for _, table := range []string{"log_a", "log_b", "u"} {
					other, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: new(harness.Counted(nil))}))
					if _, err := other.Exec("INSERT INTO " + table + " (a) VALUES (1)"); !errors.Is(err, store.ErrTaken) {
						t.Errorf("%s: %v, want %v", table, err, store.ErrTaken)
					}
				}

				harness.CreateIDs(t, s, "log_c")
				other, _ := s.Open(t, harness.FillID("log_c", policy.Table{InPlace: new(harness.Counted(nil))}))
				harness.Exec(t, other, "INSERT INTO log_c (a) VALUES (1)")
				for range 2 {
					if _, err := db.Exec("INSERT INTO log_c (a) VALUES (1)"); !errors.Is(err, store.ErrTaken) {
						t.Errorf("log_c: %v, want %v", err, store.ErrTaken)
					}
				}
				harness.Exec(t, db, "INSERT INTO log_a (a) VALUES (1)")
			})
		})
	}
}
