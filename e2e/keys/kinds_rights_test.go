package keys_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestKindsWithoutRights: the error for a role that may not read the tables of states
// names the missing right.
func TestKindsWithoutRights(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		if err := schema.Of(harness.StoreOf(t, s)).Ensure(context.Background()); err != nil {
			t.Fatal(err)
		}
		admin, err := s.Raw.Conn(context.Background()) // from before sessions are the role's
		if err != nil {
			t.Fatal(err)
		}
		database := harness.DatabaseOf(t, s)
		role := database + "_guest"
		harness.Must(t, admin, "CREATE ROLE "+role, "GRANT SELECT, INSERT ON t TO "+role, "ALTER DATABASE "+database+" SET role = "+role)
		t.Cleanup(func() {
			harness.Must(t, admin, "ALTER DATABASE "+database+" RESET role", "DROP OWNED BY "+role, "DROP ROLE "+role)
			admin.Close()
		})
		for _, kind := range []string{policy.KindSequence, policy.KindScatter, policy.KindRecycled} {
			db, _ := s.Open(t, harness.KeyKind{Source: harness.Mapped(kind, nil)}.Config(s.Engine))
			_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
			if !errors.Is(err, keysource.ErrStoreRefused) || !strings.Contains(err.Error(), "permission denied for table keyfill_sequences") {
				t.Errorf("%s: %v, want %v and the right", kind, err, keysource.ErrStoreRefused)
			}
		}
	})
}
