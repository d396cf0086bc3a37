package e2e_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// sequenceID is the policy for a table whose id comes from a sequence that
// makes what it needs.
func sequenceID(table string) *policy.Config {
	return fillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}})
}

// TestSequence: the first keys of a new table, through every engine and driver,
// in one row and many, prepared, in transactions that commit and roll back.
func TestSequence(t *testing.T) {
	each(t, engines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, m := s.open(t, sequenceID("t"))
		one := s.placeholders("INSERT INTO t (a) VALUES (?)")
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
		insert(db, s.placeholders("INSERT INTO t (a) VALUES (?), (?), (?)"), 2, 3, 4)
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
		stored := integersOf(t, s.raw, "SELECT id FROM t ORDER BY a")
		if want := slices.Delete(sent, 7, 8); !slices.Equal(stored, want) {
			t.Errorf("stored\n%v\nrecorded\n%v", stored, want)
		}
		if got := m.Stats().Tables["t"]; got.Keys != 249 {
			t.Errorf("%d keys counted", got.Keys)
		}
	})
}

// integersOf returns the first column of a query's rows.
func integersOf(t *testing.T, db *sql.DB, query string) []int64 {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []int64
	for rows.Next() {
		var one int64
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
