package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// pqEngines are the ways of lib/pq, whose COPY takes its rows as executions.
var pqEngines = []harness.Engine{harness.PQDefault, harness.PQBinary}

// loadTx is load in a transaction of its own.
func loadTx(ctx context.Context, db *sql.DB, query string, rows ...[]any) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := harness.Load(ctx, tx, query, rows...); err != nil {
		return err
	}
	return tx.Commit()
}

// copyKey is a kind of key and a column for it.
type copyKey struct {
	name   string
	column string
	rule   policy.Table
}

var copyKeys = []copyKey{
	{"uuid", "uuid", policy.Table{}},
	{"uuid-text", "char(36)", policy.Table{}},
	{"bytea", "bytea", policy.Table{Layout: dialect.SequentialAsBinary}},
	{"ulid", "text", policy.Table{Source: "ulid"}},
	{"sequence", "bigint", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}},
	{"sequence-text", "text", policy.Table{Layout: dialect.SequentialAsString,
		InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}}},
}

// people creates the tables people and by_hand, whose keys stand in the middle,
// and opens the database.
func (k copyKey) people(t *testing.T, s *harness.Scratch) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	for _, table := range []string{"people", "by_hand"} {
		harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (name text, id "+k.column+" NOT NULL PRIMARY KEY, n int)")
	}
	return s.Open(t, harness.FillID("people", k.rule))
}

// checkByHand inserts rows of name and n with their recorded keys through the
// raw driver, and compares what is stored.
func checkByHand(t *testing.T, s *harness.Scratch, k copyKey, keys []keyfill.RecordedKey, rows [][]any) {
	t.Helper()
	if len(keys) != len(rows) {
		t.Fatalf("%d keys are recorded, want %d", len(keys), len(rows))
	}
	tx, err := s.Raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	stmt, err := tx.Prepare(pq.CopyIn("by_hand", "name", "n", "id"))
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range keys {
		if key.Outcome != keyfill.Stored || key.Row != i {
			t.Fatalf("key %d is %s, of row %d", i, key.Outcome, key.Row)
		}
		id := key.Key
		if u, ok := id.(uuid.UUID); ok && k.rule.Layout == dialect.SequentialAsBinary {
			id = u[:]
		}
		if _, err := stmt.Exec(rows[i][0], rows[i][1], id); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(second(stmt.Exec()), stmt.Close(), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"TABLE people EXCEPT TABLE by_hand", "TABLE by_hand EXCEPT TABLE people"} {
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM ("+query+") AS d"); n != 0 {
			t.Errorf("%s: %d rows", query, n)
		}
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != len(rows) {
		t.Errorf("%d rows are stored, want %d", n, len(rows))
	}
}

// second returns the error of two results.
func second[T any](_ T, err error) error { return err }

// copyRows returns rows of a name and a number; some names have what COPY
// escapes, some values are NULL.
func copyRows(n int) [][]any {
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = []any{fmt.Sprintf("a\tb\\%d\n,", i), i}
		if i%7 == 3 {
			rows[i] = []any{nil, nil}
		}
	}
	return rows
}

// TestCopy: 10,000 rows get the keys that are recorded, each beside the values
// that it was sent with, by all kinds of keys and spellings of the text.
func TestCopy(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		for i, query := range []string{
			pq.CopyIn("people", "name", "n"),
			pq.CopyInSchema("public", "people", "name", "n"),
			"copy people(name,n) from stdin with (format text);",
		} {
			for _, k := range copyKeys {
				if i > 0 && k.name != "uuid" && k.name != "sequence" {
					continue
				}
				n := 500
				if i == 0 && (k.name == "uuid" || k.name == "sequence") {
					n = rows
				}
				t.Run(fmt.Sprint(k.name, "-", i), func(t *testing.T) {
					harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people, by_hand, keyfill_sequences")
					db, m := k.people(t, s)
					ctx, rec := keyfill.Record(context.Background())
					all := copyRows(n)
					if err := loadTx(ctx, db, query, all...); err != nil {
						t.Fatal(err)
					}
					checkByHand(t, s, k, rec.Keys("people"), all)
					if st := m.Stats().Tables[rec.All()[0].Table]; st.Filled != uint64(n) || st.Stored != uint64(n) || st.Keys != uint64(n) || st.Kept != 0 || st.Refused != nil {
						t.Errorf("counted %+v", st)
					}
				})
			}
		}
	})
}

