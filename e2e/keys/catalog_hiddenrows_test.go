package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestHiddenRows: row-level security hides the greatest key from the user. A state that
// would begin after the greatest key that is shown gives an error instead; with start:,
// or if every row is shown, the row is filled.
func TestHiddenRows(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"sequence":   harness.Counted(func(s *policy.Source) { s.Block = 3 }),
		"joined":     {Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true},
		"scope":      {Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "parent"}}, EnsureSchema: true},
		"recycled":   {Kind: policy.KindRecycled, EnsureSchema: true},
		"maxplusone": {Kind: policy.KindMaxPlusOne},
		"unlocked":   {Kind: policy.KindMaxPlusOne, Lock: policy.LockNone},
	}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		admin := harness.ConnOf(t, s.Raw)
		database := harness.DatabaseOf(t, s)
		role := database + "_tenant"
		harness.Must(t, admin, "CREATE ROLE "+role, "GRANT ALL ON SCHEMA public TO "+role)
		t.Cleanup(func() { harness.Must(t, admin, "DROP OWNED BY "+role, "DROP ROLE "+role) })
		for name, source := range sources {
			t.Run(name, func(t *testing.T) {
				table := "t_" + name
				index := "CREATE INDEX ON " + table + " (id)"
				if source.Kind == policy.KindMaxPlusOne {
					index = "CREATE UNIQUE INDEX ON " + table + " (id)"
				}
				harness.Must(t, admin, "CREATE TABLE "+table+" (id BIGINT NOT NULL, parent BIGINT NOT NULL, a INT)", index,
					"INSERT INTO "+table+" VALUES (1, 1, 1), (40, 1, 2)", "ALTER TABLE "+table+" ENABLE ROW LEVEL SECURITY",
					"CREATE POLICY p ON "+table+" USING (id < 40) WITH CHECK (true)", "GRANT ALL ON "+table+" TO "+role,
					"ALTER DATABASE "+database+" SET role = "+role)
				insert := "INSERT INTO " + table + " (parent, a) VALUES (1, 1)"
				db, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: &source}))
				_, err := db.Exec(insert)
				if !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), "row-level security") {
					t.Errorf("%v, want that rows are hidden", err)
				}
				begins := source
				if source.Kind == policy.KindSequence {
					begins.Start = 100
				} else {
					harness.Must(t, admin, "ALTER ROLE "+role+" BYPASSRLS")
					defer harness.Must(t, admin, "ALTER ROLE "+role+" NOBYPASSRLS")
				}
				db, _ = s.Open(t, harness.FillID(table, policy.Table{InPlace: &begins}))
				harness.Exec(t, db, insert)
				harness.Must(t, admin, "ALTER DATABASE "+database+" RESET role")
				var got int
				if err := admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE id > 40").Scan(&got); err != nil || got != 1 {
					t.Errorf("%d rows above the hidden key, want 1; error %v", got, err)
				}
			})
		}
	})
}
