package apps_test

import (
	"context"
	"errors"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestNoTables: with a policy that has no table every statement goes to the driver as it
// is, and the check finds no error, but the tables that have no rule yet.
func TestNoTables(t *testing.T) {
	t.Parallel()
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		makeClean(t, s)
		db, m := s.Open(t, parsed(t, ""))
		const key = "01890a5d-ac96-774b-bcce-b302099a8057"
		if _, err := db.Exec("INSERT INTO customers (id, name) VALUES ('" + key + "', 'a')"); err != nil {
			t.Fatal(err)
		}
		var ours *keyfill.Error
		if _, err := db.Exec("INSERT INTO customers (name) VALUES ('b')"); err == nil || errors.As(err, &ours) {
			t.Errorf("an INSERT without a key gives %v, want the engine's error", err)
		}
		var id, name string
		if err := db.QueryRow("SELECT id, name FROM customers").Scan(&id, &name); err != nil || id != key || name != "a" {
			t.Errorf("the row is %s, %s, %v", id, name, err)
		}
		found, err := m.Check(context.Background())
		if err != nil || len(found) == 0 {
			t.Fatalf("Check = %+v, %v", found, err)
		}
		for _, f := range found {
			if f.Rule != "no-rule" {
				t.Errorf("%+v", f)
			}
		}
	})
}
