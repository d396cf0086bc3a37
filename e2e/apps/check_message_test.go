package apps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestFirstMistakes: the error of a first INSERT says of a beginner's mistake what check
// says, and ends in no advice for another mistake.
func TestFirstMistakes(t *testing.T) {
	t.Parallel()
	serial := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "bigserial PRIMARY KEY"}
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, "CREATE TABLE orders (order_id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE old (id "+serial[s.Dialect.Name]+", a INT)")
		fits := "use source identity"
		if s.IsPostgres() {
			fits = "use source native"
		}
		for _, c := range []struct{ name, policy, insert, says string }{
			{"a column", "  orders: {column: ordr_id, source: {kind: sequence, ensure_schema: true}}\n", "INSERT INTO orders (a) VALUES (1)", `did you mean "order_id"?`},
			{"a table", "  ordres: {column: order_id, source: {kind: sequence, ensure_schema: true}}\n", "INSERT INTO ordres (a) VALUES (1)", `did you mean "orders"?`},
			{"a column that the engine fills", "  old: {column: id, source: {kind: sequence, ensure_schema: true}}\n", "INSERT INTO old (a) VALUES (1)", fits},
		} {
			db, m := s.Open(t, parsed(t, c.policy))
			harness.Eventually(t, func() error { // a busy machine may not read the other names in time, or ask a pooler
				_, err := db.Exec(c.insert)
				if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "emporary") {
					return fmt.Errorf("%s: %v, want %q", c.name, err, c.says)
				}
				found, err := m.Check(t.Context())
				if err != nil || len(found) == 0 || !strings.Contains(found[0].Message+found[0].Remedy, strings.TrimPrefix(c.says, "use ")) {
					return fmt.Errorf("%s: check says %+v, %v", c.name, found, err)
				}
				return nil
			})
		}
	})
}
