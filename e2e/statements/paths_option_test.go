package statements_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestOptionInKeysPlace: what pgx makes of a name in the key's place is not seen,
// so that it may be no key.
func TestOptionInKeysPlace(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxSimple}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id TEXT, a TEXT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		for _, id := range []any{nil, "", "x"} {
			_, err := db.Exec("INSERT INTO t (id, a) VALUES (@id, @a)", pgx.NamedArgs{"id": id, "a": "a"})
			if !errors.Is(err, rewrite.ErrOption) {
				t.Errorf("%v: %v", id, err)
			}
		}
		if _, err := db.Exec("INSERT INTO t (id, a) VALUES ('own', 'a')", pgx.QueryExecModeExec); err != nil {
			t.Errorf("a key as a literal: %v", err)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestLexerResetSession: what a session was set to is asked again when the
// connection comes back from the pool, where it may have been reset.
func TestLexerResetSession(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id TEXT, a TEXT)")
	config, err := pgx.ParseConfig(harness.PgxDefault.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	own := stdlib.GetConnector(*config, stdlib.OptionResetSession(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "RESET ALL")
		return err
	}))
	db, _ := harness.OpenConnector(t, own, harness.FillID("t", policy.Table{}))
	db.SetMaxOpenConns(1)
	harness.Exec(t, db, "CREATE TABLE t (id TEXT, a TEXT)")
	const query = `INSERT INTO t (id, a) VALUES (NULL, '\'), (NULL, ''') --')`
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"SET standard_conforming_strings = off", query} {
		if _, err := c.ExecContext(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	harness.Exec(t, db, query)
	if n := harness.Count(t, db, "SELECT COUNT(*) FROM t WHERE id IS NULL"); n != 0 {
		t.Errorf("%d rows without a key", n)
	}
	if n := harness.Count(t, db, "SELECT COUNT(*) FROM t"); n != 3 {
		t.Errorf("%d rows", n)
	}
}
