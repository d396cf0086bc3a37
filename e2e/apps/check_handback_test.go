package apps_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// TestHandback goes the way of keyfill plan handback and asks at each step what check
// says of it: only when keyfill has reserved nothing for a day may the entry go.
func TestHandback(t *testing.T) {
	t.Parallel()
	const (
		there = "  orders: {column: id, source: {kind: sequence, ensure_schema: true, start: 100, below: 1000000}}\n"
		back  = "  orders: {column: id, mode: \"off\", source: {kind: sequence}}\n"
	)
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		column := map[string]string{"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "bigserial PRIMARY KEY"}
		raise := map[string]string{
			"sqlite": "INSERT INTO sqlite_sequence (name, seq) SELECT 'orders', %[2]d", "mariadb": "ALTER TABLE orders AUTO_INCREMENT = %[1]d",
			"postgres": "SELECT setval('orders_id_seq', %[1]d, false)",
		}[s.Dialect.Name]
		executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id "+column[s.Dialect.Name]+", a INT)", "CREATE TABLE other (id CHAR(36) PRIMARY KEY)", fmt.Sprintf(raise, 1_000_000, 999_999))...)
		db, _ := s.Open(t, parsed(t, there))
		harness.Exec(t, db, "INSERT INTO orders (a) VALUES (1)")

		soon, later := time.Now, func() time.Time { return time.Now().Add(25 * time.Hour) }
		want := func(text string, now func() time.Time, severity, says string) {
			t.Helper()
			found, _ := lookWith(t, s, text, check.Options{Connector: s.Connector, Now: now})
			for _, f := range found {
				if f.Severity == check.Error && f.Rule != "handback" {
					t.Errorf("%+v", f)
				}
			}
			got := ruled(found, "handback")
			switch {
			case says == "" && len(got) == 0:
			case len(got) != 1, got[0].Severity != severity, !strings.Contains(got[0].Message, says), got[0].Table != "orders", got[0].Column != "id", got[0].Line != 3:
				t.Errorf("%+v, want %s %q", found, severity, says)
			}
		}
		want(there, soon, "", "")  // keyfill fills the gap
		want(there, later, "", "") // nothing else numbers rows yet
		want(back, soon, check.Info, "is not given back yet")
		executeAll(t, s, "INSERT INTO orders (a) VALUES (2)") // by the engine
		want(there, soon, "", "")
		want(there, later, check.Info, "not needed any more")
		want(back, soon, check.Info, "has reserved numbers of it last at")
		want(back, later, check.Info, "is given back")
		executeAll(t, s, "INSERT INTO keyfill_series (name, series_first, series_last, next_value, owner, epoch, leased_until, updated_at) VALUES ('orders.id', 1, 10, 5, 'host-7', 1, '2999-01-01', '2999-01-01')")
		want(back, later, check.Info, "host-7 holds a lease")
		executeAll(t, s, "DELETE FROM keyfill_series")
		want("  other: {column: id, source: uuidv7}\n", later, "", "") // the remedy: the entry is removed
		executeAll(t, s, "UPDATE keyfill_sequences SET next_value = 2000000")
		want(back, later, check.Error, "same key")
	})
}
