package keyfill_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
)

// TestConditionalOutcome: whether a MERGE or INSERT WHEN has stored a row is not known
// from the number of rows, which counts those that it has changed; for INSERT ALL it is.
func TestConditionalOutcome(t *testing.T) {
	const merge = "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)"
	for _, c := range []struct {
		name, dialect, query string
		affected             int64
		want                 keyfill.Outcome
	}{
		{"merge, one row", "postgres", merge, 1, keyfill.Unknown},
		{"merge, none", "postgres", merge, 0, keyfill.Unknown},
		{"merge of a row", "sqlserver", merge + ";", 1, keyfill.Unknown},
		{"merge of two rows", "sqlserver", strings.Replace(merge, "(SELECT 1 AS a) s", "(VALUES (1), (2)) s (a)", 1) + ";", 2, keyfill.Unknown},
		{"when", "oracle", "INSERT WHEN a > 1 THEN INTO t (a) VALUES (a) SELECT 1 a FROM dual", 1, keyfill.Unknown},
		{"when, two tables", "oracle", "INSERT WHEN a > 1 THEN INTO t (a) VALUES (a) ELSE INTO t (b) VALUES (a) SELECT 1 a FROM dual", 1, keyfill.Unknown},
		{"all", "oracle", "INSERT ALL INTO t (a) VALUES (1) INTO t (a) VALUES (2) SELECT * FROM dual", 2, keyfill.Stored},
		{"all, with errors put aside", "oracle", "INSERT ALL INTO t (a) VALUES (1) LOG ERRORS REJECT LIMIT 1 INTO u (a) VALUES (2) SELECT * FROM dual", 2, keyfill.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts, exec: affected(c.affected, nil)}
			db := open(t, d, config(c.dialect))
			ctx, rec := keyfill.Record(context.Background())
			if _, err := db.ExecContext(ctx, c.query); err != nil {
				t.Fatal(err)
			}
			keys := rec.Keys("t")
			if len(keys) == 0 {
				t.Fatal("no key was recorded")
			}
			for i, k := range keys {
				if k.Outcome != c.want {
					t.Errorf("key %d: %v, want %v", i, k.Outcome, c.want)
				}
			}
		})
	}
}

// TestMergeReturning: of the keys of a MERGE those are stored that come back, and
// nothing is known of the others: the rows may be those that were there, or give
// the column of the source.
func TestMergeReturning(t *testing.T) {
	const two = "MERGE INTO t USING (VALUES ($1::int), ($2::int)) AS s (a) ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1 WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) RETURNING "
	const old = "11111111-2222-4333-8444-555555555555"
	unknown, stored := keyfill.Unknown, keyfill.Stored
	for _, c := range []struct {
		name, returning string
		columns         []string
		back            func(sent []driver.Value) [][]driver.Value
		read            int // rows that the caller reads; -1: to the end
		want            [2]keyfill.Outcome
	}{
		{"both", "t.id", []string{"id"}, func(sent []driver.Value) [][]driver.Value { return [][]driver.Value{{sent[1]}, {sent[0]}} }, -1, [2]keyfill.Outcome{stored, stored}},
		{"one was there", "merge_action(), t.id", []string{"merge_action", "id"},
			func(sent []driver.Value) [][]driver.Value {
				return [][]driver.Value{{"UPDATE", old}, {"INSERT", sent[1]}}
			}, -1, [2]keyfill.Outcome{unknown, stored}},
		{"both were there", "t.id", []string{"id"}, func([]driver.Value) [][]driver.Value { return [][]driver.Value{{old}, {old}} }, -1, [2]keyfill.Outcome{unknown, unknown}},
		{"one read", "t.id", []string{"id"}, func(sent []driver.Value) [][]driver.Value { return [][]driver.Value{{sent[0]}, {sent[1]}} }, 1, [2]keyfill.Outcome{stored, unknown}},
		{"another column", "t.a", []string{"a"}, func([]driver.Value) [][]driver.Value { return [][]driver.Value{{int64(1)}, {int64(2)}} }, -1, [2]keyfill.Outcome{unknown, unknown}},
		{"none", "t.id", []string{"id"}, func([]driver.Value) [][]driver.Value { return nil }, -1, [2]keyfill.Outcome{unknown, unknown}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent []driver.Value
			d := &fakeDriver{strength: contexts, query: func(_ string, args []driver.NamedValue) (driver.Rows, error) {
				sent = nil
				for _, a := range args[2:] {
					sent = append(sent, a.Value)
				}
				return &fakeRows{columns: c.columns, rows: c.back(sent)}, nil
			}}
			db := open(t, d, config("postgres"))
			ctx, rec := keyfill.Record(context.Background())
			rows, err := db.QueryContext(ctx, two+c.returning, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; n != c.read && rows.Next(); n++ {
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			keys := rec.Keys("t")
			if len(keys) != 2 {
				t.Fatalf("%d keys recorded, want 2", len(keys))
			}
			for i, k := range keys {
				if k.Outcome != c.want[i] || k.Row != i {
					t.Errorf("key %d: row %d, %v, want %v", i, k.Row, k.Outcome, c.want[i])
				}
			}
		})
	}
}
