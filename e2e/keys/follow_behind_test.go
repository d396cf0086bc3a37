package keys_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// followers are sources that follow explicit keys.
var followers = map[string]policy.Source{
	"block 1": harness.Counted(func(s *policy.Source) { s.Block, s.FollowExplicit = 1, true }),
	"blocks":  harness.Counted(func(s *policy.Source) { s.Block, s.FollowExplicit = 3, true }),
	"joined": harness.Counted(func(s *policy.Source) {
		s.Block, s.Transaction, s.FollowExplicit = 0, policy.TransactionJoined, true
	}),
}

func eachFollower(t *testing.T, f func(t *testing.T, s *harness.Scratch, db *sql.DB)) {
	for name, src := range followers {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, u INT UNIQUE)")
				db, _ := s.Open(t, harness.InPlace(src))
				harness.Exec(t, db, harness.InsertT)
				f(t, s, db)
			})
		})
	}
}

// TestFollowFailed: an INSERT that fails moves nothing, whatever key it brings, except
// one that numbers rows after the key.
//
//deviation:brought-keys | An INSERT in which rows without a key follow a key that was brought raises the source's numbers above that key before it is sent. If the INSERT fails, the numbers up to that key are a gap. | all | `VALUES (300, 1), (DEFAULT, 2)` | –
//deviation:keys-of-a-transaction | With `transaction: joined` an INSERT that brings its key is treated as a filled one: it gets a transaction where none is open, and a savepoint, so that the numbering goes back if it fails. | all | `INSERT INTO t (id, …) VALUES (100, …)` | `transaction: autonomous`
//deviation:keys-of-a-transaction | An INSERT that brings its key to joined numbers waits for the previous transaction, on PostgreSQL only if it raises the numbering. A deadlock or a serialization failure while keyfill raises the source's row is the error of that INSERT. | all | `INSERT INTO t (id, …) VALUES (100, …)` | `transaction: autonomous`
func TestFollowFailed(t *testing.T) {
	t.Parallel()
	eachFollower(t, func(t *testing.T, s *harness.Scratch, db *sql.DB) {
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a, u) VALUES (-1, 1, 1)")
		const literal = "INSERT INTO t (id, a, u) VALUES (1000000, 1, 1)"
		args := s.Placeholders("INSERT INTO t (id, a, u) VALUES (?, 1, ?)")
		fail := func(what string, err error) {
			t.Helper()
			if err == nil {
				t.Errorf("%s: stored", what)
			}
		}
		_, err := db.Exec(literal)
		fail("literal", err)
		_, err = db.Exec(args, 1000000, 1)
		fail("arguments", err)
		_, err = db.Exec("INSERT INTO t (id, a, u) VALUES ('1e6', 1, 1)")
		fail("read by the engine", err)
		_, err = db.Exec("INSERT INTO t (id, a, u) SELECT 1000000, 1, 1")
		fail("query", err)
		_, err = harness.PreparedExec(db, args, 1000000, 1)
		fail("prepared", err)
		_, err = harness.PreparedExec(db, literal)
		fail("prepared literal", err)
		fail("returning", harness.Drain(db, literal+" RETURNING id"))
		fail("returning arguments", harness.Drain(db, args+" RETURNING id", 1000000, 1))
		fail("in a transaction", insertInTx(t, db, literal))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("SAVEPOINT s"); err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(literal)
		fail("behind a savepoint", err)
		if _, err := tx.Exec("ROLLBACK TO SAVEPOINT s"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, harness.InsertT)
		if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id > 100 {
			t.Errorf("the key after failed INSERTs is %d", id)
		}
		_, err = db.Exec(s.Placeholders("INSERT INTO t (id, a, u) VALUES (NULL, 1, ?), (?, 1, 3)"), 1, 1000000)
		fail("mixed, the key behind", err)
		harness.Exec(t, db, harness.InsertT)
		if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id > 200 {
			t.Errorf("the key after a failed INSERT that numbers rows in front of its key is %d", id)
		}
		_, err = db.Exec(s.Placeholders("INSERT INTO t (id, a, u) VALUES (?, 1, ?), (NULL, 1, 3)"), 1000000, 1)
		fail("mixed", err)
		harness.Exec(t, db, harness.InsertT)
		if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); (id > 1000000) == strings.Contains(t.Name(), "/joined/") {
			t.Errorf("the key after a failed INSERT that numbers rows behind its key is %d", id)
		}
	})
}

