package e2e_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestPlaceText: an INSERT behind a statement of its own text that changes the current
// schema is not filled from the state of the table that its name meant before.
func TestPlaceText(t *testing.T) {
	multi := mysqlDefault
	multi.name, multi.params = "mysql-multi", "multiStatements=true"
	each(t, []engine{multi, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		all := s.schemas(t, 4)
		for i, kind := range []string{"sequence", "joined"} {
			one, two := all[2*i], all[2*i+1]
			exec(t, s.raw, "CREATE TABLE "+one+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			exec(t, s.raw, "CREATE TABLE "+two+".ord (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			exec(t, s.raw, "INSERT INTO "+two+".ord VALUES (100, 0)")
			source := *placeSources[kind]
			db, _ := s.open(t, fillID("ord", policy.Table{InPlace: &source}))
			conn := placeConn(t, db)
			on(t, conn, s.use(one), "INSERT INTO ord (a) VALUES (1)")
			texts := []string{s.use(two) + "; INSERT INTO ord (a) VALUES (1)", "SELECT 1;" + s.use(two) + ";\nINSERT INTO ord (a) VALUES (1), (2)"}
			if s.isPostgres() {
				texts = append(texts, "SELECT set_config('search_path', '"+two+"', false); INSERT INTO ord (a) VALUES (1)",
					"SET SCHEMA '"+two+"'; INSERT INTO ord (a) VALUES (1)")
			}
			for _, text := range texts {
				_, err := conn.ExecContext(context.Background(), text)
				if kind == "joined" && errors.Is(err, rewrite.ErrTogether) {
					continue // whatever the other statement is
				}
				refusedFor(t, text, err, rewrite.ErrPlace)
			}
			if got := integersOf(t, s.raw, "SELECT id FROM "+two+".ord ORDER BY id"); !slices.Equal(got, []int64{100}) {
				t.Errorf("%s: the other schema has %v", kind, got)
			}
			// What does not change it, or comes behind, does no harm.
			if kind == "sequence" {
				on(t, conn, "SELECT 'USE x'; INSERT INTO ord (a) VALUES (1)", "/* USE x */ INSERT INTO ord (a) VALUES (1);"+s.use(two),
					s.use(one), "UPDATE ord SET a = 1; INSERT INTO ord (a) VALUES (1)")
			}
			conn.Close()
			db.Close()
		}
	})
}
