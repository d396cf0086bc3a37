package e2e_test

import (
	"bytes"
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// TestSuspect: a key that is in the table already drops the block in hand, is
// counted and logged, and the caller gets the driver's own error. What another
// unique index finds is the caller's business.
func TestSuspect(t *testing.T) {
	each(t, []engine{sqliteFile, sqliteMemory, mysqlDefault, mysqlInterp, pgxDefault, pgxSimple, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, u INT UNIQUE, a INT)")
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		db, m := s.openWith(t, keyfill.Options{Policy: blocks("t", 100), Logger: logger})
		insert := s.placeholders("INSERT INTO t (u, a) VALUES (?, 7654321)")
		suspects := func(want uint64) {
			t.Helper()
			if got := m.Stats().Tables["t"].Suspects; got != want {
				t.Errorf("%d suspects are counted, want %d", got, want)
			}
			if got := strings.Count(log.String(), "source suspect"); got != int(want) {
				t.Errorf("%d are logged, want %d: %s", got, want, log.String())
			}
		}
		exec(t, db, insert, 1)
		_, want := s.raw.Exec("INSERT INTO t (id, u) VALUES (1, 50)")

		// Another index: the block goes on.
		if _, err := db.Exec(insert, 1); err == nil {
			t.Fatal("a duplicate")
		}
		suspects(0)
		exec(t, db, insert, 2)
		if got := count(t, s.raw, "SELECT id FROM t WHERE u = 2"); got != 3 {
			t.Errorf("after a duplicate of another index the key is %d, want 3", got)
		}

		// The key's: somebody else has 4, and perhaps more.
		exec(t, s.raw, "INSERT INTO t (id, u) VALUES (4, 60)")
		_, err := db.Exec(insert, 3)
		if err == nil || reflect.TypeOf(err) != reflect.TypeOf(want) {
			t.Fatalf("the error is %T %[1]v, want a %T", err, want)
		}
		suspects(1)
		exec(t, db, insert, 4)
		if got := count(t, s.raw, "SELECT id FROM t WHERE u = 4"); got != 101 {
			t.Errorf("after a suspect the key is %d, want that of a new block, 101", got)
		}

		// Prepared, and through Query.
		exec(t, s.raw, "INSERT INTO t (id, u) VALUES (102, 61)")
		if _, err := preparedExec(db, insert, 5); err == nil {
			t.Error("prepared: a duplicate")
		}
		suspects(2)
		exec(t, db, insert, 8)
		exec(t, s.raw, "INSERT INTO t (id, u) VALUES (202, 62)")
		if err := drainContext(context.Background(), db, insert+" RETURNING id", 6); err == nil {
			t.Error("through Query: a duplicate")
		}
		suspects(3)
		exec(t, db, insert, 7)
		if got := count(t, s.raw, "SELECT id FROM t WHERE u = 7"); got != 301 {
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
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, m := s.open(t, blocks("t", 100))
		exec(t, db, "INSERT INTO t (a) VALUES (1)")
		for _, q := range []string{"INSERT INTO t (id, a) VALUES (1, 1)", s.placeholders("INSERT INTO t (id, a) VALUES (?, 1)")} {
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
			each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
				for _, q := range c.create {
					exec(t, s.raw, q)
				}
				db, m := s.open(t, fillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}}))
				ctx, rec := keyfill.Record(context.Background())
				if _, err := db.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				exec(t, s.raw, "INSERT INTO t (id, a) VALUES (2, 3)")
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
