package keys_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestPlaceText: an INSERT after a statement of its own text that changes the current
// schema is not filled from the state of the table that its name meant before.
//
//deviation:filled-inserts | An INSERT is refused if an earlier statement of its text may change the schema of names without a schema, and the key's state depends on that schema. | MySQL, MariaDB; PostgreSQL; SQL Server; Oracle | `USE t2; INSERT …`; `SET search_path = t2; INSERT …`; `EXECUTE AS USER = 'x'; INSERT …` | two texts
func TestPlaceText(t *testing.T) {
	t.Parallel()
	multi := harness.MySQLDefault
	multi.Name, multi.Params = "mysql-multi", "multiStatements=true"
	harness.Each(t, []harness.Engine{multi, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		all := schemas(t, s, 4)
		for i, kind := range []string{"sequence", "joined"} {
			one, two := all[2*i], all[2*i+1]
			harness.Exec(t, s.Raw, "CREATE TABLE "+one+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Exec(t, s.Raw, "CREATE TABLE "+two+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Exec(t, s.Raw, "INSERT INTO "+two+".ord VALUES (100, 0)")
			source := *placeSources[kind]
			db, _ := s.Open(t, harness.FillID("ord", policy.Table{InPlace: &source}))
			conn := harness.ConnOf(t, db)
			on(t, conn, use(s, one), "INSERT INTO ord (a) VALUES (1)")
			texts := []string{use(s, two) + "; INSERT INTO ord (a) VALUES (1)", "SELECT 1;" + use(s, two) + ";\nINSERT INTO ord (a) VALUES (1), (2)"}
			if s.IsPostgres() {
				texts = append(texts, "SELECT set_config('search_path', '"+two+"', false); INSERT INTO ord (a) VALUES (1)",
					"SET SCHEMA '"+two+"'; INSERT INTO ord (a) VALUES (1)")
			}
			for _, text := range texts {
				_, err := conn.ExecContext(context.Background(), text)
				if kind == "joined" && errors.Is(err, rewrite.ErrTogether) {
					continue // whatever the other statement is
				}
				harness.RefusedFor(t, text, err, rewrite.ErrPlace)
			}
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+two+".ord ORDER BY id"); !slices.Equal(got, []int64{100}) {
				t.Errorf("%s: the other schema has %v", kind, got)
			}
			// A statement that does not change it, or follows the INSERT, does no harm.
			if kind == "sequence" {
				on(t, conn, "SELECT 'USE x'; INSERT INTO ord (a) VALUES (1)", "/* USE x */ INSERT INTO ord (a) VALUES (1);"+use(s, two),
					use(s, one), "UPDATE ord SET a = 1; INSERT INTO ord (a) VALUES (1)")
			}
			conn.Close()
			db.Close()
		}
	})
}
