package statements_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// countedSources are sources with a state in the database.
func countedSources() map[string]policy.Source {
	return map[string]policy.Source{
		"sequence":     {Kind: policy.KindSequence, EnsureSchema: true},
		"block 1":      {Kind: policy.KindSequence, EnsureSchema: true, Block: 1},
		"joined":       {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined, OnBehind: keysource.RemedyAdvance},
		"pseudorandom": {Kind: policy.KindPseudorandom, EnsureSchema: true, Block: 1},
		"recycled":     {Kind: policy.KindRecycled, EnsureSchema: true},
		"maxplusone":   {Kind: policy.KindMaxPlusOne, EnsureSchema: true},
	}
}

// TestSQLiteSharedCache: a connection that shares its cache with others does not wait for a
// lock on a table, but fails at once. A reservation of keyfill's own is then made again.
func TestSQLiteSharedCache(t *testing.T) {
	t.Parallel()
	const workers, inserts = 4, 20
	for _, driver := range []string{"sqlite", "sqlite3"} {
		for name, source := range countedSources() {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?cache=shared"
				raw := harness.Open(t, driver, dsn)
				harness.Must(t, raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, driver, dsn), harness.InPlace(source))
				db.SetMaxOpenConns(workers)
				var wg sync.WaitGroup
				var failed atomic.Int64
				for range workers {
					wg.Go(func() {
						for range inserts {
							if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
								failed.Add(1)
								t.Log(err)
							}
						}
					})
				}
				wg.Wait()
				if n := failed.Load(); n > 0 {
					t.Errorf("%d of %d INSERTs failed", n, workers*inserts)
				}
			})
		}
	}
}

// TestSQLiteSharedCacheTexts: a text of several statements is not sent again where a
// connection that shares the cache has locked the table of the last one. SQLite has committed
// the first ones.
func TestSQLiteSharedCacheTexts(t *testing.T) {
	t.Parallel()
	dsn := "file:" + filepath.Join(t.TempDir(), "test.db") + "?cache=shared"
	raw := harness.Open(t, "sqlite3", dsn) // modernc waits for the lock
	harness.Must(t, raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)", "CREATE TABLE other (a INT)")
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, "sqlite3", dsn), harness.InPlace(policy.Source{Kind: policy.KindSequence, EnsureSchema: true}))
	harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)") // reserves more numbers than are sent below
	reader := harness.ConnOf(t, raw)
	rows, err := reader.QueryContext(t.Context(), "SELECT id FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if _, err := db.Exec("INSERT INTO other (a) VALUES (1); INSERT INTO t (a) VALUES (3)"); err == nil {
		t.Error("the table is locked: no error")
	}
	if n := harness.Count(t, raw, "SELECT count(*) FROM other"); n != 1 {
		t.Errorf("the first statement has stored %d rows, want 1", n)
	}
}
