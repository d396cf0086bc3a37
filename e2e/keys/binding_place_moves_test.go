package keys_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestPlaceMovesUnseen: what the name of a table means has changed where what was known of
// it was kept. The next INSERT is stored where it belongs, with that table's numbers and
// its columns, or is an error in a transaction, where the proof has failed.
func TestPlaceMovesUnseen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		steps      []string // on the connection that fills; steps of another one begin with "-- "
		rows       string   // the query for what is stored
		want       string   // empty for an error of the proof
	}{
		{"the columns of the other table", "INSERT INTO t VALUES (DEFAULT, 7, 8)",
			[]string{"SET search_path = a, public", "INSERT INTO t VALUES (DEFAULT, 1, 2)", "INSERT INTO moving (n) VALUES (1)"},
			"SELECT concat_ws(' ', id, n, m) FROM b.t WHERE n IN (7, 8)", "501 8 7"},
		{"a transaction that has changed tables", "INSERT INTO t (n) VALUES (7)",
			[]string{"SET search_path = a, public", "BEGIN", "CREATE TABLE public.other (n INT)", "INSERT INTO t (n) VALUES (1)", "INSERT INTO moving (n) VALUES (1)"},
			"", ""},
		{"a table of another connection", "INSERT INTO t (n) VALUES (7)",
			[]string{"SET search_path = c, a, public", "INSERT INTO t (n) VALUES (1)", "-- CREATE TABLE c.t (id BIGINT PRIMARY KEY, n INT, m INT)", "-- INSERT INTO c.t VALUES (700)"},
			"SELECT CAST(id AS text) FROM c.t WHERE n = 7", "701"},
		{"RENAME by another connection", "INSERT INTO t VALUES (DEFAULT, 7, 8)",
			[]string{"SET search_path = b, a, public", "INSERT INTO t VALUES (DEFAULT, 2, 1)", "-- ALTER TABLE b.t RENAME TO old"},
			"SELECT concat_ws(' ', id, n, m) FROM a.t WHERE n IN (7, 8)", "9 7 8"},
		{"RENAME of the earlier one", "INSERT INTO t VALUES (DEFAULT, 7, 8)",
			[]string{"SET search_path = b, a, public", "INSERT INTO t VALUES (DEFAULT, 2, 1)", "ALTER TABLE b.t RENAME TO old"},
			"SELECT concat_ws(' ', id, n, m) FROM a.t WHERE n IN (7, 8)", "9 7 8"},
		{"DROP of the earlier one", "INSERT INTO t VALUES (DEFAULT, 7, 8)",
			[]string{"SET search_path = b, a, public", "INSERT INTO t VALUES (DEFAULT, 2, 1)", "DROP TABLE b.t"},
			"SELECT concat_ws(' ', id, n, m) FROM a.t WHERE n IN (7, 8)", "9 7 8"},
		{"RENAME, and a trigger", "INSERT INTO t (n) VALUES (7)",
			[]string{"SET search_path = a, public", "INSERT INTO t (n) VALUES (1)", "ALTER TABLE a.t RENAME TO old", "INSERT INTO moving (n) VALUES (1)"},
			"SELECT CAST(id AS text) FROM b.t WHERE n = 7", "501"},
		{"DROP by another connection, and a trigger", "INSERT INTO t (n) VALUES (7)",
			[]string{"SET search_path = a, public", "INSERT INTO t (n) VALUES (1)", "-- DROP TABLE a.t", "INSERT INTO moving (n) VALUES (1)"},
			"SELECT CAST(id AS text) FROM b.t WHERE n = 7", "501"},
		{"a trigger, and a table of another connection there", "INSERT INTO t (n) VALUES (7)",
			[]string{"-- CREATE TABLE public.leads (path text)",
				"-- CREATE FUNCTION public.leads() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('search_path', NEW.path, false); RETURN NEW; END $$",
				"-- CREATE TRIGGER leads BEFORE INSERT ON public.leads FOR EACH ROW EXECUTE FUNCTION public.leads()",
				"SET search_path = c, a, public", "INSERT INTO t (n) VALUES (1)", "SET search_path = a, public", "INSERT INTO t (n) VALUES (1)",
				"-- CREATE TABLE c.t (id BIGINT PRIMARY KEY, n INT, m INT)", "-- INSERT INTO c.t VALUES (700)", "INSERT INTO public.leads VALUES ('c, a, public')"},
			"SELECT CAST(id AS text) FROM c.t WHERE n = 7", "701"},
		{"DROP that is rolled back", "INSERT INTO t VALUES (DEFAULT, 7, 8)",
			[]string{"SET search_path = b, a, public", "INSERT INTO t VALUES (DEFAULT, 2, 1)", "BEGIN", "DROP TABLE b.t", "INSERT INTO t VALUES (DEFAULT, 1, 2)", "ROLLBACK"},
			"SELECT concat_ws(' ', id, n, m) FROM b.t WHERE n IN (7, 8)", "502 8 7"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			harness.Each(t, proofEngines, func(t *testing.T, s *harness.Scratch) {
				twoTenants(t, s)
				for _, q := range []string{"CREATE SCHEMA c", "ALTER TABLE a.t ADD COLUMN m INT", "ALTER TABLE b.t DROP COLUMN n", "ALTER TABLE b.t ADD COLUMN m INT", "ALTER TABLE b.t ADD COLUMN n INT"} {
					harness.Exec(t, s.Raw, q)
				}
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 1}}))
				conn := harness.ConnOf(t, db)
				for _, step := range c.steps {
					if other, ok := strings.CutPrefix(step, "-- "); ok {
						harness.Exec(t, s.Raw, other)
						continue
					}
					on(t, conn, step)
				}
				_, err := conn.ExecContext(t.Context(), c.text)
				if c.want == "" {
					if err == nil || !strings.Contains(err.Error(), "#name-moved") {
						t.Errorf("the error is %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := harness.Text(t, s.Raw, c.rows); got != c.want {
					t.Errorf("%s: %q, want %q", c.rows, got, c.want)
				}
			})
		})
	}
}
