package apps_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// TestHandbackOfSharedState asks about states whose rows name no column, since the state
// is bound to the column by a row of its own, under a name that may be too long to be
// whole.
func TestHandbackOfSharedState(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"numbers", strings.Repeat("numbers-", 22), "numbers for " + strings.Repeat("x", 160), strings.Repeat("y", 183)} {
		source := func(more string) string { return fmt.Sprintf("source: {kind: sequence, name: %q%s}}\n", state, more) }
		there := "  orders: {column: id, " + source(", ensure_schema: true, start: 100, below: 1000000")
		for _, back := range []string{"  orders: {column: id, mode: \"off\", " + source(""), "  orders: {column: id, mode: \"off\", source: {kind: sequence}}\n"} {
			t.Run(fmt.Sprint(len(state), strings.Contains(back, "name:")), func(t *testing.T) {
				harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
					column := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "bigserial PRIMARY KEY"}
					raise := map[string]string{
						"sqlite": "INSERT INTO sqlite_sequence (name, seq) SELECT 'orders', 999999", "mariadb": "ALTER TABLE orders AUTO_INCREMENT = 1000000",
						"postgres": "SELECT setval('orders_id_seq', 1000000, false)",
					}
					executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id "+column[s.Dialect.Name]+", a INT)", raise[s.Dialect.Name])...)
					db, _ := s.Open(t, parsed(t, there))
					harness.Exec(t, db, "INSERT INTO orders (a) VALUES (1)")
					later := func() time.Time { return time.Now().Add(25 * time.Hour) }
					want := func(now func() time.Time, severity, says string) {
						t.Helper()
						found, _ := lookWith(t, s, back, check.Options{Connector: s.Connector, Now: now})
						got := ruled(found, "handback")
						if len(got) != 1 || got[0].Severity != severity || !strings.Contains(got[0].Message, says) {
							t.Errorf("%+v, want %s %q", found, severity, says)
						}
					}
					want(later, check.Info, "is given back")
					executeAll(t, s, "UPDATE keyfill_sequences SET updated_at = '2001-02-03' WHERE parameters = 'binding'")
					want(time.Now, check.Info, "is not given back yet")
					executeAll(t, s, "UPDATE keyfill_sequences SET next_value = 2000000 WHERE parameters <> 'binding'")
					want(later, check.Error, "same key")
				})
			})
		}
	}
}
