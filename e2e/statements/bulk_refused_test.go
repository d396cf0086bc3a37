package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/lib/pq"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestCopyArguments: a row with another number of values than there are columns
// is refused before it is sent, and the load goes on without it.
//
//deviation:bulk-loads | In a bulk load, a row with more or fewer values than the load has columns is an error of keyfill at the Exec of that row. The row is not sent, and the load goes on. PostgreSQL refuses the load at its end. | PostgreSQL | `stmt.Exec("a")` for two columns | –
func TestCopyArguments(t *testing.T) {
	t.Parallel()
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		rand := new(harness.Entropy)
		harness.Exec(t, s.Raw, "CREATE TABLE people (name text, n int, id text NOT NULL PRIMARY KEY)")
		cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
		db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Rand: rand})
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		stmt, err := tx.Prepare(pq.CopyIn("people", "name", "n"))
		if err != nil {
			t.Fatal(err)
		}
		n := harness.Drawn(rand, func() {
			for _, args := range [][]any{{"a"}, {"a", 1, "my own"}} {
				if _, err := stmt.Exec(args...); !errors.Is(err, rewrite.ErrArguments) {
					t.Errorf("%d values: error %v, want %v", len(args), err, rewrite.ErrArguments)
				}
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := stmt.ExecContext(ctx, "a", 1); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if _, err := stmt.Query(); err == nil {
				t.Error("Query is no error")
			}
		})
		if n != 0 {
			t.Errorf("%d keys are drawn", n)
		}
		if err := errors.Join(second(stmt.Exec("b", 2)), second(stmt.Exec()), stmt.Close(), tx.Commit()); err != nil {
			t.Fatal(err)
		}
		if got := harness.Text(t, s.Raw, "SELECT string_agg(name, ',') FROM people"); got != "b" {
			t.Errorf("stored %q", got)
		}
		if st := m.Stats().Tables["people"]; st.Filled != 1 || st.Refused[keyfill.Reason(rewrite.ErrArguments)] != 2 {
			t.Errorf("counted %+v", st)
		}
	})
}

// TestCopyNoKey: a row whose key cannot be drawn is not sent.
//
//deviation:bulk-loads | In a bulk load, a row for which keyfill can make no key is an error at the Exec of that row, and is not sent. | all | a store that does not answer | –
func TestCopyNoKey(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (name text, n int, id smallint NOT NULL PRIMARY KEY)")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
	err := loadTx(context.Background(), db, pq.CopyIn("people", "name", "n"), []any{"a", 1})
	var e *keyfill.Error
	if !errors.As(err, &e) || errors.Is(err, keysource.ErrStoreDown) {
		t.Fatalf("error %v, want that of a column that is too narrow", err)
	}
	if err := loadTx(context.Background(), db, pq.CopyIn("people", "name", "n", "id"), []any{"a", 1, 7}); err == nil {
		t.Error("the column is not asked for where the key is listed")
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 0 {
		t.Errorf("%d rows are stored", n)
	}
}

// TestCopyModes: the text and the rows go out as they came, and are counted.
func TestCopyModes(t *testing.T) {
	t.Parallel()
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (name text, id uuid DEFAULT '"+harness.OwnKey+"', n int)")
		for _, mode := range []policy.Mode{policy.ModeOff, policy.ModeDryRun} {
			t.Run(mode.String(), func(t *testing.T) {
				harness.Exec(t, s.Raw, "DELETE FROM people")
				rand := new(harness.Entropy)
				cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
				cfg.Mode = mode
				db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Rand: rand})
				n := harness.Drawn(rand, func() {
					if err := loadTx(context.Background(), db, pq.CopyIn("people", "name", "n"), []any{"a", 1}, []any{"b", 2}); err != nil {
						t.Fatal(err)
					}
					if err := loadTx(context.Background(), db, pq.CopyIn("people", "id", "n"), []any{nil, 3}); err != nil {
						t.Fatal(err)
					}
				})
				if stored := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE (n < 3) = (id = $1) OR id IS NULL", harness.OwnKey); n != 0 || stored != 3 {
					t.Errorf("%d keys are drawn, %d rows are as they came", n, stored)
				}
				want := keyfill.TableStats{Filled: 3, Withheld: 3}
				if mode == policy.ModeOff {
					want = keyfill.TableStats{Filled: 1, Kept: 1, Withheld: 2} // counted when it is prepared
				}
				if st := m.Stats().Tables["people"]; st.Filled != want.Filled || st.Withheld != want.Withheld || st.Kept != want.Kept || st.Keys != 0 || st.Refused != nil {
					t.Errorf("counted %+v, want %+v", st, want)
				}
			})
		}
	})
}