// TestCopyOrder: the keys of a load are in the order of its rows.
func TestCopyOrder(t *testing.T) {
	t.Parallel()
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		for _, k := range copyKeys {
			if k.name == "sequence-text" {
				continue // as text 10 is before 9
			}
			t.Run(k.name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people, by_hand, keyfill_sequences")
				db, _ := k.people(t, s)
				var rows [][]any
				for i := range 500 {
					rows = append(rows, []any{"a", i})
				}
				if err := loadTx(context.Background(), db, pq.CopyIn("people", "name", "n"), rows...); err != nil {
					t.Fatal(err)
				}
				if n := harness.Count(t, s.Raw, `SELECT COUNT(*) FROM (SELECT n, row_number() OVER (ORDER BY id`+collateC(k)+`) AS place FROM people) AS o WHERE place = n + 1`); n != len(rows) {
					t.Errorf("%d rows are in the order of their keys, want %d", n, len(rows))
				}
			})
		}
	})
}

// collateC makes text sort by its bytes.
func collateC(k copyKey) string {
	if k.column == "text" || k.column == "char(36)" {
		return ` COLLATE "C"`
	}
	return ""
}

// TestCopyTransaction: other statements go before and after a load in its transaction,
// two loads one after the other, and a rollback leaves gaps that are not filled.
func TestCopyTransaction(t *testing.T) {
	t.Parallel()
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		for _, k := range copyKeys {
			t.Run(k.name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people, by_hand, keyfill_sequences")
				db, _ := k.people(t, s)
				ctx, rec := keyfill.Record(context.Background())
				const query = "INSERT INTO people (name, n) VALUES ($1, $2)"
				for round := range 2 {
					tx, err := db.BeginTx(ctx, nil)
					if err != nil {
						t.Fatal(err)
					}
					err = errors.Join(
						second(tx.ExecContext(ctx, query, "before", 0)),
						harness.Load(ctx, tx, pq.CopyIn("people", "n", "name"), []any{1, "a"}, []any{2, "b"}),
						second(tx.ExecContext(ctx, query, "between", 3)),
						harness.Load(ctx, tx, pq.CopyIn("people", "name", "n"), []any{"c", 4}),
						second(tx.ExecContext(ctx, "INSERT INTO people (name, n) VALUES ('behind', 5)")),
						harness.Load(ctx, tx, pq.CopyIn("people", "name")),
					)
					if err != nil {
						t.Fatal(err)
					}
					if round == 0 {
						err = tx.Rollback()
					} else {
						err = tx.Commit()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT (n, name)) FROM people"); n != 6 {
					t.Errorf("%d rows are stored, want 6", n)
				}
				seen := map[any]bool{}
				for _, k := range rec.Keys("people") {
					if seen[k.Key] {
						t.Errorf("a key was given twice")
					}
					seen[k.Key] = true
				}
				// The INSERTs have the keys that the ROLLBACK has left free, and loads new ones.
				if len(seen) != 9 {
					t.Errorf("%d keys are recorded, want 9", len(seen))
				}
			})
		}
	})
}

// TestCopyFails: what the engine says against a row is the driver's error, at
// the end or earlier; nothing of the load is stored or called stored, and the
// connection goes on.
func TestCopyFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		db, m := copyKeys[4].people(t, s)
		if err := loadTx(context.Background(), db, pq.CopyIn("people", "name", "n"), []any{"first", 0}); err != nil {
			t.Fatal(err)
		}
		many := copyRows(20_000)
		many[10] = []any{"a", "no number"}
		for _, tt := range []struct {
			name string
			rows [][]any
		}{
			{"at the end", [][]any{{"a", 1}, {"b", "no number"}, {"c", 3}}},
			{"in the middle", many},
		} {
			t.Run(tt.name, func(t *testing.T) {
				ctx, rec := keyfill.Record(context.Background())
				err := loadTx(ctx, db, pq.CopyIn("people", "name", "n"), tt.rows...)
				var e *pq.Error
				if !errors.As(err, &e) || e.Code != "22P02" {
					t.Fatalf("error %v", err)
				}
				keys := rec.Keys("people")
				if len(keys) == 0 || len(keys) > len(tt.rows) {
					t.Errorf("%d keys are recorded for %d rows", len(keys), len(tt.rows))
				}
				for _, k := range keys {
					if k.Outcome != keyfill.NotStored {
						t.Fatalf("row %d: the key is %s", k.Row, k.Outcome)
					}
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 1 {
					t.Errorf("%d rows are stored, want 1", n)
				}
			})
		}
		st := m.Stats().Tables["people"]
		if st.Suspects != 0 {
			t.Errorf("%d keys are suspect", st.Suspects)
		}
		if st.Stored != 1 || st.Failed != st.Filled-1 || st.Failed < 2 || st.FailedBy[keyfill.CauseEngine] != st.Failed {
			t.Errorf("counted %+v, want the first row as stored, and all others as failed", st)
		}
		// Another session has taken the next key.
		harness.Exec(t, s.Raw, "INSERT INTO people SELECT 'x', max(id) + g, g FROM people, generate_series(1, 60000) AS g GROUP BY g")
		ctx, rec := keyfill.Record(context.Background())
		err := loadTx(ctx, db, pq.CopyIn("people", "name", "n"), []any{"a", 1})
		var e *pq.Error
		if !errors.As(err, &e) || e.Code != "23505" {
			t.Fatalf("error %v, want a duplicate key", err)
		}
		if k := rec.Keys("people"); len(k) != 1 || k[0].Outcome != keyfill.NotStored {
			t.Errorf("recorded %+v", k)
		}
		if n := m.Stats().Tables["people"].Suspects; n != 1 {
			t.Errorf("%d keys are suspect, want 1", n)
		}
	})
}

