package binding_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/fakedb"
)

// TestClaimAsksTheTable: a claim is left out only where there is no table for it.
func TestClaimAsksTheTable(t *testing.T) {
	for number, fails := range map[uint16]bool{1205: true, 1146: false} {
		f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
			if strings.Contains(query, "FROM keyfill_sequences") {
				return fakedb.Reply{Err: &fakedb.MySQLError{Number: number}}
			}
			return fakedb.Reply{}
		}}
		db := store.Pool(dialect.MariaDB(), fakedb.Connector(f, fakedb.Strengths[2].Make))
		defer db.Close()
		noted, made, err := binding.Claim{State: "numbers", Column: store.Column{Table: "orders", Name: "id"}}.Note(t.Context(), store.New(dialect.MariaDB(), db))
		if noted || made || (err != nil) != fails {
			t.Errorf("error %d: noted %v, made %v, error %v", number, noted, made, err)
		}
	}
}
