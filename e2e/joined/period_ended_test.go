package joined_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// TestPeriodEnded: in a transaction that has ended without keyfill's knowledge no number is
// drawn. A rollback to a savepoint, which undoes the mark of PostgreSQL's transactions, is no
// end.
func TestPeriodEnded(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		byClock := p.byClock(t, "", time.Now())
		byDate := p.numbering(t, "{n}")
		byDate.Name = "invoices.other"
		for _, q := range []*scope.Scope{byDate, byClock} {
			var given *calendar.Period
			if q == byDate {
				given = year(t, q, "2025")
			}
			c := p.session(t)
			c.exec("BEGIN")
			c.at = store.Joined(p.Dialect, c.conn, &store.Ongoing{})
			c.want(q, given, 1, 1)
			c.exec("SAVEPOINT a")
			c.want(q, given, 1, 2)
			c.exec("ROLLBACK TO SAVEPOINT a")
			c.want(q, given, 1, 2)
			c.exec("COMMIT", "BEGIN", "SAVEPOINT a")
			c.at = store.Joined(p.Dialect, c.conn, &store.Ongoing{})
			c.want(q, given, 1, 3)
			c.exec("ROLLBACK TO SAVEPOINT a")
			c.want(q, given, 1, 3)
			c.exec("COMMIT")
			if got, err := c.draw(q, given, 1); !errors.Is(err, store.ErrEnded) || got.First != 0 {
				t.Errorf("a draw after the transaction: %+v, %v", got, err)
			}
			c.exec("BEGIN")
			c.want(q, given, 1, 4)
			c.exec("COMMIT")
		}
	})
}

// TestPeriodRights: a role that draws numbers of periods needs SELECT on the columns of the
// row, and UPDATE on next_value, updated_at, and for numbers with a template on parameters.
// The error of another role has no value of the scope.
func TestPeriodRights(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		plain, written := p.numbering(t, "", "branch"), p.numbering(t, "{n}", "branch")
		in := year(t, plain, "2025")
		for _, tt := range []struct {
			name, rights   string
			plain, written bool
		}{
			{"none", "", false, false},
			{"reads", "SELECT", false, false},
			{"draws", "SELECT (name, next_value, incarnation, parameters), UPDATE (next_value, updated_at)", true, false},
			{"writes templates", "SELECT (name, next_value, incarnation, parameters), UPDATE (next_value, updated_at, parameters)", true, true},
		} {
			role := "role_" + strings.ToLower(rand.Text())
			harness.Must(t, s.Raw, "CREATE ROLE "+role)
			t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+role, "DROP ROLE "+role) })
			if tt.rights != "" {
				harness.Must(t, s.Raw, "GRANT "+tt.rights+" ON keyfill_sequences TO "+role)
			}
			for _, q := range []*scope.Scope{plain, written} {
				c := p.session(t)
				c.exec("SET ROLE "+role, "BEGIN")
				_, err := c.draw(q, in, 1, "secret")
				may := tt.plain
				if q == written {
					may = tt.written
				}
				if may != (err == nil) {
					t.Errorf("%s, template %q: %v", tt.name, q.Periods.Template, err)
				}
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: the error has a value: %v", tt.name, err)
				}
				c.exec("ROLLBACK")
			}
		}
	})
}