// TestCopyLeavesOut: rows that the engine does not store are not called stored.
func TestCopyLeavesOut(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	db, m := copyKeys[0].people(t, s)
	ctx, rec := keyfill.Record(context.Background())
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	stmt, err := tx.PrepareContext(ctx, "COPY people (name, n) FROM STDIN WHERE n > 1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := stmt.ExecContext(ctx, "a", i); err != nil {
			t.Fatal(err)
		}
		for _, k := range rec.Keys("people") {
			if k.Outcome != keyfill.Unknown {
				t.Errorf("a key is %s before the load has ended", k.Outcome)
			}
		}
	}
	res, err := stmt.ExecContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); n != 1 || err != nil {
		t.Fatalf("%d rows affected, error %v", n, err)
	}
	for _, k := range rec.Keys("people") {
		if k.Outcome != keyfill.Unknown {
			t.Errorf("row %d: the key is %s", k.Row, k.Outcome)
		}
	}
	if st := m.Stats().Tables["people"]; st.Stored != 0 || st.UnknownBy[keyfill.CauseCount] != 3 {
		t.Errorf("counted %+v, want that nothing is known of three rows", st)
	}
	// Closing ends a load as well, without saying how.
	if stmt, err = tx.PrepareContext(ctx, pq.CopyIn("people", "name", "n")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(second(stmt.ExecContext(ctx, "closed", 9)), stmt.Close(), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	keys := rec.Keys("people")
	if last := keys[len(keys)-1]; len(keys) != 4 || last.Outcome != keyfill.Unknown ||
		harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE id = $1 AND name = 'closed'", last.Key) != 1 {
		t.Errorf("%d keys, the last is %s", len(keys), last.Outcome)
	}
}

// TestCopyRecords: loads at the same time, each row under a record of its own
// inside one for the load.
func TestCopyRecords(t *testing.T) {
	t.Parallel()
	const loaders, rows = 2, 1000
	s := harness.PQDefault.Scratch(t)
	for _, k := range []copyKey{copyKeys[0], copyKeys[4]} {
		t.Run(k.name, func(t *testing.T) {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people, by_hand, keyfill_sequences")
			db, _ := k.people(t, s)
			whole, all := keyfill.Record(context.Background())
			var wg sync.WaitGroup
			for l := range loaders {
				wg.Go(func() {
					if err := loadRecorded(whole, db, l, rows); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			keys := all.Keys("people")
			if len(keys) != loaders*rows || harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people") != loaders*rows {
				t.Errorf("%d keys are recorded", len(keys))
			}
			for _, k := range keys {
				if k.Outcome != keyfill.Stored {
					t.Fatalf("row %d: the key is %s", k.Row, k.Outcome)
				}
			}
		})
	}
}

// loadRecorded is one of several loads at the same time.
func loadRecorded(whole context.Context, db *sql.DB, loader, rows int) error {
	ctx, own := keyfill.Record(whole)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	stmt, err := tx.PrepareContext(ctx, pq.CopyIn("people", "name", "n"))
	if err != nil {
		return err
	}
	var each []*keyfill.Recorder
	for i := range rows {
		ctx, rec := keyfill.Record(ctx)
		if _, err := stmt.ExecContext(ctx, fmt.Sprint(loader), i); err != nil {
			return err
		}
		each = append(each, rec)
	}
	if err := errors.Join(second(stmt.ExecContext(ctx)), stmt.Close()); err != nil {
		return err
	}
	keys := own.Keys("people")
	for i, rec := range each {
		k := rec.Keys("people")
		if len(k) != 1 || k[0].Outcome != keyfill.Stored || k[0] != keys[i] || k[0].Row != i {
			return fmt.Errorf("row %d is recorded as %+v and %+v", i, k, keys[i])
		}
		var n int
		err := tx.QueryRowContext(ctx, "SELECT n FROM people WHERE id = $1 AND name = $2", k[0].Key, fmt.Sprint(loader)).Scan(&n)
		if err != nil || n != i {
			return fmt.Errorf("row %d has the key of row %d: %w", n, i, err)
		}
	}
	return tx.Commit()
}
