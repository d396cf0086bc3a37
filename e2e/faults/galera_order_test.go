package faults_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestGaleraOrdered: of a source that docs/guarantees.md calls ordered on a cluster,
// each key is above every key that any node has given out before, while statements go
// to the nodes by turns. The application sends a statement again that the cluster has
// refused.
func TestGaleraOrdered(t *testing.T) {
	t.Parallel()
	nodes := cluster.Nodes(t)
	e := harness.MySQLDefault
	e.Server = nodes[0]
	sources := 0
	for i, src := range policy.Methods() {
		if g, ok := policy.GuaranteesOnGalera(src); !ok || g.Ordered != policy.Ordered {
			continue
		}
		sources++
		src.EnsureSchema = src.Lock != policy.LockNone
		t.Run(fmt.Sprintf("%d-%s", i, src.Kind), func(t *testing.T) {
			s := e.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			database := harness.Text(t, s.Raw, "SELECT DATABASE()")
			var places []*sql.DB
			for _, node := range nodes {
				harness.Count(t, harness.Open(t, "mysql", node.DSN("")+"?"+galeraSynced), "SELECT COUNT(*) FROM "+database+".t")
				at := &harness.Scratch{Engine: e, Connector: harness.ConnectorOf(t, "mysql", node.DSN(database))}
				db, _ := at.Open(t, harness.FillID("t", policy.Table{InPlace: &src}))
				places = append(places, db)
			}
			last := int64(0)
			for turn := range 60 {
				for _, key := range insertedUntilTaken(t, places[turn%len(places)]) {
					if key <= last {
						t.Fatalf("turn %d: the key %d follows %d", turn, key, last)
					}
					last = key
				}
			}
			if n := harness.Count(t, harness.Open(t, "mysql", nodes[0].DSN(database)+"?"+galeraSynced), "SELECT COUNT(*) FROM t"); n != 120 {
				t.Errorf("%d rows, want 120", n)
			}
		})
	}
	if sources == 0 {
		t.Error("no source is ordered on a cluster")
	}
}

// insertedUntilTaken inserts two rows, again and again where another node's rows have
// come first, and returns their keys.
func insertedUntilTaken(t *testing.T, db *sql.DB) []int64 {
	t.Helper()
	var err error
	for range 100 {
		ctx, rec := keyfill.Record(context.Background())
		if _, err = db.ExecContext(ctx, "INSERT INTO t (a) VALUES (1), (2)"); err == nil {
			var all []int64
			for _, k := range rec.Keys("t") {
				all = append(all, k.Key.(int64))
			}
			return all
		}
		if text := err.Error(); !isDeadlock(text) && !isDuplicate(text) {
			break
		}
	}
	t.Fatal(err)
	return nil
}