// TestCopyRefused: where the rows do not come as executions, or would be read
// otherwise, a COPY that lacks the key is refused, and nothing is sent.
//
//deviation:bulk-loads | A COPY that lacks the key is refused beside other statements, and with options under which the server reads values in another form than lib/pq writes: another FORMAT, DELIMITER or NULL, DEFAULT, HEADER, and options without brackets. | PostgreSQL | `COPY t (a) FROM STDIN WITH (FORMAT csv)` | name the key column and load its values; `unsupported: unfilled`
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, slices.Concat(pqEngines, []harness.Engine{harness.PgxDefault, harness.PgxSimple}), func(t *testing.T, s *harness.Scratch) {
		db, m := copyKeys[0].people(t, s)
		refused := uint64(0)
		check := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, rewrite.ErrBulk) {
				t.Errorf("%s: error %v, want %v", what, err, rewrite.ErrBulk)
			}
			refused++
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for _, query := range []string{"COPY people (name) FROM STDIN", "COPY people (name) FROM '/nowhere'"} {
			check(query, second(tx.Exec(query)))
			check(query, second(tx.Query(query)))
			check(query, second(tx.Exec(query, "a")))
			if s.Driver == "pgx" {
				check(query, second(tx.Prepare(query)))
			}
		}
		check("csv", second(tx.Prepare("COPY people (name) FROM STDIN WITH (FORMAT csv)")))
		if got := m.Stats().Tables["people"].Refused[keyfill.Reason(rewrite.ErrBulk)]; got != refused {
			t.Errorf("%d are counted, want %d", got, refused)
		}
		// The transaction has not noticed.
		if err := errors.Join(second(tx.Exec("INSERT INTO people (name) VALUES ('a')")), tx.Commit()); err != nil {
			t.Error(err)
		}
		if s.Driver == "pgx" {
			return
		}
		// What lib/pq says of a load without a transaction stays as it is.
		_, want := s.Raw.Prepare(pq.CopyIn("people", "name"))
		if _, err := db.Prepare(pq.CopyIn("people", "name")); want == nil || err == nil || err.Error() != want.Error() {
			t.Errorf("error %v, want %v", err, want)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 1 {
			t.Errorf("%d rows are stored", n)
		}
	})
}

// TestCopyUnfilled: a load that cannot be filled goes out as it came where the
// policy says so.
func TestCopyUnfilled(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (name text, id uuid DEFAULT '"+harness.OwnKey+"', n int)")
	db, m := s.Open(t, harness.FillID("people", policy.Table{Unsupported: policy.Unfilled}))
	if err := loadTx(context.Background(), db, "COPY people (name) FROM STDIN WITH (FORMAT csv)", []any{"a"}); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE id = $1", harness.OwnKey); n != 1 {
		t.Errorf("%d rows are as they came", n)
	}
	if st := m.Stats().Tables["people"]; st.Refused[keyfill.Reason(rewrite.ErrBulk)] != 1 || st.Withheld != 1 {
		t.Errorf("counted %+v", st)
	}
}

// TestCopyWrapped: other wrappers around lib/pq, of which the policy says what
// they speak.
func TestCopyWrapped(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (name text, id uuid NOT NULL PRIMARY KEY)")
	for name, wrap := range map[string]func(*testing.T, *harness.Spy) (db *sql.DB){
		"inside": func(t *testing.T, sp *harness.Spy) *sql.DB {
			cfg := harness.FillID("people", policy.Table{})
			cfg.Dialect = "postgres"
			db, _ := harness.OpenConnector(t, harness.WrapOtelsql(t, s.Connector, sp), cfg)
			return db
		},
		"outside": func(t *testing.T, sp *harness.Spy) *sql.DB {
			c, err := keyfill.WrapConnector(s.Connector, keyfill.Options{Policy: harness.FillID("people", policy.Table{})})
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(harness.WrapOtelsql(t, c, sp))
			t.Cleanup(func() { db.Close() })
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Exec(t, s.Raw, "DELETE FROM people")
			if err := loadTx(context.Background(), wrap(t, new(harness.Spy)), pq.CopyIn("people", "name"), []any{"a"}, []any{"b"}); err != nil {
				t.Fatal(err)
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM people"); n != 2 {
				t.Errorf("%d rows are stored", n)
			}
		})
	}
}
