package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// plainEngines are one engine of each kind.
var plainEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}

// inPlain returns the policy of a table whose source keeps its state in a store
// without SQL.
func inPlain(e harness.Engine, driver, kind string, change func(*policy.Source)) *policy.Config {
	cfg := harness.KeyKind{Source: harness.Mapped(kind, func(s *policy.Source) {
		s.Store, s.Start = "central", 1
		if change != nil {
			change(s)
		}
	})}.Config(e)
	cfg.Stores = map[string]policy.Store{"central": {Driver: driver, DSN: "memory"}}
	return cfg
}

// TestPlainStore fills from each source that counts through a store without SQL, by
// two databases that are opened on their own: each key is another one, and what is
// closed is closed.
func TestPlainStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, column string
		change             func(*policy.Source)
	}{
		{"sequence", policy.KindSequence, "BIGINT", nil},
		{"sequence in blocks of one", policy.KindSequence, "BIGINT", func(s *policy.Source) { s.Block = 1 }},
		{"recycled", policy.KindRecycled, "BIGINT", func(s *policy.Source) { s.Series = 10 }},
		{"coprime", policy.KindCoprime, "CHAR(8)", func(s *policy.Source) { s.Start, s.Length = 0, 8 }},
		{"snowflake", policy.KindSnowflake, "BIGINT", func(s *policy.Source) { s.Start, s.WorkerLease = 0, 30*time.Second }},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines := plainEngines
			if c.kind == policy.KindCoprime { // on SQLite no query asks whether the column holds keys
				engines = slices.DeleteFunc(slices.Clone(engines), func(e harness.Engine) bool { return e.Server == nil })
			}
			harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id "+c.column+" NOT NULL PRIMARY KEY, a INT)")
				name, plain := harness.RegisterPlain(t)
				cfg := inPlain(s.Engine, name, c.kind, c.change)
				one, _ := s.Open(t, cfg)
				two, _ := s.Open(t, cfg)
				for range 12 {
					harness.Exec(t, one, "INSERT INTO t (a) VALUES (1)")
					harness.Exec(t, two, "INSERT INTO t (a) VALUES (2), (3)")
				}
				if n := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t "); n != 36 {
					t.Errorf("%d rows, want 36", n)
				}
				if n := plain.Opened(); n != 2 {
					t.Errorf("%d databases have opened the store, want 2", n)
				}
				for _, db := range []interface{ Close() error }{one, two} {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				}
				if n := plain.Opened(); n != 0 {
					t.Errorf("%d databases have not closed the store", n)
				}
			})
		})
	}
}

// insertNoted inserts into a table until the use of its state is noted, which is tried for a
// second with a key, and again ten seconds later.
func insertNoted(t *testing.T, s *harness.Scratch, db *sql.DB, table string) {
	t.Helper()
	harness.Eventually(t, func() error {
		harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (1)")
		if got := usedOf(t, s, table); !slices.Equal(got, []int64{2}) {
			return fmt.Errorf("the claims of %s: %v, want 2", table, got)
		}
		return nil
	})
}

// wiped says what a state that was lost is asked for by a process that has not used it.
// use is the policy with the store as it was, lost the one with a store that has nothing,
// and looked says that a check looks at its states.
func wiped(t *testing.T, s *harness.Scratch, use, lost *policy.Config, looked bool) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	for range 2 { // an existing state is no error
		before, _ := s.Open(t, use)
		insertNoted(t, s, before, "t")
		before.Close()
	}
	after, m := s.Open(t, lost)
	for range 2 {
		if _, err := after.Exec("INSERT INTO t (a) VALUES (2)"); !errors.Is(err, store.ErrGone) || !errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("a state that was lost: %v, want %v", err, store.ErrGone)
		}
	}
	if findings, err := m.Check(t.Context()); err != nil || looked && !slices.ContainsFunc(findings, func(f keyfill.Finding) bool { return f.Rule == "state-missing" }) {
		t.Errorf("the check finds %+v, %v", findings, err)
	}
	harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences WHERE name LIKE '%(store central) for %'")
	again, _ := s.Open(t, lost)
	harness.Exec(t, again, "INSERT INTO t (a) VALUES (2)")
	if n := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 2"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// TestPlainStoreWiped: a state that a store without SQL has lost is not made again by a
