package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// maxEngines are one driver mode for each way to lock.
var maxEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}

// maxID is the policy for a table whose next id is the greatest one and one.
func maxID(lock string) *policy.Config {
	return harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindMaxPlusOne, Lock: lock, EnsureSchema: lock == policy.LockRange}})
}

// maxTable opens a database with a table t of that policy; c is unique.
func maxTable(t *testing.T, s *harness.Scratch, lock string) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
	return s.Open(t, maxID(lock))
}

// TestMaxPlusOne: the key is the greatest one in the table and one, whichever program has
// stored that, on every path.
//
//deviation:keys-of-a-transaction | With `maxplusone` the key of a row that was deleted from the top is given again. | all | `DELETE FROM t WHERE id = (SELECT MAX(id) …)` | `kind: sequence`
func TestMaxPlusOne(t *testing.T) {
	t.Parallel()
	harness.Each(t, maxEngines, func(t *testing.T, s *harness.Scratch) {
		for _, lock := range []string{policy.LockRange, policy.LockNone} {
			t.Run(lock, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t")
				db, m := maxTable(t, s, lock)
				one := s.Placeholders("INSERT INTO t (a) VALUES (?)")
				harness.Exec(t, db, one, 1)
				harness.Exec(t, db, s.Placeholders("INSERT INTO t (a) VALUES (?), (?)"), 2, 3)
				harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (100, 4)")
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (5)")
				for _, commits := range []bool{false, true} {
					tx, err := db.Begin()
					if err != nil {
						t.Fatal(err)
					}
					for range 2 {
						if _, err := tx.Exec(one, 6); err != nil {
							t.Fatal(err)
						}
					}
					if commits {
						err = tx.Commit()
					} else {
						err = tx.Rollback()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				var id int64
				if err := db.QueryRow(s.Placeholders("INSERT INTO t (a) VALUES (?) RETURNING id"), 7).Scan(&id); err != nil || id != 104 {
					t.Errorf("RETURNING gave %d, %v", id, err)
				}
				s.WantNumbers(t, 1, 2, 3, 100, 101, 102, 103, 104)
				harness.Exec(t, s.Raw, "DELETE FROM t WHERE id = 104")
				harness.Exec(t, db, one, 8)
				s.WantNumbers(t, 1, 2, 3, 100, 101, 102, 103, 104)
				if _, err := m.Keys(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrJoined) {
					t.Errorf("Keys: %v", err)
				}
			})
		}
	})
}

// TestMaxPlusOneSwarm: with a lock, 16 goroutines store no key twice and none is
// left out; without one the primary key keeps them apart.
//
//deviation:keys-of-a-transaction | With `maxplusone` and `lock: none` two INSERTs at the same time make the same key: one of them is a duplicate-key error. | all | – | `lock: range`
//deviation:keys-of-a-transaction | With `maxplusone` an INSERT locks the end of the index, on Oracle the table, against all other writers until its transaction ends. On PostgreSQL an advisory lock keeps out keyfill's INSERTs alone. | MySQL, MariaDB, PostgreSQL, SQL Server, Oracle | – | `kind: sequence`
func TestMaxPlusOneSwarm(t *testing.T) {
	t.Parallel()
	const workers = 16
	each := testturn.Share(t, 60, 20)
	for _, e := range harness.ByTurns(t, maxEngines) {
		for _, lock := range []string{policy.LockRange, policy.LockNone} {
			t.Run(e.Name+"/"+lock, func(t *testing.T) {
				s := e.Scratch(t)
				db, _ := maxTable(t, s, lock)
				db.SetMaxOpenConns(workers)
				one := s.Placeholders("INSERT INTO t (a) VALUES (?)")
				var stored, failed atomic.Int64
				var wg sync.WaitGroup
				for w := range workers {
					wg.Go(func() {
						for i := range each {
							var err error
							if i%3 == 0 {
								err = harness.InTx(db, func(tx *sql.Tx) error {
									_, err := tx.Exec(one, w)
									return err
								})
							} else {
								_, err = db.Exec(one, w)
							}
							if err == nil {
								stored.Add(1)
								continue
							}
							failed.Add(1)
							text := strings.ToLower(err.Error())
							if lock == policy.LockRange || !strings.Contains(text, "duplicate") && !strings.Contains(text, "unique") && !strings.Contains(text, "locked") && !strings.Contains(text, "deadlock") {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				t.Logf("%d stored, %d failed", stored.Load(), failed.Load())
				s.WantNumbers(t, harness.UpTo(stored.Load())...)
			})
		}
	}
}

// TestMaxPlusOneOthers: a program that inserts by hand meets ours without a lock
// in common; the unique index keeps the keys apart.
func TestMaxPlusOneOthers(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := maxTable(t, s, policy.LockRange)
		var stored atomic.Int64
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for range 50 {
					var err error
					if w%2 == 0 {
						_, err = db.Exec("INSERT INTO t (a) VALUES (1)")
					} else {
						_, err = s.Raw.Exec("INSERT INTO t (id, a) SELECT COALESCE(MAX(id), 0) + 1, 2 FROM t")
					}
					if err == nil {
						stored.Add(1)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d of 200 stored", stored.Load())
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); int64(n) != stored.Load() || n < 50 {
			t.Errorf("%d rows, %d were answered", n, stored.Load())
		}
	})
}

// TestMaxPlusOneUnguarded: without a unique index on the key there is no
// guard, and nothing is sent.
func TestMaxPlusOneUnguarded(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)")
		harness.Exec(t, s.Raw, "CREATE INDEX t_id ON t (id)")
		db, _ := s.Open(t, maxID(policy.LockRange))
		for _, query := range []string{"INSERT INTO t (a) VALUES (1)", s.Placeholders("INSERT INTO t (a) VALUES (?)")} {
			var args []any
			if !strings.Contains(query, "(1)") {
				args = []any{1}
			}
			if _, err := db.Exec(query, args...); !errors.Is(err, keyfill.ErrNotUnique) {
				t.Errorf("%s: %v", query, err)
			}
		}
		s.WantNumbers(t)
	})
}

// TestMaxPlusOneGuard: only a unique index of all rows on the key alone keeps a key
// from being stored twice: one on (id, a), or of some rows, lets it in again.
func TestMaxPlusOneGuard(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		index string
		want  error
		only  string // the dialect
	}{
		{"CREATE UNIQUE INDEX t_%d ON t (id, a)", keyfill.ErrNotUnique, ""},
		{"CREATE UNIQUE INDEX t_%d ON t (id) WHERE a > 1", keyfill.ErrNotUnique, "sqlite"},
		{"CREATE UNIQUE INDEX t_%d ON t (id) WHERE a > 1", keyfill.ErrNotUnique, "postgres"},
		{"CREATE UNIQUE INDEX t_%d ON t (id) INCLUDE (a)", nil, "postgres"},
		{"CREATE UNIQUE INDEX t_%d ON t (id, a); CREATE UNIQUE INDEX u_%[1]d ON t (id)", nil, ""},
	} {
		for _, lock := range []string{policy.LockRange, policy.LockNone} {
			t.Run(c.only+c.index+lock, func(t *testing.T) {
				harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
					if c.only != "" && c.only != s.Dialect.Name {
						return
					}
					harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)")
					harness.Exec(t, s.Raw, "CREATE INDEX t_plain ON t (id)")
					for query := range strings.SplitSeq(fmt.Sprintf(c.index, i), ";") {
						harness.Exec(t, s.Raw, query)
					}
					db, _ := s.Open(t, maxID(lock))
					if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, c.want) {
						t.Errorf("%v, want %v", err, c.want)
					}
				})
			})
		}
	}
}

