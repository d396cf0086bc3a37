package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// cluster is the Galera cluster of this test binary. It starts with the first test that
// needs it.
var cluster = testdb.NewCluster("mysql", 3)

// galeraSynced lets a SELECT see what other nodes had committed before it.
const galeraSynced = "wsrep_sync_wait=15"

// TestGaleraNodes: each node has what another one has committed.
func TestGaleraNodes(t *testing.T) {
	t.Parallel()
	nodes := cluster.Nodes(t)
	name := nodes[0].Database(t, "mysql")
	harness.Exec(t, harness.Open(t, "mysql", nodes[0].DSN(name)), "CREATE TABLE t (node INT NOT NULL PRIMARY KEY)")
	for i, node := range nodes {
		db := harness.Open(t, "mysql", node.DSN(name)+"?"+galeraSynced)
		harness.Exec(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		if n := harness.Count(t, db, "SELECT COUNT(*) FROM t"); n != i+1 {
			t.Errorf("node %d has %d rows, want %d", i, n, i+1)
		}
	}
}

// galeraKinds are all sources as they run on a Galera cluster, and blocks of one.
func galeraKinds() []faultKind {
	all := faultKinds(harness.MySQLDefault)
	for i := range all {
		if k := &all[i]; k.name == "native" {
			// Elsewhere two nodes would give out one number.
			k.source.Block, k.before = 1, []string{"CREATE SEQUENCE numbers INCREMENT BY 0"}
			k.single = true
		}
	}
	one := faultKind{name: "sequence-of-one", source: faultSequence, state: "keyfill_sequences"}
	one.source.Block = 1
	return slices.Insert(all, 1, append(galeraOnlyKinds(), one)...)
}

// galeraOnlyKinds are the sources that no other test of this package has: most of them
// have no state that a fault could harm.
func galeraOnlyKinds() []faultKind {
	text := func(kind, column string) faultKind {
		return faultKind{name: kind, source: policy.Source{Kind: kind}, form: form{Listed: true, Column: column}}
	}
	return []faultKind{
		text(policy.KindUUIDv7, "CHAR(36)"), text(policy.KindUUIDv4, "CHAR(36)"), text(policy.KindULID, "CHAR(26)"), text(policy.KindCOMB, "CHAR(36)"),
		{name: "snowflake-storeless", source: policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone}, workers: true},
		{name: "maxplusone-unlocked", source: policy.Source{Kind: policy.KindMaxPlusOne, Lock: policy.LockNone},
			form: form{Unique: true, Gapless: true}, joined: true},
		{name: "composite-spread", source: harness.Mapped(policy.KindComposite, func(s *policy.Source) { s.Spread = spreadValue }),
			form: form{Listed: true, Column: "CHAR(20)"}},
	}
}

// galeraTime is for how long a source is used, by KEYFILL_SOAK_GALERA.
func galeraTime(t *testing.T) time.Duration {
	t.Helper()
	return soak(t, 300*time.Millisecond, "KEYFILL_SOAK_GALERA", time.ParseDuration)
}

// balanced returns a DSN each of whose connections goes to a node of its own, as
// through a proxy that balances the load.
func balanced(nodes []*testdb.Server, database string) string {
	var addresses []string
	for _, node := range nodes {
		addresses = append(addresses, node.Addr())
	}
	return "root@" + balancedNet + "(" + strings.Join(addresses, "+") + ")/" + database
}

const balancedNet = "balanced"

// registerBalanced makes the driver connect as balanced says.
func registerBalanced() {
	mysql.RegisterDialContext(balancedNet, func(ctx context.Context, addresses string) (net.Conn, error) {
		all := strings.Split(addresses, "+")
		return new(net.Dialer).DialContext(ctx, "tcp", all[rand.IntN(len(all))])
	})
}

