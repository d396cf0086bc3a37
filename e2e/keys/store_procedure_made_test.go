package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
)

// TestStoreProcedureMade: keyfill's procedure is made where its tables are there already,
// whether the row of the sequence is or not.
func TestStoreProcedureMade(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		st := harness.OpenOrders(t, s)
		q := harness.Orders
		q.EnsureSchema, q.Procedure = true, store.ReserveProcedure
		rows := reserver.New(st, q)
		if _, err := rows.MaxKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := rows.Reserve(t.Context(), 3, 0); err != nil || got.First < 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
