package joined_test

import (
	"context"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestEarlyLocked: numberings are opened before the first transaction, and one's table is
// locked. A transaction with a deadline that is about another table commits in time.
func TestEarlyLocked(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE other (a INT)")
		locks, err := s.Raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Rollback()
		if _, err := locks.Exec("LOCK TABLE t"); err != nil {
			t.Fatal(err)
		}
		db, _ := s.Open(t, harness.JoinedID("t"))
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO other (a) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	})
}
