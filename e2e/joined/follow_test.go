package joined_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestFollowUntold: numbers that belong to transactions go on above the keys that INSERTs
// bring, on every engine, without follow_explicit.
func TestFollowUntold(t *testing.T) {
	t.Parallel()
	harness.Each(t, followEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, harness.InsertT)
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (7777, 1)")
		harness.Exec(t, db, harness.InsertT)
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1)"), 8000)
		harness.Exec(t, db, harness.InsertT)
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1)"), 5)
		harness.Exec(t, db, "INSERT INTO t (id, a) SELECT MAX(id) + 9, 1 FROM t")
		harness.Exec(t, db, harness.InsertT)
		got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"))
		if want := "[1 5 7777 7778 8000 8001 8010 8011]"; got != want {
			t.Errorf("stored %s, want %s", got, want)
		}
	})
}

var followEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MattnFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// TestTriedAgain: a program that keeps the key of an INSERT which was rolled back, as
// mappers write it into the caller's struct, inserts it again as its own, and the numbers
// go on above it.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{"joined": *harness.JoinedSource(), "sequence": harness.Counted(nil)}
	for name, src := range sources {
		for _, toSavepoint := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", name, toSavepoint), func(t *testing.T) {
				engines := followEngines
				if name == "sequence" {
					engines = engines[:3] // elsewhere a number does not go back
				}
				harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
					harness.CreateIDs(t, s, "t")
					db, _ := s.Open(t, harness.InPlace(src))
					harness.Exec(t, db, harness.InsertT)
					ids := []int64{insertAgain(t, db, s, toSavepoint, nil)}
					ids = append(ids, insertAgain(t, db, s, toSavepoint, ids))
					if ids[0] != ids[1] {
						t.Errorf("tried again with %d, stored %d", ids[0], ids[1])
					}
					harness.Exec(t, db, harness.InsertT)
					harness.Exec(t, db, harness.InsertT)
					got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"))
					if want := fmt.Sprint([]int64{1, ids[0], ids[0] + 1, ids[0] + 2}); got != want {
						t.Errorf("stored %s, want %s", got, want)
					}
				})
			})
		}
	}
}

// TestTriedAgainApart: a number that another INSERT has got meanwhile is a duplicate-key
// error, and a first number that is not tried again is a gap.
//
//deviation:brought-keys | A program that keeps the number of a rolled back INSERT and inserts it again gets a duplicate-key error if another process has drawn it meanwhile. If the program inserts only the second of two rolled back rows again, the first number is a gap. | all with `joined`; SQLite | the key in the struct of a mapper | clear the key before you try again
func TestTriedAgainApart(t *testing.T) {
	t.Parallel()
	harness.Each(t, followEngines, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		id := insertAgain(t, db, s, false, nil)
		harness.Exec(t, db, harness.InsertT)
		brings := s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1)")
		if _, err := db.Exec(brings, id); err == nil {
			t.Errorf("the number %d was stored twice", id)
		}
		harness.Exec(t, db, brings, id+2)
		harness.Exec(t, db, harness.InsertT)
		got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"))
		if want := fmt.Sprint([]int64{id, id + 2, id + 3}); got != want {
			t.Errorf("stored %s, want %s", got, want)
		}
	})
}