// TestMaxPlusOneEnds: the last key is the greatest of the column's bits.
func TestMaxPlusOneEnds(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, a INT)")
		cfg := maxID(policy.LockRange)
		entry := cfg.Tables["t"]
		entry.MaxBits = 31
		cfg.Tables["t"] = entry
		db, _ := s.Open(t, cfg)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (2147483645, 1)")
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		if _, err := db.Exec("INSERT INTO t (a) VALUES (3)"); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("%v, want %v", err, keysource.ErrExhausted)
		}
		s.WantNumbers(t, 2147483645, 2147483646, 2147483647)
	})
}

// TestMaxPlusOneStale: a transaction of PostgreSQL that sees what was there when it
// began reads a greatest key that is not, and the unique index refuses what it
// makes of it.
//
//deviation:keys-of-a-transaction | With `maxplusone` a transaction under REPEATABLE READ or SERIALIZABLE reads the greatest key as of its beginning, so that its INSERT may be a duplicate-key error. | PostgreSQL | `BeginTx` with an isolation level | READ COMMITTED, as the transactions that keyfill makes
func TestMaxPlusOneStale(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := maxTable(t, s, policy.LockRange)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if err := tx.QueryRow("SELECT id FROM t").Scan(new(int)); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
		if _, err := tx.Exec("INSERT INTO t (a) VALUES (3)"); err == nil || !strings.Contains(err.Error(), "duplicate key") {
			t.Errorf("%v, want a duplicate key", err)
		}
		s.WantNumbers(t, 1, 2)

		// Transactions of ours see what is there, whatever the default.
		harness.Exec(t, s.Raw, fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = 'repeatable read'", harness.DatabaseOf(t, s)))
		fresh, _ := s.Open(t, maxID(policy.LockRange))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					if _, err := fresh.Exec("INSERT INTO t (a) VALUES (4)"); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		s.WantNumbers(t, harness.UpTo(162)...)
	})
}

