package reserver_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
)

// TestFirstAsksTheClaims: a state that is kept elsewhere is made only where the claims of its
// columns can be read, and do not say that it was used, or there is no table of claims.
func TestFirstAsksTheClaims(t *testing.T) {
	const claims = "SELECT updated_at FROM keyfill_sequences"
	used := []driver.Value{"numbers for orders.id", int64(2), "orders", "id"}
	for _, c := range []struct {
		name  string
		err   error // of the first query of the claims
		again error // of each later one
		gone  bool
		made  bool
	}{
		{"a lock was waited for in vain", &fakedb.MySQLError{Number: 1205}, nil, false, false},
		{"the engine has undone the query", &fakedb.MySQLError{Number: 1213}, &fakedb.MySQLError{Number: 1213}, false, false},
		{"an error without a code, once", fakedb.ErrRefused, nil, false, false},
		{"there is no table", &fakedb.MySQLError{Number: 1146}, &fakedb.MySQLError{Number: 1146}, false, true},
		{"the user may not read it", &fakedb.MySQLError{Number: 1142}, &fakedb.MySQLError{Number: 1142}, false, true},
		{"it was used", nil, nil, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				switch {
				case strings.HasPrefix(query, claims):
					asked++
					if asked == 1 {
						return fakedb.Reply{Err: c.err}
					}
					return fakedb.Reply{Err: c.again}
				case strings.Contains(query, "FROM keyfill_sequences") && c.gone:
					return fakedb.Reply{Rows: [][]driver.Value{used}}
				}
				return fakedb.Reply{}
			}}
			db := store.Pool(dialect.MariaDB(), fakedb.Connector(f, fakedb.Strengths[2].Make))
			defer db.Close()
			home := store.New(dialect.MariaDB(), db)
			q := fakedb.Orders
			q.Create, q.Made.Start, q.At, q.Claim.ClaimsAt, q.Claim.ClaimedAs = true, 71, home, home, "numbers"
			q.Columns = []store.Column{{Table: "orders", Name: "id"}}
			first, err := reserver.First(t.Context(), q)
			if asked == 0 || (err == nil) != c.made || errors.Is(err, store.ErrGone) != c.gone {
				t.Errorf("the first integer is %d, error %v, after %d questions", first, err, asked)
			}
		})
	}
}
