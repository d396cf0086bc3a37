package joined_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// TestJoinedReadOnlyByDefault: in a session whose transactions are read only by default,
// an INSERT outside of a transaction fails as it does with the plain driver, though
// keyfill begins a transaction for it: lib/pq begins one that may write by default.
//
//deviation:keys-of-a-transaction | Before the first INSERT with a key of its transaction outside of transactions, and after a text that may have changed it, a session of lib/pq is asked whether its transactions are read only by default: the driver would begin one that may write. | PostgreSQL | `SELECT current_setting('default_transaction_read_only')` | –
func TestJoinedReadOnlyByDefault(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		code, on, off := sqlcode.Code{State: "25006"}, "SET default_transaction_read_only = on", "SET default_transaction_read_only = off"
		if s.Dialect.Name == "mariadb" {
			code, on, off = sqlcode.Code{Number: 1792}, "SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE"
		}
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, Start: 1}}))
		c := harness.ConnOf(t, db)
		harness.Must(t, c, "INSERT INTO t (a) VALUES (1)")
		fails := func(when string) {
			t.Helper()
			_, err := c.ExecContext(t.Context(), s.Placeholders("INSERT INTO t (a) VALUES (?)"), 2)
			if got, ok := sqlcode.Of(err); !ok || got != code {
				t.Errorf("%s: error %v", when, err)
			}
		}
		harness.Must(t, c, on)
		fails("after SET")
		fails("again")
		harness.Must(t, c, off, "INSERT INTO t (a) VALUES (3)")
		if s.IsPostgres() {
			harness.Must(t, c, "BEGIN", on, "ROLLBACK", "INSERT INTO t (a) VALUES (4)", "BEGIN", on, "COMMIT")
			fails("after SET in a transaction")
			harness.Must(t, c, "RESET ALL", "INSERT INTO t (a) VALUES (5)", "SELECT set_config('default_transaction_read_only', 'on', false)")
			fails("after a function")
			harness.Must(t, c, off)
		}
		if got, want := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"), harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); len(got) != want || int(got[want-1]) != want {
			t.Errorf("numbers %v, want 1 to %d", got, want)
		}
	})
}