// madeAgainFor is the least sum of the pauses after which keyfill returns a deadlock outside
// of transactions, at its tenth attempt.
const madeAgainFor = 400 * time.Millisecond

// isDeadlock reports whether an error is the engine's deadlock.
func isDeadlock(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), "deadlock") && !errors.As(err, new(*keyfill.Error))
}

// TestMaxPlusOneDeadlock: a deadlock is made again outside of transactions, and is
// the engine's error inside one.
func TestMaxPlusOneDeadlock(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := maxTable(t, s, policy.LockRange)
		harness.Exec(t, s.Raw, "CREATE TABLE u (n INT PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO u VALUES (1, 0)")
		// Each INSERT into t changes u: what is locked there, and wants the lock of
		// t, meets it.
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, fmt.Sprintf("ALTER DATABASE %s SET deadlock_timeout = '20ms'", harness.DatabaseOf(t, s)))
			harness.Exec(t, s.Raw, "CREATE FUNCTION f () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE u SET a = a + 1; RETURN NEW; END $$")
			harness.Exec(t, s.Raw, "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
		} else {
			harness.Exec(t, s.Raw, "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW UPDATE u SET a = a + 1")
		}
		var inside, stored atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					began := time.Now()
					_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
					switch {
					case err == nil:
						stored.Add(1)
					case isDeadlock(err) && time.Since(began) >= madeAgainFor:
						t.Logf("outside: %v, for %v", err, time.Since(began)) // a busy machine
					default:
						t.Errorf("outside: %v", err)
						return
					}
				}
			})
			wg.Go(func() {
				for range 10 {
					err := harness.InTx(db, func(tx *sql.Tx) error {
						if _, err := tx.Exec("UPDATE u SET a = a + 1"); err != nil {
							return err
						}
						_, err := tx.Exec("INSERT INTO t (a) VALUES (2)")
						return err
					})
					if err == nil {
						stored.Add(1)
						continue
					}
					inside.Add(1)
					if !isDeadlock(err) {
						t.Errorf("inside: %v, want the engine's deadlock", err)
						return
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d deadlocks inside, %d stored", inside.Load(), stored.Load())
		if inside.Load() == 0 {
			t.Error("there was no deadlock")
		}
		if ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(ids, harness.UpTo(stored.Load())) {
			t.Errorf("%d rows for %d that were answered", len(ids), stored.Load())
		}
	})
}

// TestMaxPlusOneTwice: two INSERTs of one text would get the same keys, since these
// are drawn before it is sent.
func TestMaxPlusOneTwice(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := maxTable(t, s, policy.LockRange)
		_, err := db.Exec("WITH x AS (INSERT INTO t (a) VALUES (1) RETURNING a) INSERT INTO public.t (a) SELECT 1 FROM x")
		if err == nil {
			t.Error("two were stored")
		}
		_, err = db.Exec("WITH x AS (INSERT INTO t (a) VALUES (1)) INSERT INTO public.t (a) VALUES (2)")
		harness.RefusedFor(t, "WITH", err, rewrite.ErrTogether)
		err = harness.InTx(db, func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT INTO t (a) VALUES (1); INSERT INTO t (a) VALUES (2)")
			return err
		})
		harness.RefusedFor(t, "a text of two", err, rewrite.ErrTogether)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		s.WantNumbers(t, 1, 2)
	})
}
