package apps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// numbered are the engines whose own counter a sequence may live beside.
var numbered = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault}

// createNumbered makes a table whose id the engine numbers, with some rows.
func createNumbered(t *testing.T, s *harness.Scratch, rows int) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (id "+numberedColumn(s.Engine)+", a INT)")
	for range rows {
		harness.Exec(t, s.Raw, harness.InsertT)
	}
}

// numberedColumn is the type of a key column that the engine numbers.
func numberedColumn(e harness.Engine) string {
	switch {
	case e.IsPostgres():
		return "BIGSERIAL PRIMARY KEY"
	case e.Server != nil:
		return "BIGINT AUTO_INCREMENT PRIMARY KEY"
	}
	return "INTEGER PRIMARY KEY AUTOINCREMENT"
}

// below is the policy for a sequence that ends below an integer. On PostgreSQL its start
// has to be given.
func below(s *harness.Scratch, limit, start int64, change func(*policy.Source)) *policy.Config {
	src := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10, Below: limit}
	if s.IsPostgres() {
		src.Start = start
	}
	if change != nil {
		change(&src)
	}
	return harness.InPlace(src)
}

// TestBelow: a sequence is refused beside a counter that stands below its end. The
// statement that the error names mends that, and then both number the table.
func TestBelow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*policy.Source){
		"blocks": nil,
		"joined": func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined },
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, numbered, func(t *testing.T, s *harness.Scratch) {
				createNumbered(t, s, 3)
				db, _ := s.Open(t, below(s, 1000, 4, change))
				_, err := db.Exec(harness.InsertT)
				var refused *store.Error
				if !errors.Is(err, store.ErrBelow) || !errors.As(err, &refused) || refused.SQL == "" {
					t.Fatalf("an INSERT beside a counter that stands at 4: %v", err)
				}
				if !strings.Contains(err.Error(), refused.SQL) {
					t.Errorf("%q does not name %q", err, refused.SQL)
				}
				executeRemedy(t, s, refused.SQL)
				harness.Exec(t, s.Raw, harness.InsertT)
				for range 3 {
					harness.Eventually(t, func() error { _, err := db.Exec(harness.InsertT); return err })
					harness.Exec(t, s.Raw, harness.InsertT)
				}
				got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
				first := int64(1000)
				if s.IsPostgres() {
					first++ // setval names the last one
				}
				want := []int64{1, 2, 3, 4, 5, 6, first, first + 1, first + 2, first + 3}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("stored %d, want %d", got, want)
				}
				// Another process looks only at the keys below the end.
				other, _ := s.Open(t, below(s, 1000, 4, change))
				harness.Exec(t, other, harness.InsertT)
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id < 1000"); n != 7 {
					t.Errorf("%d keys below 1000, want 7", n)
				}
			})
		})
	}
}

// executeRemedy executes the statements of an error on one connection.
func executeRemedy(t *testing.T, s *harness.Scratch, text string) {
	t.Helper()
	conn, err := s.Raw.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range strings.Split(text, "; ") {
		if _, err := conn.ExecContext(context.Background(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// TestBelowRemedyLate: the statement of the error, run when the counter was raised further
// meanwhile, does not lower it.
func TestBelowRemedyLate(t *testing.T) {
	t.Parallel()
	harness.Each(t, numbered, func(t *testing.T, s *harness.Scratch) {
		createNumbered(t, s, 3)
		db, _ := s.Open(t, below(s, 1000, 4, nil))
		_, err := db.Exec(harness.InsertT)
		var refused *store.Error
		if !errors.As(err, &refused) || refused.SQL == "" {
			t.Fatalf("an INSERT beside a counter that stands at 4: %v", err)
		}
		raise(t, s, 5000)
		executeRemedy(t, s, refused.SQL)
		harness.Exec(t, s.Raw, harness.InsertT)
		if key := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); key < 5000 {
			t.Errorf("the counter was lowered: the next key is %d", key)
		}
	})
}

// raise lets the engine's counter give to as its next number, or one above it.
func raise(t *testing.T, s *harness.Scratch, to int) {
	t.Helper()
	switch {
	case s.IsPostgres():
		harness.Exec(t, s.Raw, fmt.Sprintf("SELECT setval('t_id_seq', %d)", to))
	case s.Server != nil:
		harness.Exec(t, s.Raw, fmt.Sprintf("ALTER TABLE t AUTO_INCREMENT = %d", to))
	default:
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d WHERE name = 't'", to-1))
	}
}

// TestBelowEnds: at its end a sequence is exhausted, and says what to do.
func TestBelowEnds(t *testing.T) {
	t.Parallel()
	harness.Each(t, numbered, func(t *testing.T, s *harness.Scratch) {
		createNumbered(t, s, 1)
		raise(t, s, 5)
		db, _ := s.Open(t, below(s, 5, 2, nil))
		for range 3 {
			harness.Exec(t, db, harness.InsertT)
		}
		harness.Exec(t, s.Raw, harness.InsertT)
		_, err := db.Exec(harness.InsertT)
		if !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), store.BelowRemedy) {
			t.Errorf("behind the last one: %v", err)
		}
	})
}

// TestBelowSetBack: where the counter is set back, no key is stored twice, and the
// sequence stops as soon as one was found in use.
func TestBelowSetBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, numbered, func(t *testing.T, s *harness.Scratch) {
		createNumbered(t, s, 3)
		raise(t, s, 1000)
		db, _ := s.Open(t, below(s, 1000, 4, nil))
		harness.Exec(t, db, harness.InsertT)
		raise(t, s, 5)
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, "SELECT setval('t_id_seq', 4)")
		}
		harness.Exec(t, s.Raw, harness.InsertT) // 5, which the block in hand has too
		if _, err := db.Exec(harness.InsertT); err == nil {
			t.Error("a key that is in use was inserted")
		}
		for range 2 {
			if _, err := db.Exec(harness.InsertT); !errors.Is(err, store.ErrBelow) {
				t.Errorf("behind a duplicate key: %v", err)
			}
		}
		raise(t, s, 1000)
		harness.Eventually(t, func() error { _, err := db.Exec(harness.InsertT); return err })
	})
}

