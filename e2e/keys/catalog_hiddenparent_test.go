package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestHiddenParents: numbers within a parent go on under row-level security where a unique
// index keeps them from being stored twice, as tenants have it that see their own rows.
func TestHiddenParents(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		admin := harness.ConnOf(t, s.Raw)
		database := harness.DatabaseOf(t, s)
		role := database + "_parent"
		harness.Must(t, admin, "CREATE TABLE t (tenant BIGINT NOT NULL, id BIGINT NOT NULL, a INT, UNIQUE (id, tenant))",
			"INSERT INTO t VALUES (7, 4, 1), (8, 40, 1)", "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON t USING (tenant = 7)",
			"CREATE ROLE "+role, "GRANT ALL ON SCHEMA public TO "+role, "GRANT ALL ON t TO "+role, "ALTER DATABASE "+database+" SET role = "+role)
		t.Cleanup(func() {
			harness.Must(t, admin, "ALTER DATABASE "+database+" RESET role", "DROP OWNED BY "+role, "DROP ROLE "+role)
		})
		db, _ := s.Open(t, harness.InPlace(policy.Source{Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "tenant"}}, EnsureSchema: true}))
		for range 2 {
			harness.Exec(t, db, "INSERT INTO t (tenant, a) VALUES (7, 1)")
		}
		var got int64
		if err := admin.QueryRowContext(t.Context(), "SELECT MAX(id) FROM t WHERE tenant = 7").Scan(&got); err != nil || got != 6 {
			t.Errorf("the tenant has come to %d, want 6; error %v", got, err)
		}
	})
}