// TestGalera: on three nodes at once, with and without interpolateParams, and where the
// connections of one process go to any of them, no key is given out twice, and what was
// said to be committed is stored; by turns for a quarter of the kinds.
func TestGalera(t *testing.T) {
	t.Parallel()
	nodes := cluster.Nodes(t)
	for i, k := range galeraKinds() {
		if !testturn.Of(t, i, 4) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			e := harness.MySQLDefault
			e.Server = nodes[0]
			if k.state != "" {
				k = k.often()
			}
			w := k.swarm(t, e)
			name := w.job.DSN[slices.Index([]byte(w.job.DSN), '/')+1:]
			w.raw = harness.Open(t, "mysql", nodes[0].DSN(name)+"?"+galeraSynced)
			settled := func() { // each node has what is there when it answers
				for _, node := range nodes {
					harness.Count(t, harness.Open(t, "mysql", node.DSN("")+"?"+galeraSynced), "SELECT COUNT(*) FROM "+name+".t")
				}
			}
			settled()
			vary := w.vary
			w.vary = func(place int, j *job) {
				if vary != nil {
					vary(place, j)
				}
				j.Hands, j.Single = 2, k.single
				j.Engine, j.DSN = harness.MySQLDefault.Name, nodes[place%3].DSN(name)
				if place >= 4 {
					j.DSN = balanced(nodes, name)
				}
				if place%2 == 1 {
					j.Engine, j.DSN = harness.MySQLInterp.Name, j.DSN+"?"+harness.MySQLInterp.Params
				}
			}
			// The application's own statements and commits.
			w.tolerable = either(isDeadlock, anyOf("the transaction had ended before this INSERT"))
			switch k.source.Lock {
			case policy.LockOptimistic:
				w.tolerable = either(isDeadlock, anyOf(store.ErrContention.Error()))
			case policy.LockNone:
				w.tolerable = either(isDeadlock, isDuplicate)
			}
			// A transaction does not see a row of the state that another node has just
			// made: the first process makes it.
			all := w.mustStart(1)
			w.awaitCommit(all)
			w.stop(all)
			settled()
			all = w.mustStart(6)
			w.awaitCommit(all)
			time.Sleep(galeraTime(t))
			w.stop(all)
			w.check()
		})
	}
}

// TestGaleraNative: a sequence of the engine with which two nodes would give out one
// number is refused, and so are blocks; a statement of several rows gets an error.
func TestGaleraNative(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Server = testdb.StartGalera(t, "mysql", 1)[0]
	s := e.Scratch(t)
	for _, c := range []struct {
		increment, block int64
		insert           string
		want             string // part of the error; may be empty
	}{
		{0, 1, "INSERT INTO t (v) VALUES (1)", ""},
		{0, 1, "INSERT INTO t (v) VALUES (1), (2)", "insert one row at a time"},
		{0, 50, "INSERT INTO t (v) VALUES (1)", "say block: 1"},
		{1, 1, "INSERT INTO t (v) VALUES (1)", "INCREMENT BY 0 RESTART WITH"},
		{50, 50, "INSERT INTO t (v) VALUES (1)", "INCREMENT BY 0 RESTART WITH"},
	} {
		t.Run(fmt.Sprintf("%d-%d-%s", c.increment, c.block, c.want), func(t *testing.T) {
			for _, query := range []string{
				"DROP TABLE IF EXISTS t", "DROP SEQUENCE IF EXISTS numbers",
				"CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, v INT)",
				fmt.Sprintf("CREATE SEQUENCE numbers INCREMENT BY %d NOCACHE", c.increment),
			} {
				harness.Exec(t, s.Raw, query)
			}
			cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindNative, Sequence: "numbers", Block: c.block}})
			cfg.Dialect = e.Dialect.Name
			db, _ := s.Open(t, cfg)
			_, err := db.Exec(c.insert)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "` INCREMENT BY 1") {
				t.Errorf("it advises what is wrong: %v", err)
			}
		})
	}
}
