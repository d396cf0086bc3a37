package joined_test

import (
	"database/sql"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// backEngines are those on which rows of numberings go back.
var backEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}

// openBack makes a table whose numbers have no unique index, so that no engine notices one
// that comes twice, and opens it.
func openBack(t *testing.T, s *harness.Scratch, scoped bool, remedy keysource.Remedy) *sql.DB {
	t.Helper()
	makeBack(t, s)
	return openSame(t, s, scoped, remedy)
}

func makeBack(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (order_id BIGINT NOT NULL, id BIGINT NOT NULL, a INT)")
	harness.Exec(t, s.Raw, "CREATE INDEX t_id ON t (id)")
	harness.Exec(t, s.Raw, "CREATE INDEX t_order ON t (order_id, id)")
}

// openSame opens the table of openBack as one more process, with a numbering that is joined,
// or within order_id.
func openSame(t *testing.T, s *harness.Scratch, scoped bool, remedy keysource.Remedy) *sql.DB {
	t.Helper()
	src := harness.JoinedSource()
	if src.OnStoreRollback = remedy; scoped {
		src.Scope = &policy.Scope{harness.ByOrder}
	}
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: src}))
	return db
}

// insertRemade inserts a row after the numbering's row has gone: a transaction that found it
// missing may have to begin again.
func insertRemade(t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.Exec(insertBack); err != nil {
		t.Fatal(err)
	}
}

const insertBack = "INSERT INTO t (order_id, a) VALUES (7, 1)"

// numbersBack returns the numbers that are stored, in their order.
func numbersBack(t *testing.T, s *harness.Scratch) []int64 {
	t.Helper()
	return harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
}

// eachBack runs f for numberings that are joined, and within a parent.
func eachBack(t *testing.T, f func(t *testing.T, s *harness.Scratch, scoped bool)) {
	t.Parallel()
	for _, name := range []string{"joined", "scope"} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, harness.ByTurns(t, backEngines), func(t *testing.T, s *harness.Scratch) { f(t, s, name == "scope") })
		})
	}
}

// lowered sets the rows of all numberings back.
const lowered = "UPDATE keyfill_sequences SET next_value = 3 WHERE next_value > 3"

