package joined_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestJoinedDrawnInVain: a statement draws a number in its transaction, and another
// one cannot be drawn, by an error of the server on another connection. The
// transaction must not commit the first one without a row.
func TestJoinedDrawnInVain(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, table := range []string{"parents", "children"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		joined := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}
		cfg := harness.FillID("parents", policy.Table{InPlace: &joined})
		cfg.Tables["children"] = harness.FillID("children", policy.Table{InPlace: &joined}).Tables["children"]
		first, _ := s.Open(t, cfg)
		harness.Exec(t, first, "INSERT INTO parents (a) VALUES (1)")

		// A user that may not make the row of the children.
		admin, err := s.Raw.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		database := harness.DatabaseOf(t, s)
		role := database + "_guest"
		harness.Must(t, admin, "CREATE ROLE "+role, "GRANT ALL ON parents, children TO "+role,
			"GRANT SELECT, UPDATE ON keyfill_sequences TO "+role, "GRANT SELECT ON keyfill_workers, keyfill_series TO "+role,
			"ALTER DATABASE "+database+" SET role = "+role)
		t.Cleanup(func() {
			harness.Must(t, admin, "ALTER DATABASE "+database+" RESET role", "DROP OWNED BY "+role, "DROP ROLE "+role)
			admin.Close()
		})
		db, _ := s.Open(t, cfg)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		_, err = tx.Exec("WITH p AS (INSERT INTO parents (a) VALUES (2) RETURNING id) INSERT INTO children (a) VALUES (3)")
		if err == nil {
			t.Fatal("the row of the children was made without the right")
		}
		if err := tx.Commit(); err == nil {
			t.Errorf("the transaction commits what was drawn before %v", err)
		}
		harness.Exec(t, db, "INSERT INTO parents (a) VALUES (4)")
		if got := harness.KeysOf(t, admin, context.Background(), "SELECT id FROM parents ORDER BY id"); len(got) != 2 || got[1] != "2" {
			t.Errorf("the numbers are %v, want 1 and 2", got)
		}
	})
}
