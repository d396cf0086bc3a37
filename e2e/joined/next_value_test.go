package joined_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestNextValueBelowOne: a row whose next value is no number is an error that names
// it, tells the value and how to mend it, whatever draws from it.
func TestNextValueBelowOne(t *testing.T) {
	for name, src := range map[string]policy.Source{
		"block":    harness.Counted(nil),
		"joined":   harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined }),
		"recycled": harness.Mapped(policy.KindRecycled, nil),
		"lease":    harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.WorkerLease = 30 * time.Second }),
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				if s.Server == nil && src.WorkerLease > 0 {
					return
				}
				harness.CreateIDs(t, s, "t")
				db, _ := s.Open(t, harness.InPlace(src))
				harness.Exec(t, db, harness.InsertT)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, s.Raw, "DELETE FROM t")
				harness.Exec(t, s.Raw, "DELETE FROM keyfill_series")
				harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = -5 WHERE parameters <> 'binding'")
				db, _ = s.Open(t, harness.InPlace(src))
				_, err := db.Exec(harness.InsertT)
				if err == nil {
					t.Fatal("it was filled")
				}
				for _, part := range []string{`"t.id`, "-5", "next_value", "UPDATE keyfill_sequences"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%v: does not say %s", err, part)
					}
				}
				if !errors.Is(err, keysource.ErrStoreState) || !errors.Is(err, store.ErrNextValue) {
					t.Errorf("%v, want %v", err, store.ErrNextValue)
				}
			})
		})
	}
}

// TestJoinedSnapshot: the first joined INSERT of a transaction that has read before
// the row of the numbering was made is no error about a row that has to be made.
func TestJoinedSnapshot(t *testing.T) {
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t", "u")
		db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined })))
		for range 2 {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := tx.QueryRow("SELECT COUNT(*) FROM u").Scan(&n); err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(harness.InsertT)
			if err != nil && strings.Contains(err.Error(), "no row") {
				t.Error(err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		harness.Exec(t, db, harness.InsertT)
	})
}
