package stores_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	keystore "github.com/keyfill/keyfill/internal/store"
	storeschema "github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// TestTakenByValue: where the states of several tenants fill one column, the error of the
// second tenant names the first one nowhere, whichever store has the states.
func TestTakenByValue(t *testing.T) {
	t.Parallel()
	const name = "numbers-{value:tenant}"
	for _, c := range []struct {
		name   string
		source policy.Source
		store  func(t *testing.T) policy.Store
	}{
		{"snowflake", policy.Source{Kind: policy.KindSnowflake, Worker: new(1), EnsureSchema: true}, nil},
		{"leased snowflake", policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Minute, EnsureSchema: true}, nil},
		{"composite", policy.Source{Kind: policy.KindComposite, Worker: new(1), EnsureSchema: true}, nil},
		{"recycled", policy.Source{Kind: policy.KindRecycled, EnsureSchema: true}, nil},
		{"redis", policy.Source{Kind: policy.KindSequence}, func(t *testing.T) policy.Store {
			return policy.Store{Driver: "redis", Endpoints: []string{testdb.StartRedis(t).Addr()}}
		}},
		{"etcd", policy.Source{Kind: policy.KindSequence}, func(t *testing.T) policy.Store {
			return policy.Store{Driver: "etcd", Endpoints: []string{testdb.StartEtcd(t, 1)[0].URL()}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := harness.MySQLDefault.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id "+map[bool]string{true: "CHAR(20)", false: "BIGINT"}[c.source.Kind == policy.KindComposite]+" NOT NULL PRIMARY KEY, a INT)")
			c.source.Name = name
			var stores map[string]policy.Store
			if c.store != nil {
				c.source.Store, c.source.Create = "central", new(true)
				stores = map[string]policy.Store{"central": c.store(t)}
				// The rows that say which source fills a column are in the application's database.
				if err := storeschema.Of(harness.StoreOf(t, s)).Ensure(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			cfg := harness.InPlace(c.source)
			cfg.Dialect, cfg.Stores = s.Dialect.Name, stores
			db, _ := s.Open(t, cfg)
			insert := func(tenant string) error {
				_, err := db.ExecContext(keyfill.WithValue(context.Background(), "tenant", tenant), harness.InsertT)
				return err
			}
			if err := insert("acme"); err != nil {
				t.Fatal(err)
			}
			err := insert("zeta")
			if err == nil || strings.Contains(err.Error(), "acme") {
				t.Errorf("a second tenant: %v", err)
			}
			if !errors.Is(err, keystore.ErrTakenByValue) {
				t.Errorf("a second tenant: %v, want %v", err, keystore.ErrTakenByValue)
			}
		})
	}
}
