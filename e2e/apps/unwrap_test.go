package apps_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestUnwrapCopyFrom reaches pgx's bulk load, with keys from Mount.Keys.
func TestUnwrapCopyFrom(t *testing.T) {
	t.Parallel()
	const n = 100
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id UUID PRIMARY KEY, n INT)")
	db, m := s.Open(t, harness.FillID("people", policy.Table{}))
	ctx := context.Background()
	keys, err := m.Keys(ctx, "people", n)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Raw(func(dc any) error {
		if _, ok := dc.(*stdlib.Conn); ok {
			t.Error("Raw shows the driver's connection: Unwrap is not needed")
		}
		rows := pgx.CopyFromSlice(n, func(i int) ([]any, error) { return []any{keys[i], i}, nil })
		copied, err := keyfill.Unwrap(dc).(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{"people"}, []string{"id", "n"}, rows)
		if copied != n {
			t.Errorf("%d rows are copied, want %d", copied, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The connection goes on to fill.
	if _, err := conn.ExecContext(ctx, "INSERT INTO people (n) VALUES ($1)", n); err != nil {
		t.Fatal(err)
	}
	if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM (SELECT n, row_number() OVER (ORDER BY id) AS place FROM people) AS o WHERE place = n + 1"); got != n+1 {
		t.Errorf("%d rows are in the order of their keys, want %d", got, n+1)
	}
}

// TestUnwrapBackup reaches the backup of modernc.org/sqlite.
func TestUnwrapBackup(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	harness.Exec(t, db, "INSERT INTO people (name) VALUES ('a')")
	copied := filepath.Join(t.TempDir(), "copy.db")
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Raw(func(dc any) error {
		type backer interface {
			NewBackup(path string) (*sqlite.Backup, error)
		}
		b, err := keyfill.Unwrap(dc).(backer).NewBackup(copied)
		if err != nil {
			return err
		}
		for more := true; more; {
			if more, err = b.Step(-1); err != nil {
				return err
			}
		}
		return b.Finish()
	})
	if err != nil {
		t.Fatal(err)
	}
	backup := harness.Open(t, "sqlite", copied)
	if got, want := harness.Text(t, backup, "SELECT id FROM people"), harness.Text(t, s.Raw, "SELECT id FROM people"); got != want || !harness.IsKey(got) {
		t.Errorf("the copy has key %q, want %q", got, want)
	}
}
