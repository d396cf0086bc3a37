package statements_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// lateSets are changes by which the function of a row of VALUES returns a set. The
// schema own has functions of the same names that do.
var lateSets = []struct {
	name, insert string
	on           bool // the statement's own connection, else another one
	changes      []string
}{
	{"function", "INSERT INTO t (a) VALUES (made())", false, []string{"DROP FUNCTION made()", "CREATE FUNCTION made() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 UNION ALL SELECT 2'"}},
	{"function, here", "INSERT INTO t (a) VALUES (made())", true, []string{"DROP FUNCTION made()", "CREATE FUNCTION made() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 UNION ALL SELECT 2'"}},
	{"search path", "INSERT INTO t (a) VALUES (made())", true, []string{"SET search_path = own, public"}},
	{"search path in front of the server's", "INSERT INTO t (b) VALUES (upper('x'))", true, []string{"SET search_path = own, pg_catalog, public"}},
	{"search path by a function", "INSERT INTO t (a) VALUES (made())", true, []string{"DO $$BEGIN PERFORM set_config('search_path', 'own, public', false); END$$"}},
	{"search path in a block", "INSERT INTO t (b) VALUES (upper('x'))", true, []string{"DO $$BEGIN SET search_path = own, pg_catalog, public; END$$"}},
}

// TestValueSetsLate: where a call begins to return a set between two executions of a
// statement, prepared or not, the rows have keys of their own, or the INSERT fails.
func TestValueSetsLate(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, c := range lateSets {
			for _, prepared := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/prepared %v", c.name, prepared), func(t *testing.T) {
					ctx := context.Background()
					harness.Must(t, s.Raw, "DROP TABLE IF EXISTS t, keyfill_sequences", "DROP SCHEMA IF EXISTS own CASCADE", "DROP FUNCTION IF EXISTS made()",
						"CREATE TABLE t (id BIGINT NOT NULL, a INT, b TEXT)", "CREATE SCHEMA own", // no index keeps a key from being there twice
						"CREATE FUNCTION made() RETURNS int LANGUAGE sql AS 'SELECT 7'",
						"CREATE FUNCTION own.made() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 UNION ALL SELECT 2'",
						"CREATE FUNCTION own.upper(text) RETURNS SETOF text LANGUAGE sql AS 'SELECT $1 UNION ALL SELECT $1'")
					db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
					defer db.Close()
					conn := harness.ConnOf(t, db)
					defer conn.Close()
					insert := func() error { _, err := conn.ExecContext(ctx, c.insert); return err }
					if prepared {
						stmt, err := conn.PrepareContext(ctx, c.insert)
						if err != nil {
							t.Fatal(err)
						}
						defer stmt.Close()
						insert = func() error { _, err := stmt.ExecContext(ctx); return err }
					}
					for range 3 {
						if err := insert(); err != nil {
							t.Fatal(err)
						}
					}
					if c.on {
						harness.Must(t, conn, c.changes...)
					} else {
						harness.Must(t, s.Raw, c.changes...)
					}
					stored := 3
					for range 2 {
						err := insert()
						switch {
						case err == nil:
							stored += 2
						case !errors.Is(err, rewrite.ErrSet):
							t.Errorf("behind the change: %v, want none or %v", err, rewrite.ErrSet)
						}
					}
					keys := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
					distinct := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t")
					if len(keys) != stored || distinct != stored {
						t.Errorf("stored are %v, want %d keys, each once", keys, stored)
					}
				})
			}
		}
	})
}
