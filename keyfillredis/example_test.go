package keyfillredis_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/redis/go-redis/v9"
	"modernc.org/sqlite"
)

// The policy names the driver and the servers. A test or a tool may open the same store.
func ExampleDriver() {
	s, err := keyfillredis.Driver{}.OpenStore("redis://redis-1:6379/0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	orders := keysource.State{
		Name: "orders.id", Max: 1<<63 - 1,
		First: func(context.Context) (int64, error) { return 1, nil },
	}
	_ = s.Reserver(orders) // which connects at its first use
	fmt.Println("opened")
	// Output: opened
}

// A program that has a client already, or needs one with other options, registers a driver of
// its own. The policy has its name under stores:, and the prefix of the keys as dsn.
func ExampleRegister() {
	client := redis.NewClient(&redis.Options{Addr: "redis-1:6379", ClientName: "shop"})
	defer client.Close()
	if err := keyfillredis.Register("shop-redis", client); err != nil {
		fmt.Println(err)
		return
	}
	_, err := policy.Parse([]byte(`version: 1
stores: {central: {driver: shop-redis, dsn: shop/keys/}}
tables:
  orders: {column: id, source: {kind: sequence, store: central, ensure_schema: true, start: 1}}
`))
	fmt.Println(err)
	// Output: <nil>
}

// TestShards fills the tables of four shards by a policy: no key is in two of them.
func TestShards(t *testing.T) {
	t.Setenv("KEYFILLREDIS_TEST", shared.Need(t).Addr())
	storetest.Shards(t, func(name, prefix, source string) error {
		cfg, err := policy.Parse([]byte(`version: 1
stores:
  central: {driver: redis, endpoints_env: KEYFILLREDIS_TEST, prefix: ` + prefix + `}
tables:
  orders: {column: id, source: ` + source + `}
`))
		if err != nil {
			return err
		}
		_, err = keyfill.Register(name, &sqlite.Driver{}, keyfill.Options{Policy: cfg})
		return err
	})
}
