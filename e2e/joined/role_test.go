package joined_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestJoinedRole: in a session that has set a role, whose rights do not reach to the row
// of the numbering, an INSERT is refused before anything is sent that would abort its
// transaction. A role whose rights reach is not refused, however narrow they are.
func TestJoinedRole(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		db, _ := s.Open(t, harness.JoinedID("t"))
		harness.Exec(t, db, harness.InsertT)
		role := func(grants ...string) string {
			name := "role_" + strings.ToLower(rand.Text())
			harness.Must(t, s.Raw, "CREATE ROLE "+name, "GRANT SELECT, INSERT ON t TO "+name)
			t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+name, "DROP ROLE "+name) })
			for _, grant := range grants {
				harness.Must(t, s.Raw, strings.ReplaceAll(grant, "{role}", name))
			}
			return name
		}
		may := role("GRANT SELECT (name, next_value, incarnation), UPDATE (next_value, updated_at) ON keyfill_sequences TO {role}")
		reads := role("GRANT SELECT ON keyfill_sequences TO {role}")
		writes := role("GRANT SELECT (name, next_value, incarnation), UPDATE (next_value) ON keyfill_sequences TO {role}")
		none := role()
		for _, c := range []struct {
			set     string
			refused bool
		}{
			{"SET LOCAL ROLE " + may, false},
			{"SET LOCAL SESSION AUTHORIZATION " + may, false},
			{"SET LOCAL ROLE " + none, true},
			{"SET LOCAL ROLE " + reads, true},
			{"SET LOCAL ROLE " + writes, true},
			{"SELECT set_config('role', '" + none + "', true)", true},
			{"SET LOCAL SESSION AUTHORIZATION " + none, true},
			{"SET LOCAL ROLE " + may, false},
		} {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(c.set); err != nil {
				t.Fatalf("%s: %v", c.set, err)
			}
			_, err = tx.Exec(harness.InsertT)
			if (err != nil) != c.refused || c.refused && !errors.Is(err, store.ErrRights) {
				t.Errorf("%s: %v, want refused: %t", c.set, err, c.refused)
			}
			reset := "RESET ROLE"
			if strings.Contains(c.set, "AUTHORIZATION") {
				reset = "RESET SESSION AUTHORIZATION"
			}
			for _, query := range []string{reset, harness.InsertT} {
				if _, err := tx.Exec(query); err != nil {
					t.Fatalf("%s, %s: %v", c.set, query, err)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		// A right that is taken away costs one transaction.
		harness.Must(t, s.Raw, "REVOKE ALL ON keyfill_sequences FROM "+may, "REVOKE UPDATE (next_value, updated_at) ON keyfill_sequences FROM "+may)
		for i := range 2 {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("SET LOCAL ROLE " + may); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(harness.InsertT); err == nil {
				t.Error("it was filled without the right")
			}
			if _, err := tx.Exec("SELECT 1"); (err == nil) != (i == 1) {
				t.Errorf("transaction %d behind the revoked right: %v", i, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT MAX(id) - COUNT(*) FROM t"); n != 0 {
			t.Errorf("%d numbers are no row's", n)
		}
	})
}

// TestJoinedRoleElsewhere: the rights on keyfill's own table count for no numbering that is
// kept elsewhere.
func TestJoinedRoleElsewhere(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.CreateIDs(t, s, "t", "u")
	role := "role_" + strings.ToLower(rand.Text())
	harness.Must(t, s.Raw, "CREATE TABLE counters (name VARCHAR(40) PRIMARY KEY, next BIGINT NOT NULL)", "INSERT INTO counters VALUES ('t', 1)",
		"CREATE ROLE "+role, "GRANT SELECT, INSERT ON t, u TO "+role, "GRANT SELECT, UPDATE ON counters TO "+role)
	t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	cfg := harness.JoinedID("u")
	cfg.Tables["t"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Table: &policy.KeyTable{Name: "counters", Key: "name", Row: "t", Value: "next", Stored: policy.StoredNext}}}
	db, _ := s.Open(t, cfg)
	harness.Exec(t, db, "INSERT INTO u (a) VALUES (1)")
	harness.Exec(t, db, harness.InsertT)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, query := range []string{"SET LOCAL ROLE " + role, harness.InsertT} {
		if _, err := tx.Exec(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
