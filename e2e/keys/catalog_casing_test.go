package keys_test

import (
	"context"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestCasing: if the names of tables are case-sensitive on the server, ORDERS is not the
// table orders, which the policy names; nor is Orders another entry's.
//
//deviation:filled-inserts | If a table's name is not in lower case, in the policy or in an INSERT, the server is asked once whether case counts. Before that, an INSERT with such a name that reads `ROW_COUNT()` is refused. | MySQL, MariaDB | `SELECT @@lower_case_table_names` | names in lower case
func TestCasing(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		if harness.Count(t, s.Raw, "SELECT @@lower_case_table_names") != 0 {
			harness.Skip(t, "the server compares names of tables without case")
		}
		for _, name := range []string{"orders", "ORDERS", "Rows2", "`rows2`", "log_a", "log_A"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+name+" (id BIGINT, a INT)")
		}
		for _, source := range []policy.Source{
			{Kind: policy.KindSequence, EnsureSchema: true, Start: 1000, Exclusive: true, Name: "{table}-x"},
			{Kind: policy.KindSequence, EnsureSchema: true, Start: 1, Exclusive: true},
		} {
			cfg := &policy.Config{Tables: map[string]policy.Table{}}
			for _, name := range []string{"orders", "Rows2", "log_?"} {
				cfg.Tables[name] = policy.Table{Column: "id", InPlace: &source}
			}
			db, _ := s.Open(t, cfg)
			conn := harness.ConnOf(t, db)
			for _, name := range []string{"ORDERS", "orders", "`ORDERS`", "`rows2`", "Rows2", "`Rows2`", "log_a", "log_A", "LOG_A"} {
				_, err := conn.ExecContext(context.Background(), s.Placeholders("INSERT INTO "+name+" (a) VALUES (?)"), 1)
				if (err != nil) != (name == "LOG_A") {
					t.Fatalf("%s: %v", name, err)
				}
			}
			conn.Close()
			db.Close()
		}
		for name, want := range map[string]int{"orders": 2, "ORDERS": 0, "Rows2": 4, "`rows2`": 0, "log_a": 2, "log_A": 2} {
			if got := harness.Count(t, s.Raw, "SELECT COUNT(id) FROM "+name); got != want {
				t.Errorf("%s has %d keys, want %d", name, got, want)
			}
		}
		if a, b := harness.IntegersOf(t, s.Raw, "SELECT id FROM log_a WHERE id < 100"), harness.IntegersOf(t, s.Raw, "SELECT id FROM log_A WHERE id < 100"); !slices.Equal(a, b) || len(a) != 1 || a[0] != 1 {
			t.Errorf("log_a has %v and log_A %v: each has a state of its own", a, b)
		}
	})
}
