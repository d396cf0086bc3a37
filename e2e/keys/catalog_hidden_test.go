package keys_test

import (
	"context"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestHiddenStates: PostgreSQL leaves a schema out of the search path that a role may not
// use. Where it holds the tables of the states, no second ones are made or advised, from
// which the numbers would come again.
func TestHiddenStates(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		admin := harness.ConnOf(t, s.Raw)
		database := harness.DatabaseOf(t, s)
		role := database + "_guest"
		harness.Must(t, admin, `CREATE SCHEMA "St"`, "CREATE TABLE public.t (id BIGINT NOT NULL, a INT)", "CREATE INDEX ON public.t (id)",
			`ALTER DATABASE `+database+` SET search_path = "St", public`)
		db, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block = 1 })))
		harness.Exec(t, db, harness.InsertT)
		harness.Must(t, admin, "CREATE ROLE "+role, "GRANT ALL ON SCHEMA public TO "+role, "GRANT ALL ON public.t TO "+role,
			"ALTER DATABASE "+database+" SET role = "+role)
		t.Cleanup(func() {
			harness.Must(t, admin, "ALTER DATABASE "+database+" RESET role", "DROP OWNED BY "+role, "DROP ROLE "+role)
		})
		for _, makes := range []bool{true, false} {
			guest, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block, s.EnsureSchema = 1, makes })))
			_, err := guest.Exec(harness.InsertT)
			if err == nil {
				t.Fatal("it was filled")
			}
			for _, part := range []string{`"St"`, "GRANT USAGE"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: does not say %s", err, part)
				}
			}
			if strings.Contains(err.Error(), "ensure_schema") {
				t.Errorf("%v: advises to make them", err)
			}
		}
		var made bool
		if err := admin.QueryRowContext(ctx, "SELECT to_regclass('public.keyfill_sequences') IS NOT NULL").Scan(&made); err != nil || made {
			t.Errorf("made in public: %t, error %v", made, err)
		}
		harness.Must(t, admin, `GRANT USAGE ON SCHEMA "St" TO `+role, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "St" TO `+role)
		guest, _ := s.Open(t, harness.InPlace(harness.Counted(func(s *policy.Source) { s.Block = 1 })))
		harness.Exec(t, guest, harness.InsertT)
		if got := harness.Count(t, s.Raw, "SELECT MAX(id) FROM public.t"); got != 2 {
			t.Errorf("the greatest key is %d, want 2", got)
		}
	})
}
