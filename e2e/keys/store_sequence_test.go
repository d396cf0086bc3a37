package keys_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestSequence: the first keys of a new table, through every engine and driver,
// in one row and many, prepared, in transactions that commit and roll back.
func TestSequence(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, m := s.Open(t, harness.SequenceID("t"))
		one := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		ctx, rec := keyfill.Record(context.Background())
		insert := func(x interface {
			ExecContext(context.Context, string, ...any) (sql.Result, error)
		}, query string, args ...any) {
			t.Helper()
			if _, err := x.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		insert(db, one, 1)
		insert(db, s.Placeholders("INSERT INTO t (a) VALUES (?), (?), (?)"), 2, 3, 4)
		insert(db, "INSERT INTO t (a) VALUES (5), (6)")
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		insert(tx, one, 7)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if tx, err = db.BeginTx(ctx, nil); err != nil {
			t.Fatal(err)
		}
		insert(tx, one, 8)
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		stmt, err := db.PrepareContext(ctx, one)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for a := 9; a < 250; a++ {
			if _, err := stmt.ExecContext(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		var sent []int64
		for _, k := range rec.Keys("t") {
			if k.Outcome != keyfill.Stored {
				t.Errorf("key of row %d is %v", k.Row, k.Outcome)
			}
			sent = append(sent, k.Key.(int64))
		}
		if !slices.IsSorted(sent) || len(sent) != 249 {
			t.Errorf("%d keys were recorded, sorted %v", len(sent), slices.IsSorted(sent))
		}
		stored := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a")
		if want := slices.Delete(sent, 7, 8); !slices.Equal(stored, want) {
			t.Errorf("stored\n%v\nrecorded\n%v", stored, want)
		}
		if got := m.Stats().Tables["t"]; got.Keys != 249 {
			t.Errorf("%d keys counted", got.Keys)
		}
	})
}