// process that has never used it, though the policy lets it make states: other databases
// may have its keys. It is made when the row is gone that says that it was used.
func TestPlainStoreWiped(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				first, _ := harness.RegisterPlain(t)
				second, _ := harness.RegisterPlain(t)
				start := func(at int64) func(*policy.Source) { return func(s *policy.Source) { s.Start = at } }
				wiped(t, s, inPlain(s.Engine, first, kind, start(1)), inPlain(s.Engine, second, kind, start(1000)), false)
			})
		})
	}
}

// TestStoreWiped is TestPlainStoreWiped for a store that is a database.
func TestStoreWiped(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				in := func(start int64) *policy.Config {
					cfg := inPlain(s.Engine, s.Driver, kind, func(s *policy.Source) { s.Start = start })
					cfg.Stores = map[string]policy.Store{"central": {Driver: s.Driver, DSN: s.DSN(t)}}
					return cfg
				}
				wiped(t, s, in(1), in(1000), true)
			})
		})
	}
}

// usedOf returns what the claim of a table's column says of the state's use.
func usedOf(t *testing.T, s *harness.Scratch, table string) []int64 {
	t.Helper()
	return harness.IntegersOf(t, s.Raw, "SELECT next_value FROM keyfill_sequences WHERE name LIKE '%(store central) for %"+table+".id'")
}

// TestStoreWipedOfPattern: a table that only a pattern matches gets its first key from
// numbers that its process has reserved for another one. That is a use of the state too.
func TestStoreWipedOfPattern(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				for _, table := range []string{"x_one", "x_two", "x_three"} {
					harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				}
				in := func(driver string, start int64) *policy.Config {
					cfg := inPlain(s.Engine, driver, kind, func(s *policy.Source) { s.Name, s.Start = "shared", start })
					cfg.Tables = map[string]policy.Table{"x_*": cfg.Tables["t"]}
					return cfg
				}
				first, _ := harness.RegisterPlain(t)
				before, _ := s.Open(t, in(first, 1))
				for _, table := range []string{"x_one", "x_two", "x_one"} {
					insertNoted(t, s, before, table)
				}
				second, _ := harness.RegisterPlain(t)
				after, _ := s.Open(t, in(second, 1000))
				if _, err := after.Exec("INSERT INTO x_two (a) VALUES (2)"); !errors.Is(err, store.ErrGone) {
					t.Errorf("a state that was lost: %v, want %v", err, store.ErrGone)
				}
			})
		})
	}
}

// TestStoreWipedWhileRunning: a process that has used a state does not make it again
// either, in a store that is a database: other databases may have used it further.
func TestStoreWipedWhileRunning(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				cfg := inPlain(s.Engine, s.Driver, kind, func(s *policy.Source) {
					if kind == policy.KindSequence {
						s.Block = 1
					} else {
						s.Series = 10
					}
				})
				dsn := s.DSN(t)
				cfg.Stores = map[string]policy.Store{"central": {Driver: s.Driver, DSN: dsn}}
				running, _ := s.Open(t, cfg)
				insertNoted(t, s, running, "t")
				central := harness.Open(t, s.Driver, dsn)
				for _, table := range []string{"keyfill_sequences", "keyfill_series"} {
					if _, err := central.Exec("DELETE FROM " + table); err != nil && table == "keyfill_sequences" {
						t.Fatal(err)
					}
				}
				harness.Eventually(t, func() error { // a series goes on to its end
					if _, err := running.Exec("INSERT INTO t (a) VALUES (2)"); err == nil {
						return errors.New("the state is made again")
					} else if !errors.Is(err, keysource.ErrStoreState) {
						t.Fatal(err)
					}
					return nil
				})
				after, _ := s.Open(t, cfg)
				if _, err := after.Exec("INSERT INTO t (a) VALUES (2)"); !errors.Is(err, store.ErrGone) {
					t.Errorf("a process that begins then: %v, want %v", err, store.ErrGone)
				}
			})
		})
	}
}

// TestStoreUseIsNoted: the use of a state is noted before its first number is handed out. A
// claim that another transaction has locked holds an INSERT up for a second, and is
// written ten seconds later.
func TestStoreUseIsNoted(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		name, plain := harness.RegisterPlain(t)
		cfg := inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Block = 1 })
		first, _ := s.Open(t, cfg)
		harness.Exec(t, first, "INSERT INTO t (a) VALUES (1)")
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 1 WHERE name LIKE '%(store central) for %t.id'")
		second, _ := s.Open(t, cfg)
		err := harness.InTx(second, func(tx *sql.Tx) error { // of the INSERT itself: nothing ends the wait
			harness.Must(t, tx, "SELECT 1 FROM keyfill_sequences FOR UPDATE")
			began := time.Now()
			_, err := tx.Exec("INSERT INTO t (a) VALUES (1)")
			if took := time.Since(began); took < 900*time.Millisecond {
				t.Errorf("the number is handed out after %v, and not behind the attempt to note its use", took)
			}
			if got := usedOf(t, s, "t"); !slices.Equal(got, []int64{1}) {
				t.Errorf("while it is locked: %v, want 1", got)
			}
			return err
		})
		if err != nil {
			t.Errorf("while the claim is locked: %v", err)
		}
		if next := plain.Next("t.id"); next != 3 {
			t.Errorf("the state stands at %d after two keys, want 3", next)
		}
		insertNoted(t, s, second, "t")
	})
}

