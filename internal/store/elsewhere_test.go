package store_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
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
		{"a lock was waited for in vain", &MySQLError{Number: 1205}, nil, false, false},
		{"the engine has undone the query", &MySQLError{Number: 1213}, &MySQLError{Number: 1213}, false, false},
		{"an error without a code, once", errRefused, nil, false, false},
		{"there is no table", &MySQLError{Number: 1146}, &MySQLError{Number: 1146}, false, true},
		{"the user may not read it", &MySQLError{Number: 1142}, &MySQLError{Number: 1142}, false, true},
		{"it was used", nil, nil, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			f := &fake{answer: func(query string) reply {
				switch {
				case strings.HasPrefix(query, claims):
					asked++
					if asked == 1 {
						return reply{err: c.err}
					}
					return reply{err: c.again}
				case strings.Contains(query, "FROM keyfill_sequences") && c.gone:
					return reply{rows: [][]driver.Value{used}}
				}
				return reply{}
			}}
			db := store.Pool(dialect.MariaDB(), connector{f, strengths[2].make})
			defer db.Close()
			home := store.New(dialect.MariaDB(), db)
			q := orders
			q.Create, q.Start, q.At, q.ClaimsAt, q.ClaimedAs = true, 71, home, home, "numbers"
			q.Columns = []store.Column{{Table: "orders", Name: "id"}}
			first, err := reserver.First(t.Context(), q)
			if asked == 0 || (err == nil) != c.made || errors.Is(err, store.ErrGone) != c.gone {
				t.Errorf("the first integer is %d, error %v, after %d questions", first, err, asked)
			}
		})
	}
}

// TestClaimAsksTheTable: a claim is left out only where there is no table for it.
func TestClaimAsksTheTable(t *testing.T) {
	for number, fails := range map[uint16]bool{1205: true, 1146: false} {
		f := &fake{answer: func(query string) reply {
			if strings.Contains(query, "FROM keyfill_sequences") {
				return reply{err: &MySQLError{Number: number}}
			}
			return reply{}
		}}
		db := store.Pool(dialect.MariaDB(), connector{f, strengths[2].make})
		defer db.Close()
		noted, made, err := binding.Claim{State: "numbers", Column: store.Column{Table: "orders", Name: "id"}}.Note(t.Context(), store.New(dialect.MariaDB(), db))
		if noted || made || (err != nil) != fails {
			t.Errorf("error %d: noted %v, made %v, error %v", number, noted, made, err)
		}
	}
}
