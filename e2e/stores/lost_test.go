package stores_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	internalstore "github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// TestLostStates: a process whose store was emptied does not make the state again, with
// exclusive: true either, nor does one that fills another table from the same state. An
// emptied store is one with another prefix, where there is nothing.
func TestLostStates(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func() policy.Store{
		"etcd": func() policy.Store {
			return policy.Store{Driver: "etcd", Endpoints: []string{testdb.StartEtcd(t, 1)[0].URL()}}
		},
		"Redis": func() policy.Store {
			return policy.Store{Driver: "redis", Endpoints: []string{testdb.StartRedis(t).Addr()}}
		},
	} {
		at := start()
		for _, kind := range []string{policy.KindSequence, policy.KindRecycled} {
			t.Run(fmt.Sprintf("%s, %s", name, kind), func(t *testing.T) {
				s := harness.PgxDefault.Scratch(t)
				in := func(prefix, table string) *policy.Config {
					at.Prefix = prefix + harness.DatabaseOf(t, s) + "/"
					return &policy.Config{
						Stores: map[string]policy.Store{"central": at},
						Tables: map[string]policy.Table{table: {Column: "id", InPlace: &policy.Source{
							Kind: kind, Store: "central", Name: "numbers", EnsureSchema: true, Exclusive: kind == policy.KindSequence,
						}}},
					}
				}
				for _, table := range []string{"t", "u"} {
					harness.CreateIDs(t, s, table)
				}
				before, _ := s.Open(t, in("before/", "t"))
				harness.Exec(t, before, harness.InsertT)
				for _, table := range []string{"t", "u"} {
					after, _ := s.Open(t, in("after/", table))
					if _, err := after.Exec("INSERT INTO " + table + " (a) VALUES (1)"); !errors.Is(err, internalstore.ErrGone) {
						t.Errorf("%s: %v, want %v", table, err, internalstore.ErrGone)
					}
				}
			})
		}
	}
}
