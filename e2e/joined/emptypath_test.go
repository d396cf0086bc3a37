package joined_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestEmptyPathKeyTable: a key table of the application's that the policy names with its
// schema is used where the search path is empty and keyfill has no tables.
func TestEmptyPathKeyTable(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE SCHEMA app", "CREATE TABLE app.t (id BIGINT PRIMARY KEY, a INT)",
			"CREATE TABLE app.counters (name TEXT PRIMARY KEY, next BIGINT NOT NULL)", "INSERT INTO app.counters VALUES ('t', 1)",
			"ALTER DATABASE "+harness.DatabaseOf(t, s)+" SET search_path = ''")
		db, _ := s.Open(t, harness.FillID("app.t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, Transaction: policy.TransactionJoined,
			Table: &policy.KeyTable{Name: "app.counters", Key: "name", Row: "t", Value: "next", Stored: policy.StoredNext},
		}}))
		for range 2 {
			harness.Exec(t, db, "INSERT INTO app.t (a) VALUES (1)")
		}
		if got := harness.Count(t, s.Raw, "SELECT next FROM app.counters"); got != 3 {
			t.Errorf("the next number is %d, want 3", got)
		}
	})
}
