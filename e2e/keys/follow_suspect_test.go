package keys_test

import (
	"bytes"
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSuspect: a key that is in the table already drops the block in hand, is
// counted and logged, and the caller gets the driver's own error. What another
// unique index finds is the caller's business.
func TestSuspect(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, u INT UNIQUE, a INT)")
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		db, m := s.OpenWith(t, keyfill.Options{Policy: harness.Blocks("t", 100), Logger: logger})
		insert := s.Placeholders("INSERT INTO t (u, a) VALUES (?, 7654321)")
		suspects := func(want uint64) {
			t.Helper()
			if got := m.Stats().Tables["t"].Suspects; got != want {
				t.Errorf("%d suspects are counted, want %d", got, want)
			}
			// One line a minute reports them.
			if got := strings.Count(log.String(), "source suspect"); got > int(want) || (got == 0) != (want == 0) {
				t.Errorf("%d lines tell of %d suspects: %s", got, want, log.String())
			}
		}
		harness.Exec(t, db, insert, 1)
		_, want := s.Raw.Exec("INSERT INTO t (id, u) VALUES (1, 50)")

		// Another index: the block goes on.
		if _, err := db.Exec(insert, 1); err == nil {
			t.Fatal("a duplicate")
		}
		suspects(0)
		harness.Exec(t, db, insert, 2)
		if got := harness.Count(t, s.Raw, "SELECT id FROM t WHERE u = 2"); got != 3 {
			t.Errorf("after a duplicate of another index the key is %d, want 3", got)
		}

		// The key's: another program has 4, and perhaps more.
		harness.Exec(t, s.Raw, "INSERT INTO t (id, u) VALUES (4, 60)")
		_, err := db.Exec(insert, 3)
		if err == nil || reflect.TypeOf(err) != reflect.TypeOf(want) {
			t.Fatalf("the error is %T %[1]v, want a %T", err, want)
		}
		suspects(1)
		harness.Exec(t, db, insert, 4)
		if got := harness.Count(t, s.Raw, "SELECT id FROM t WHERE u = 4"); got != 101 {
			t.Errorf("after a suspect the key is %d, want that of a new block, 101", got)
		}

		// Prepared, and through Query.
		harness.Exec(t, s.Raw, "INSERT INTO t (id, u) VALUES (102, 61)")
		if _, err := harness.PreparedExec(db, insert, 5); err == nil {
			t.Error("prepared: a duplicate")
		}
		suspects(2)
		harness.Exec(t, db, insert, 8)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, u) VALUES (202, 62)")
		if err := harness.DrainContext(context.Background(), db, insert+" RETURNING id", 6); err == nil {
			t.Error("through Query: a duplicate")
		}
		suspects(3)
		harness.Exec(t, db, insert, 7)
		if got := harness.Count(t, s.Raw, "SELECT id FROM t WHERE u = 7"); got != 301 {
			t.Errorf("the key is %d, want 301", got)
		}
		if strings.Contains(log.String(), "7654321") || !strings.Contains(log.String(), "table=t column=id") {
			t.Errorf("the log is %s", log.String())
		}
	})
}

// TestSuspectKept: a duplicate of a key that the caller has brought is the
// caller's business.
func TestSuspectKept(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, m := s.Open(t, harness.Blocks("t", 100))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		for _, q := range []string{"INSERT INTO t (id, a) VALUES (1, 1)", s.Placeholders("INSERT INTO t (id, a) VALUES (?, 1)")} {
			args := []any{1}[:strings.Count(q, "?")+strings.Count(q, "$")]
			if _, err := db.Exec(q, args...); err == nil {
				t.Error("a duplicate")
			}
		}
		if got := m.Stats().Tables["t"].Suspects; got != 0 {
			t.Errorf("%d suspects", got)
		}
	})
}

// TestSuspectIndexNames: indexes of other names, led by the key or not.
func TestSuspectIndexNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		create   []string
		suspects uint64
	}{
		{"unique index of another name", []string{"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE UNIQUE INDEX my_own ON t (id)"}, 1},
		{"named like the table", []string{"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE UNIQUE INDEX t_id ON t (id)"}, 1},
		{"led by the key", []string{"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE UNIQUE INDEX two ON t (id, a)"}, 1},
		{"led by another", []string{"CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX plain ON t (id)", "CREATE UNIQUE INDEX other ON t (a)"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				for _, q := range c.create {
					harness.Exec(t, s.Raw, q)
				}
				db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}}))
				ctx, rec := keyfill.Record(context.Background())
				if _, err := db.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (2, 3)")
				if _, err := db.ExecContext(ctx, "INSERT INTO t (a) VALUES (3)"); err == nil {
					t.Fatal("a duplicate")
				}
				if got := m.Stats().Tables["t"].Suspects; got != c.suspects {
					t.Errorf("%d suspects, want %d", got, c.suspects)
				}
				if last := rec.All()[1]; last.Outcome != keyfill.NotStored {
					t.Errorf("recorded %+v", last)
				}
			})
		})
	}
}
