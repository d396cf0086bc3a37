package storetest

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// Shards inserts rows into the table orders of four SQLite databases, with keys from the
// store "central", and checks that no key is in two of these databases. register registers
// a driver of SQLite under a name, with a policy in which the table orders has the given
// source and the store has the given prefix.
func Shards(t *testing.T, register func(name, prefix, source string) error) {
	for kind, source := range map[string]string{
		"sequence":  "{kind: sequence, store: central, ensure_schema: true, start: 1}",
		"recycled":  "{kind: recycled, store: central, ensure_schema: true, series: 1000, start: 1}",
		"upstream":  "{kind: sequence, upstream: central, ensure_schema: true}",
		"snowflake": "{kind: snowflake, store: central, worker_lease: 5s}",
	} {
		t.Run(kind, func(t *testing.T) {
			var all Seen
			prefix := name("shards") + "/keys/"
			for i := range 4 {
				driver := fmt.Sprintf("%s%d", prefix, i)
				if err := register(driver, prefix, source); err != nil {
					t.Fatal(err)
				}
				fillShard(t, driver, &all)
			}
			if all.Count() != 160 {
				t.Errorf("%d keys, want 160", all.Count())
			}
		})
	}
}

// fillShard inserts into a new database by 20 statements of two rows each.
func fillShard(t *testing.T, driver string, all *Seen) {
	t.Helper()
	db, err := sql.Open(driver, filepath.Join(t.TempDir(), "shard.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // close at the end of the test, so that the sources of all shards are open at the same time
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if _, err := db.Exec("CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, item TEXT)"); err != nil {
		t.Fatal(err)
	}
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
		all.Add(t, key)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