// TestBack: a row that stands below what this process has committed is an error, as it is
// for blocks, until it is raised.
func TestBack(t *testing.T) {
	eachBack(t, func(t *testing.T, s *harness.Scratch, scoped bool) {
		db := openBack(t, s, scoped, "")
		for range 3 {
			harness.Exec(t, db, insertBack)
		}
		err := harness.InTx(db, func(tx *sql.Tx) error {
			for range 3 {
				if _, err := tx.Exec(insertBack); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, lowered)
		for range 2 {
			if _, err := db.Exec(insertBack); !errors.Is(err, keysource.ErrStoreBack) {
				t.Errorf("%v, want ErrStoreBack", err)
			}
			err := harness.InTx(db, func(tx *sql.Tx) error {
				_, err := tx.Exec(insertBack)
				return err
			})
			if !errors.Is(err, keysource.ErrStoreBack) {
				t.Errorf("in a transaction: %v, want ErrStoreBack", err)
			}
		}
		harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 7 WHERE next_value > 1")
		harness.Exec(t, db, insertBack)
		if got := numbersBack(t, s); !slices.Equal(got, harness.UpTo(7)) {
			t.Errorf("%v, want 1 to 7", got)
		}
	})
}

// TestBackAdvances: with on_store_rollback: advance the row is raised above what was
// committed, and above the greatest number of others.
func TestBackAdvances(t *testing.T) {
	eachBack(t, func(t *testing.T, s *harness.Scratch, scoped bool) {
		db := openBack(t, s, scoped, keysource.RemedyAdvance)
		for range 6 {
			harness.Exec(t, db, insertBack)
		}
		harness.Exec(t, s.Raw, lowered)
		harness.Exec(t, db, insertBack)
		harness.Exec(t, s.Raw, lowered)
		harness.Exec(t, s.Raw, "DELETE FROM t WHERE id > 2")
		harness.Exec(t, db, insertBack)
		harness.Exec(t, s.Raw, lowered)
		harness.Exec(t, s.Raw, "INSERT INTO t (order_id, id, a) VALUES (7, 20, 1)")
		harness.Exec(t, db, insertBack)
		if got, want := numbersBack(t, s), []int64{1, 2, 8, 20, 21}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestBackUndone: what was undone, by whatever means, is not taken for committed.
func TestBackUndone(t *testing.T) {
	eachBack(t, func(t *testing.T, s *harness.Scratch, scoped bool) {
		db := openBack(t, s, scoped, "")
		harness.Exec(t, db, insertBack)
		tx := func(queries ...string) {
			t.Helper()
			err := harness.InTx(db, func(tx *sql.Tx) error {
				for _, query := range queries {
					if _, err := tx.Exec(query); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		texts := func(queries ...string) {
			t.Helper()
			conn := harness.ConnOf(t, db)
			defer conn.Close()
			for _, query := range queries {
				if _, err := conn.ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
		}
		tx("SAVEPOINT a", insertBack, insertBack, "ROLLBACK TO SAVEPOINT a")
		tx("SAVEPOINT a", insertBack, insertBack, "ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a", insertBack)
		tx("SAVEPOINT a", insertBack, "SAVEPOINT b", insertBack, "RELEASE SAVEPOINT b", "ROLLBACK TO SAVEPOINT a")
		texts("BEGIN", insertBack, insertBack, "ROLLBACK")
		texts("BEGIN", insertBack, "COMMIT")
		failed := errors.New("failed")
		if err := harness.InTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec(insertBack); err != nil {
				return err
			}
			return failed
		}); err != failed {
			t.Fatal(err)
		}
		// A number is undone with the statement that fails, and its transaction commits.
		tx2, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		harness.MustFail(t, tx2, "INSERT INTO t (order_id, a) VALUES (NULL, 1)")
		harness.MustFail(t, tx2, "INSERT INTO t (order_id, nothing) VALUES (7, 1)")
		_ = tx2.Commit() // PostgreSQL rolls it back
		for range 3 {
			harness.Exec(t, db, insertBack)
		}
		if got, want := numbersBack(t, s), harness.UpTo(6); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestBackRemade: a row that has gone begins above what was committed, although the last
// rows were deleted too. Where the table was cleared with it, both begin afresh, in this
// process and in another one.
func TestBackRemade(t *testing.T) {
	eachBack(t, func(t *testing.T, s *harness.Scratch, scoped bool) {
		db := openBack(t, s, scoped, "")
		for range 6 {
			harness.Exec(t, db, insertBack)
		}
		other := openSame(t, s, scoped, "")
		if s.Memory {
			other = db
		}
		harness.Exec(t, s.Raw, "DELETE FROM t WHERE id > 3")
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		insertRemade(t, db)
		insertRemade(t, other)
		if got, want := numbersBack(t, s), []int64{1, 2, 3, 7, 8}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		harness.Exec(t, s.Raw, "DELETE FROM t")
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		insertRemade(t, other)
		for range 4 {
			insertRemade(t, db)
		}
		if got, want := numbersBack(t, s), harness.UpTo(5); !slices.Equal(got, want) {
			t.Errorf("cleared: %v, want %v", got, want)
		}
	})
}

// TestBackOrder: connections whose transactions commit, roll back and wait for each other
// in any order never take a row for one that has gone back.
func TestBackOrder(t *testing.T) {
	eachBack(t, func(t *testing.T, s *harness.Scratch, scoped bool) {
		db := openBack(t, s, scoped, "")
		if s.Memory {
			db.SetMaxOpenConns(1)
		}
		harness.Exec(t, db, insertBack)
		var wg sync.WaitGroup
		var stored atomic.Int64
		for w := range 4 {
			wg.Go(func() {
				for i := range 25 {
					tx, err := db.Begin()
					if err != nil {
						continue
					}
					_, err = tx.Exec(insertBack)
					if errors.Is(err, keysource.ErrStoreBack) {
						t.Errorf("%v", err)
					}
					if err == nil && (w+i)%3 > 0 && tx.Commit() == nil {
						stored.Add(1)
						continue
					}
					_ = tx.Rollback()
				}
			})
		}
		wg.Wait()
		if got, want := numbersBack(t, s), harness.UpTo(stored.Load()+1); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// TestBackSnapshot: a transaction that sees an older row fails as it does without the
// comparison, so that programs begin it again.
func TestBackSnapshot(t *testing.T) {
	eachBack(t, func(t *testing.T, s *harness.Scratch, scoped bool) {
		if s.Server == nil {
			return // SQLite has one writer
		}
		db := openBack(t, s, scoped, "")
		harness.Exec(t, db, insertBack)
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var seen int
		if err := tx.QueryRow("SELECT COUNT(*) FROM t").Scan(&seen); err != nil || seen != 1 {
			t.Fatal(seen, err)
		}
		harness.Exec(t, db, insertBack)
		harness.Exec(t, db, insertBack)
		if _, err := tx.Exec(insertBack); err != nil && !harness.IsSerialization(err) {
			t.Error(err)
		}
	})
}

// TestBackForgotten: after Forget the rows are taken as they stand, and what was in hand of
// a block is given up.
func TestBackForgotten(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"joined", "scope", "blocks", "recycled"} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, harness.ByTurns(t, backEngines), func(t *testing.T, s *harness.Scratch) {
				var src policy.Source
				switch src = *harness.JoinedSource(); name {
				case "scope":
					src.Scope = &policy.Scope{harness.ByOrder}
				case "blocks":
					src = harness.Counted(nil)
				case "recycled":
					src = harness.Mapped(policy.KindRecycled, nil)
				}
				makeBack(t, s)
				db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &src}))
				for range 3 {
					harness.Exec(t, db, insertBack)
				}
				harness.Exec(t, s.Raw, "DELETE FROM t")
				harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
				harness.Exec(t, s.Raw, "DELETE FROM keyfill_series")
				if err := m.Forget(t.Context()); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, db, insertBack)
				if got := numbersBack(t, s); !slices.Equal(got, harness.UpTo(1)) {
					t.Errorf("%v, want 1", got)
				}
				if name != "joined" && name != "scope" {
					return
				}
				for range 5 {
					harness.Exec(t, db, insertBack)
				}
				harness.Exec(t, s.Raw, lowered)
				harness.Exec(t, s.Raw, "DELETE FROM t WHERE id > 2")
				if err := m.Forget(t.Context()); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, db, insertBack)
				if got := numbersBack(t, s); !slices.Equal(got, harness.UpTo(3)) {
					t.Errorf("%v, want 1 to 3", got)
				}
			})
		})
	}
}