// TestStoreRefusedIsUnused: a state that has given no key, since the column holds greater
// ones, may be deleted and made again.
func TestStoreRefusedIsUnused(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (5000, 0)")
		name, plain := harness.RegisterPlain(t)
		in := func(start int64) *policy.Config {
			return inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Start = start })
		}
		low, _ := s.Open(t, in(1))
		if _, err := low.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, keysource.ErrStoreBehind) {
			t.Fatalf("a start below the keys: %v, want %v", err, keysource.ErrStoreBehind)
		}
		plain.Forget("t.id")
		high, _ := s.Open(t, in(6000))
		harness.Exec(t, high, "INSERT INTO t (a) VALUES (1)")
	})
}

// TestStoreMadeTogether: processes that begin with an empty store at once take the state
// for their own, whichever of them makes it, and none for one that was lost, or for one
// whose keys are not known.
func TestStoreMadeTogether(t *testing.T) {
	t.Parallel()
	for kind, column := range map[string]string{policy.KindSequence: "BIGINT", policy.KindCoprime: "CHAR(8)"} {
		t.Run(kind, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id "+column+" NOT NULL PRIMARY KEY, a INT)")
				for round := range 5 {
					name, _ := harness.RegisterPlain(t)
					cfg := inPlain(s.Engine, name, kind, func(s *policy.Source) {
						if s.Start = int64(1 + 100_000*round); kind == policy.KindCoprime {
							s.Start, s.Length = 0, 8
						}
					})
					harness.Exec(t, s.Raw, "DELETE FROM t")
					var all []*sql.DB
					for range 8 {
						db, _ := s.Open(t, cfg)
						all = append(all, db)
					}
					if round > 0 {
						harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
					}
					var wg sync.WaitGroup
					for _, db := range all {
						wg.Go(func() {
							if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
								t.Error(err)
							}
						})
					}
					wg.Wait()
				}
			})
		})
	}
}

// TestPlainStoreBegins: a state begins above the keys in the column, and only where
// the policy lets it be made.
func TestPlainStoreBegins(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (41, 0)")
		name, plain := harness.RegisterPlain(t)
		no := false
		kept, _ := s.Open(t, inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Start, s.Create = 0, &no }))
		_, err := kept.Exec("INSERT INTO t (a) VALUES (1)")
		if !errors.Is(err, store.ErrNoRow) || !strings.Contains(err.Error(), "its store") {
			t.Errorf("a state that may not be made: %v", err)
		}
		db, _ := s.Open(t, inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Start = 0 }))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		if got := harness.KeysOf(t, s.Raw, t.Context(), "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []string{"41", "42"}) {
			t.Errorf("keys %v, want 41 and 42", got)
		}
		if next := plain.Next("t.id"); next <= 42 {
			t.Errorf("the state stands at %d", next)
		}
	})
}

// TestPlainStoreAtTheEnd: in a transaction that has altered the table, the greatest
// integer there is leaves no number above it, and none below it is given.
func TestPlainStoreAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		remedy keysource.Remedy
		want   error
	}{{keysource.RemedyAdvance, keysource.ErrExhausted}, {keysource.RemedyError, keysource.ErrStoreBehind}} {
		s := harness.PgxDefault.Scratch(t)
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		name, plain := harness.RegisterPlain(t)
		db, _ := s.Open(t, inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.OnBehind = c.remedy }))
		err := harness.InTx(db, func(tx *sql.Tx) error {
			harness.Must(t, tx, "ALTER TABLE t ADD COLUMN b INT", "INSERT INTO t (id, a) VALUES (9223372036854775807, 0)")
			_, err := tx.Exec("INSERT INTO t (a) VALUES (1)")
			return err
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.remedy, err, c.want)
		}
		if next := plain.Next("t.id"); next > 1 {
			t.Errorf("%s: the state was raised to %d", c.remedy, next)
		}
	}
}

