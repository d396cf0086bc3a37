package keyfilletcd_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// upstreamBlock is how many integers a shard takes from etcd at a time.
const upstreamBlock = 100

// openShard opens a database of SQLite through keyfill, whose keys come from etcd in blocks.
func openShard(t *testing.T, file string, m *testdb.EtcdMember) (*sql.DB, *keyfill.Mount) {
	t.Helper()
	cfg := &policy.Config{
		Dialect: "sqlite",
		Stores:  map[string]policy.Store{"central": {Driver: keyfilletcd.Name, Endpoints: []string{m.URL()}}},
		Tables: map[string]policy.Table{"orders": {Column: "id", InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Upstream: "central", UpstreamBlock: upstreamBlock, Block: 10,
		}}},
	}
	name := "shard of " + file
	mount, err := keyfill.Register(name, &sqlite.Driver{}, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(name, "file:"+file+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)"); err != nil {
		t.Fatal(err)
	}
	return db, mount
}

// insertOrder inserts a row without a key.
func insertOrder(db *sql.DB, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('x')")
	return err
}

// mustInsert inserts rows that have to be stored.
func mustInsert(t *testing.T, db *sql.DB, rows int) {
	t.Helper()
	for range rows {
		if err := insertOrder(db, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpstream: two shards have their keys from one state in etcd, in blocks. While the
// member is killed both insert a block at least, and then say which store is lost; when it
// is there again, they go on. No key is in both.
func TestUpstream(t *testing.T) {
	m := testdb.StartEtcd(t, 1)[0]
	var shards []*sql.DB
	var mounts []*keyfill.Mount
	for i := range 2 {
		db, mount := openShard(t, filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", i)), m)
		shards, mounts = append(shards, db), append(mounts, mount)
	}
	const rows = 10 * upstreamBlock
	before, _ := roundTrips(t, m)
	for _, db := range shards {
		mustInsert(t, db, rows)
	}
	stored, missed := 0, 0
	for i, db := range shards { // the last INSERT stores the block that was fetched beforehand
		for sourceOf(mounts[i]).UpstreamLeft < upstreamBlock {
			mustInsert(t, db, 1)
		}
		stored += len(keysOf(t, db))
		missed += int(sourceOf(mounts[i]).UpstreamFetchErrors)
	}
	// Each block is one transaction; the first one of each shard makes the state, and binds it.
	// An attempt that failed may have looked for the state, made it and reserved.
	after, _ := roundTrips(t, m)
	if most := stored/upstreamBlock + 12*len(shards) + 3*missed; after-before > most {
		t.Errorf("%d transactions for %d keys, and %d attempts that failed, want %d at most", after-before, stored, missed, most)
	}
	t.Logf("%d transactions for %d keys", after-before, stored)
	m.Kill(t)
	var lost sync.WaitGroup
	for i, db := range shards {
		lost.Go(func() {
			stored := 0
			err := insertOrder(db, 15*time.Second)
			for ; err == nil && stored < 4*upstreamBlock; stored++ {
				err = insertOrder(db, 15*time.Second)
			}
			if stored < upstreamBlock || !errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(fmt.Sprint(err), `store "central"`) {
				t.Errorf("after %d rows without etcd: %v, want %d rows at least, then %v and the name of the store", stored, err, upstreamBlock, keysource.ErrStoreDown)
			}
			if st := sourceOf(mounts[i]); st.Upstream != "central" || st.UpstreamLeft != 0 || st.UpstreamError == "" {
				t.Errorf("statistics: %+v", st)
			}
		})
	}
	lost.Wait()
	m.Restart(t)
	seen := map[int64]bool{}
	for _, db := range shards {
		for err := errors.New("none yet"); err != nil && t.Context().Err() == nil; {
			err = insertOrder(db, time.Minute)
		}
		mustInsert(t, db, 2*upstreamBlock)
		for _, key := range keysOf(t, db) {
			if seen[key] {
				t.Fatalf("the key %d is in both shards", key)
			}
			seen[key] = true
		}
	}
}

// sourceOf returns the only source of a mount.
func sourceOf(m *keyfill.Mount) keyfill.SourceStats { return m.Sources()[0] }

// keysOf returns the keys that are stored.
func keysOf(t *testing.T, db *sql.DB) (keys []int64) {
	t.Helper()
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
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return keys
}