// TestBelowRolledBack: a counter that was raised in a transaction is no proof after its
// rollback.
func TestBelowRolledBack(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*policy.Source){
		"blocks": nil,
		"joined": func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined },
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory}, func(t *testing.T, s *harness.Scratch) {
				createNumbered(t, s, 3)
				raise(t, s, 1000)
				before, _ := s.Open(t, below(s, 1000, 4, change))
				harness.Exec(t, before, harness.InsertT) // makes the row of the state
				raise(t, s, 6)
				db, _ := s.Open(t, below(s, 1000, 4, change))
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, "UPDATE sqlite_sequence SET seq = 999 WHERE name = 't'", harness.InsertT)
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if _, err := db.Exec(harness.InsertT); !errors.Is(err, store.ErrBelow) {
						t.Errorf("behind the rollback: %v, want ErrBelow", err)
					}
				}
				tx, err = db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.Exec(harness.InsertT); !errors.Is(err, store.ErrBelow) {
					t.Errorf("in the next transaction: %v, want ErrBelow", err)
				}
			})
		})
	}
}

// TestBelowFollows: a key that an INSERT brings raises the sequence where it is below
// its end, as the engine's own counter would have been; one from there on does not.
func TestBelowFollows(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		createNumbered(t, s, 3)
		raise(t, s, 1000)
		db, _ := s.Open(t, below(s, 1000, 0, nil))
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (50, 1)")
		harness.Exec(t, db, "INSERT INTO t (id, a) VALUES (5000, 1)")
		harness.Exec(t, db, harness.InsertT)
		if got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")); got != "[1 2 3 50 51 5000]" {
			t.Errorf("stored %s", got)
		}
	})
}

// TestBelowUnproven: what cannot be asked where it stands is refused as before.
func TestBelowUnproven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		engine harness.Engine
		create []string
		want   error
	}{
		{"a rowid without AUTOINCREMENT", harness.SQLiteFile, []string{"CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)"}, nil},
		{"a sequence of MariaDB", harness.MySQLDefault, []string{"CREATE SEQUENCE q START WITH 2000", "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval(q), a INT)"}, nil},
		{"an expression", harness.PgxDefault, []string{"CREATE SEQUENCE q START WITH 2000", "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('q') / 2, a INT)"}, store.ErrBelow},
		{"a sequence that cycles", harness.PgxDefault, []string{"CREATE SEQUENCE q START WITH 2000 CYCLE", "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('q'), a INT)"}, store.ErrBelow},
		{"a sequence that descends", harness.PgxDefault, []string{"CREATE SEQUENCE q INCREMENT BY -1 MAXVALUE 9000 START WITH 2000", "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('q'), a INT)"}, store.ErrBelow},
		{"no start on PostgreSQL", harness.PgxDefault, []string{"CREATE TABLE t (id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 2000) PRIMARY KEY, a INT)"}, store.ErrStart},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.engine.Scratch(t)
			harness.Must(t, s.Raw, c.create...)
			db, _ := s.Open(t, below(s, 1000, 1, func(src *policy.Source) {
				if c.want == store.ErrStart {
					src.Start = 0
				}
			}))
			_, err := db.Exec(harness.InsertT)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("an INSERT: %v, want %v", err, c.want)
			}
		})
	}
}

// TestBelowIdentity: an identity that begins above the end, of which nothing was drawn,
// is proven too.
func TestBelowIdentity(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1000) PRIMARY KEY, a INT)")
	db, _ := s.Open(t, below(s, 1000, 1, nil))
	harness.Exec(t, db, harness.InsertT)
	harness.Exec(t, s.Raw, harness.InsertT)
	if got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")); got != "[1 1000]" {
		t.Errorf("stored %s", got)
	}
}

// TestBelowReserve: keys that are reserved beforehand end there too.
func TestBelowReserve(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	createNumbered(t, s, 1)
	raise(t, s, 100)
	_, m := s.Open(t, below(s, 100, 2, nil))
	if first, err := m.Reserve(context.Background(), "t", 98); err != nil || first != 2 {
		t.Errorf("98 keys from %d: %v", first, err)
	}
	if _, err := m.Reserve(context.Background(), "t", 1); !errors.Is(err, keysource.ErrExhausted) {
		t.Errorf("one more: %v", err)
	}
}
