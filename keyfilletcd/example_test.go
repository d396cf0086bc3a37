package keyfilletcd_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"modernc.org/sqlite"
)

// The policy names the driver and the servers. A test or a tool may open the same store.
func ExampleDriver() {
	s, err := keyfilletcd.Driver{}.OpenStore("etcd-1:2379,etcd-2:2379,etcd-3:2379")
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

// TestShards fills the tables of four shards by a policy: no key is in two of them.
func TestShards(t *testing.T) {
	t.Setenv("KEYFILLETCD_TEST", shared.Need(t)[0].URL())
	storetest.Shards(t, func(name, prefix, source string) error {
		cfg, err := policy.Parse([]byte(`version: 1
stores:
  central: {driver: etcd, endpoints_env: KEYFILLETCD_TEST, prefix: ` + prefix + `}
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
