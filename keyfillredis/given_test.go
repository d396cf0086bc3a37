package keyfillredis_test

import (
	"context"
	"database/sql"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// registered opens a store of a driver that was registered with a client.
func registered(t *testing.T, name, prefix string) keysource.Store {
	t.Helper()
	s := openDriver(t, name, prefix)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// openDriver opens a store as keyfill does by the name of its driver.
func openDriver(t *testing.T, name, dsn string) keysource.Store {
	t.Helper()
	db, err := sql.Open(name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Driver().(keysource.StoreDriver).OpenStore(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newClientAt returns a client whose connections go to an address that may change, as
// with a name that another server gets.
func newClientAt(at *string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, *at)
		},
	})
}

// TestRegister: a driver uses the client that it was registered with, and does not close it.
func TestRegister(t *testing.T) {
	server := testdb.StartRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	if err := keyfillredis.Register("redis-given", client); err != nil {
		t.Fatal(err)
	}
	if err := keyfillredis.Register("redis-given", client); err == nil || !strings.Contains(err.Error(), "registered already") {
		t.Errorf("a name for the second time: %v", err)
	}
	for _, c := range []struct {
		name   string
		client redis.UniversalClient
		want   string
	}{
		{"nothing", nil, "no client"},
		{"no client", (*redis.Client)(nil), "no client"},
		{"no cluster", (*redis.ClusterClient)(nil), "no client"},
		{"a ring", redis.NewRing(&redis.RingOptions{}), "Ring"},
	} {
		if err := keyfillredis.Register("redis-"+c.name, c.client); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for range 2 {
		s := openDriver(t, "redis-given", "shop/")
		storetest.Await(t, s.Reserver(state("orders")), 1, 0)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Reserver(state("orders")).Reserve(t.Context(), 1, 0); err == nil {
			t.Error("a store that is closed gives numbers")
		}
	}
	if keys := server.Command(t, "KEYS", "*"); keys != "shop/states/orders" {
		t.Errorf("the keys are %q", keys)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the client was closed: %v", err)
	}
}