// TestPlainStoreRefuses: what could give a key twice is an error, and so is what such a
// store does not have.
func TestPlainStoreRefuses(t *testing.T) {
	t.Parallel()
	harness.Each(t, plainEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		name, plain := harness.RegisterPlain(t)
		fails := func(what string, cfg *policy.Config, want error) {
			t.Helper()
			db, _ := s.Open(t, cfg)
			if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		one := inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Block = 1 })
		db, _ := s.Open(t, one)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		fails("another state of the column", inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Name = "other" }), keysource.ErrStoreState)
		fails("another kind of that name", inPlain(s.Engine, name, policy.KindRecycled, nil), keysource.ErrStoreState)
		fails("a lock", inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Lock = policy.LockOptimistic }), nil)
		// In another database the store alone knows which state the column has. The name
		// of a column of MySQL begins with the database.
		elsewhere := s.Engine.Scratch(t)
		harness.Exec(t, elsewhere.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		other, _ := elsewhere.Open(t, inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Name = "other" }))
		_, err := other.Exec("INSERT INTO t (a) VALUES (1)")
		if s.Dialect.Family == dialect.FamilyMySQL {
			if err != nil {
				t.Errorf("a column of that name in another database: %v", err)
			}
		} else if !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), `"t.id"`) {
			t.Errorf("another state of the column, in another database: %v", err)
		}
		flakes := s.Engine.Scratch(t)
		harness.Exec(t, flakes.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		name, _ = harness.RegisterPlain(t)
		leased := func(bits int) *policy.Config {
			return inPlain(s.Engine, name, policy.KindSnowflake, func(s *policy.Source) {
				s.Start, s.WorkerLease, s.Bits = 0, 30*time.Second, bits
			})
		}
		wide, _ := flakes.Open(t, leased(63))
		harness.Exec(t, wide, "INSERT INTO t (a) VALUES (1)")
		narrow, _ := flakes.Open(t, leased(53))
		if _, err := narrow.Exec("INSERT INTO t (a) VALUES (1)"); !errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("keys of other bits: %v, want %v", err, keysource.ErrStoreState)
		}
		plain.Forget("t.id")
		if _, err := db.Exec("INSERT INTO t (a) VALUES (2)"); !errors.Is(err, keysource.ErrStoreState) {
			t.Errorf("a state that is gone: %v, want %v", err, keysource.ErrStoreState)
		}
		if n := plain.Next("t.id"); n != 0 {
			t.Errorf("a state that was gone was made again, and stands at %d", n)
		}
	})
	t.Run("DSN", func(t *testing.T) {
		s := harness.SQLiteFile.Scratch(t)
		name, _ := harness.RegisterPlain(t)
		cfg := inPlain(s.Engine, name, policy.KindSequence, nil)
		cfg.Stores["central"] = policy.Store{Driver: name, DSN: "secret"}
		_, err := keyfill.OpenDB(s.Connector, keyfill.Options{Policy: cfg})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("a DSN that cannot be read: %v", err)
		}
	})
}

// TestPlainStoreAltered: a transaction that has changed the table compares the state
// with what it alone sees of the table.
func TestPlainStoreAltered(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		name, plain := harness.RegisterPlain(t)
		first, _ := s.Open(t, inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.Block = 1 }))
		harness.Exec(t, first, "INSERT INTO t (a) VALUES (1)")
		at := plain.Next("t.id")
		insert := func(remedy keysource.Remedy) error {
			db, _ := s.Open(t, inPlain(s.Engine, name, policy.KindSequence, func(s *policy.Source) { s.OnBehind = remedy }))
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			for _, text := range []string{"ALTER TABLE t ADD b INT", "INSERT INTO t (id, a) VALUES (50, 1)"} {
				if _, err := tx.Exec(text); err != nil {
					t.Fatal(err)
				}
			}
			if _, err = tx.Exec("INSERT INTO t (a) VALUES (2)"); err != nil {
				return err
			}
			if got := harness.KeysOf(t, tx, t.Context(), "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []string{"1", "50", "51"}) {
				t.Errorf("keys %v, want 1, 50 and 51", got)
			}
			return nil
		}
		if err := insert(""); !errors.Is(err, keysource.ErrStoreBehind) {
			t.Errorf("%v, want %v", err, keysource.ErrStoreBehind)
		}
		if now := plain.Next("t.id"); now != at {
			t.Errorf("a state that is behind has moved from %d to %d", at, now)
		}
		if err := insert(keysource.RemedyAdvance); err != nil {
			t.Error(err)
		}
	})
}
