package keyfillredis_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/testdb"
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

// shards opens databases that are shards of one, whose keys come from Redis.
func shards(t *testing.T, n int, source string) []*sql.DB {
	t.Helper()
	server := testdb.StartRedis(t)
	t.Setenv("KEYFILLREDIS_TEST", server.Addr())
	cfg, err := policy.Parse([]byte(`version: 1
stores:
  central: {driver: redis, endpoints_env: KEYFILLREDIS_TEST, prefix: test/keys/}
tables:
  orders: {column: id, source: ` + source + `}
`))
	if err != nil {
		t.Fatal(err)
	}
	var all []*sql.DB
	for i := range n {
		name := fmt.Sprintf("keyfillredis-%s-%d", t.Name(), i)
		if _, err := keyfill.Register(name, &sqlite.Driver{}, keyfill.Options{Policy: cfg}); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open(name, filepath.Join(t.TempDir(), "shard.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		if _, err := db.Exec("CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, item TEXT)"); err != nil {
			t.Fatal(err)
		}
		all = append(all, db)
	}
	return all
}

// TestShards fills the tables of four shards by a policy: no key is in two of them.
func TestShards(t *testing.T) {
	for name, source := range map[string]string{
		"sequence":  "{kind: sequence, store: central, ensure_schema: true, start: 1}",
		"recycled":  "{kind: recycled, store: central, ensure_schema: true, series: 1000, start: 1}",
		"upstream":  "{kind: sequence, upstream: central, ensure_schema: true}",
		"snowflake": "{kind: snowflake, store: central, worker_lease: 5s}",
	} {
		t.Run(name, func(t *testing.T) {
			var all seen
			for _, db := range shards(t, 4, source) {
				for range 20 {
					if _, err := db.Exec("INSERT INTO orders (item) VALUES ('a'), ('b')"); err != nil {
						t.Fatal(err)
					}
				}
				rows, err := db.Query("SELECT id FROM orders")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var key int64
					if err := rows.Scan(&key); err != nil {
						t.Fatal(err)
					}
					all.add(t, key)
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
			}
			if all.count() != 160 {
				t.Errorf("%d keys, want 160", all.count())
			}
		})
	}
}