// insertAgain inserts a row without a key, which is undone, and returns its key; or, where
// the key is given, that one, which is committed.
func insertAgain(t *testing.T, db *sql.DB, s *harness.Scratch, toSavepoint bool, given []int64) int64 {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(s.Placeholders(query), args...); err != nil {
			t.Fatal(err)
		}
	}
	if toSavepoint {
		exec("SAVEPOINT s")
	}
	if given == nil {
		exec(harness.InsertT)
	} else {
		exec("INSERT INTO t (id, a) VALUES (?, 1)", given[0])
	}
	var id int64
	if err := tx.QueryRow("SELECT MAX(id) FROM t").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if given == nil && toSavepoint {
		exec("ROLLBACK TO SAVEPOINT s")
	}
	if given != nil || toSavepoint {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// TestFollowUntoldUnable: an INSERT that brings its key succeeds where nothing can be
// raised, as it does without keyfill, and leaves its transaction usable.
//
//deviation:brought-keys | A brought key does not raise joined numbers where keyfill could not draw one: without rights on keyfill's tables, in a transaction whose beginning keyfill has not seen, in a pgx batch outside of a transaction. The INSERT succeeds and logs a warning; with `follow_explicit` it is an error. | all with `joined` | `INSERT INTO t (id, …) VALUES (100, …)` | draw in a role that has the rights
func TestFollowUntoldUnable(t *testing.T) {
	t.Parallel()
	t.Run("begun past keyfill", func(t *testing.T) {
		s := harness.SQLiteFile.Scratch(t)
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, harness.InsertT)
		conn := harness.ConnOf(t, db)
		if _, err := harness.PastKeyfill(t, conn).ExecContext(t.Context(), "BEGIN", nil); err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"INSERT INTO t (id, a) VALUES (100, 1)", "COMMIT"} {
			if _, err := conn.ExecContext(context.Background(), query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
	})
	t.Run("without rights", func(t *testing.T) {
		harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
			harness.CreateIDs(t, s, "t")
			db, _ := s.Open(t, harness.JoinedID("t"))
			harness.Exec(t, db, harness.InsertT)
			role := "brings_" + strings.ToLower(rand.Text())
			harness.Must(t, s.Raw, "CREATE ROLE "+role, "GRANT SELECT, INSERT ON t TO "+role)
			t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+role, "DROP ROLE "+role) })
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			for _, query := range []string{"SET LOCAL ROLE " + role, "INSERT INTO t (id, a) VALUES (100, 1)", "INSERT INTO t (id, a) SELECT 101, 1"} {
				if _, err := tx.Exec(query); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestFollowUntoldLocked: an INSERT that brings its key leaves the locks of LOCK TABLES as
// they are, and succeeds.
func TestFollowUntoldLocked(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, harness.InsertT)
		conn := harness.ConnOf(t, db)
		harness.Must(t, conn, "LOCK TABLES t WRITE", "INSERT INTO t (id, a) VALUES (100, 1)")
		other := harness.ConnOf(t, s.Raw)
		harness.Must(t, other, "SET SESSION lock_wait_timeout = 0")
		harness.MustFail(t, other, "INSERT INTO t (id, a) VALUES (101, 1)")
		harness.Must(t, conn, "UNLOCK TABLES")
		harness.Must(t, other, "INSERT INTO t (id, a) VALUES (101, 1)")
	})
}

// TestFollowUntoldBelow: an INSERT that brings a key below the next number raises nothing,
// and neither waits for the numbering nor fails at it.
func TestFollowUntoldBelow(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (100, 1)")
		harness.Exec(t, db, harness.InsertT)
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		harness.Must(t, tx, "SELECT COUNT(*) FROM t")
		holder, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Rollback()
		harness.Must(t, holder, harness.InsertT)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := db.ExecContext(ctx, "INSERT INTO t (id, a) VALUES (50, 1)"); err != nil {
			t.Errorf("beside a number that is drawn: %v", err)
		}
		if err := holder.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO t (id, a) VALUES (51, 1)"); err != nil {
			t.Errorf("behind a number that the transaction does not see: %v", err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (200, 1)")
		harness.Exec(t, db, harness.InsertT)
		if n := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); n != 201 {
			t.Errorf("the greatest key is %d", n)
		}
	})
}

// TestFollowUntoldStale: a key above a numbering that a transaction sees as it was is a
// serialization failure, and the transaction cannot commit after it.
func TestFollowUntoldStale(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, harness.InsertT)
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		harness.Must(t, tx, "SELECT COUNT(*) FROM t")
		harness.Exec(t, db, harness.InsertT)
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO t (id, a) VALUES (500, 1)"); err == nil {
			t.Fatal("the numbering was raised behind a number that the transaction does not see")
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO t (id, a) VALUES (600, 1)"); err == nil {
			t.Error("the transaction goes on")
		}
		tx.Commit()
		if n := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); n != 2 {
			t.Errorf("the greatest key is %d", n)
		}
	})
}