// TestFollowBehind: whatever way a key came, the next one is above it as soon as the
// INSERT has returned.
func TestFollowBehind(t *testing.T) {
	t.Parallel()
	eachFollower(t, func(t *testing.T, s *harness.Scratch, db *sql.DB) {
		id := 1000
		next := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			harness.Exec(t, db, harness.InsertT)
			if got := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); got != id+1 {
				t.Errorf("%s: the key after %d is %d", what, id, got)
			}
			id += 1000
		}
		args := s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1)")
		_, err := db.Exec(fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, 1), (%d, 1), (3, 1)", id, id-1))
		next("literals", err)
		_, err = db.Exec(args, id)
		next("arguments", err)
		_, err = harness.PreparedExec(db, args, id)
		next("prepared", err)
		_, err = harness.PreparedExec(db, fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, 1)", id))
		next("prepared literal", err)
		next("returning", harness.Drain(db, fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, 1) RETURNING id", id)))
		next("returning arguments", harness.Drain(db, args+" RETURNING id", id))
		var got int
		next("one row", db.QueryRow(args+" RETURNING id", id).Scan(&got))
		next("in a transaction", insertInTx(t, db, fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, 1)", id)))
		_, err = db.Exec(s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1), (NULL, 1)"), id)
		if err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, harness.InsertT)
		if got := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); got != id+1 && got != id+2 {
			t.Errorf("mixed: the key after %d is %d", id, got)
		}
	})
}

// TestFollowBeside: keys that a statement brings beside rows that are filled are not
// filled in too.
func TestFollowBeside(t *testing.T) {
	t.Parallel()
	eachFollower(t, func(t *testing.T, s *harness.Scratch, db *sql.DB) {
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (NULL, 1), (2, 1), (3, 1), (4, 1), (6, 1)")
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (id, a) VALUES (NULL, 1), (?, 1), (NULL, 1), (?, 1)"), 12, 9)
		harness.Exec(t, db, harness.InsertT)
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 11 {
			t.Errorf("%d rows, want 11", n)
		}
	})
}

// TestFollowStored: a numbering that cannot be raised does not make an error of an
// INSERT that is stored, and is raised before the next key.
//
//deviation:brought-keys | If keyfill cannot raise a source above a brought key, the INSERT still succeeds, since its row is stored: the logger gets a warning, and keyfill raises the source before the next key. If the engine has ended the transaction meanwhile, the INSERT returns that error. | all | the store does not answer | –
func TestFollowStored(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{1, 3} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.CreateIDs(t, s, "t")
				db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) {
					s.Block, s.FollowExplicit, s.EnsureSchema, s.Create = block, true, false, new(true)
				})))
				other, _ := s.Open(t, harness.InPlace(harness.Counted(nil)))
				harness.Exec(t, other, harness.InsertT)
				harness.Exec(t, db, harness.InsertT)
				harness.Exec(t, s.Raw, "ALTER TABLE keyfill_sequences RENAME TO aside")
				harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (1000, 1)")
				harness.Exec(t, s.Raw, "ALTER TABLE aside RENAME TO keyfill_sequences")
				// A store that has refused is asked again after a second.
				for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
					_, err := db.Exec(harness.InsertT)
					if err == nil {
						break
					}
					if time.Now().After(until) {
						t.Fatal(err)
					}
				}
				if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id <= 1000 {
					t.Errorf("the key after 1000 is %d", id)
				}
			})
		})
	}
}

// TestFollowOnce: a statement that brings many keys raises the numbering once, to the
// greatest.
func TestFollowOnce(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{1, 10} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			s := harness.SQLiteFile.Scratch(t)
			harness.CreateIDs(t, s, "t")
			seen := &harness.Spy{}
			cfg := harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.FollowExplicit = block, true }))
			cfg.Dialect = s.Dialect.Name
			db, _ := harness.OpenConnector(t, harness.WrapSqlmw(t, s.Connector, seen), cfg)
			harness.Exec(t, db, harness.InsertT)
			raises := func() (n int) {
				for _, query := range seen.All() {
					if strings.HasPrefix(query, "UPDATE keyfill_sequences") {
						n++
					}
				}
				seen.Take()
				return n
			}
			raises()
			harness.Exec(t, db, explicitRows(1001, 1100))
			if n := raises(); n != 1 {
				t.Errorf("literals: %d raises", n)
			}
			var args []any
			for id := range 100 {
				args = append(args, 2000+id)
			}
			harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (?, 1)"+strings.Repeat(", (?, 1)", 99), args...)
			if n := raises(); n != 1 {
				t.Errorf("arguments: %d raises", n)
			}
			harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (500, 1)")
			if n := raises(); n != 0 {
				t.Errorf("a key below: %d raises", n)
			}
		})
	}
}

// TestFollowStart: a process that was killed between an INSERT and the raise leaves the
// numbering below the table's keys. It goes on above them, unless on_behind says
// otherwise.
//
//deviation:brought-keys | `on_behind` is `advance` if it is left out: a process that ends between the INSERT and the raise leaves the numbering below the table's keys. | all | kill -9 | `on_behind: error`
func TestFollowStart(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		src := harness.Counted(func(s *policy.Source) { s.Block, s.FollowExplicit = 1, true })
		db, _ := s.Open(t, harness.InPlace(src))
		harness.Exec(t, db, harness.InsertT)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (1000, 1)")
		later, _ := s.Open(t, harness.InPlace(src))
		harness.Exec(t, later, harness.InsertT)
		if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id != 1001 {
			t.Errorf("the key after 1000 is %d", id)
		}
	})
}
