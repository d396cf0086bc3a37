package stores_test

import (
	"database/sql"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// groups is how many groups of processes reach the store by proxies of their own, so that
// one group can be cut off while the other one goes on.
const groups = 2

// store is a store under test, and the application's database whose rows get its keys.
type store struct {
	name   string
	engine harness.Engine
	raw    *sql.DB // the application's database, not through a proxy
	kinds  []int

	// of returns what the process in a place connects to, all through the proxies of its
	// group.
	of      func(place int) (dsn string, stores map[string]policy.Store)
	proxies [groups][]*proxy

	// Faults of one server: of the leader, or of one node, where there are several.
	victim  string // what it is called
	kill    func(t *testing.T)
	restart func(t *testing.T)
	pause   func(t *testing.T)
	resume  func(t *testing.T)

	// heals says that the others go on without that server, also for the processes that
	// were connected with it.
	heals bool

	// moveClock moves the servers' clocks; nil: they cannot be moved.
	moveClock func(t *testing.T, by time.Duration)

	// settle waits until each server has what another one has committed; nil: it has.
	settle func(t *testing.T)

	// allowance is the time that a server may need after a fault before it answers: two
	// election time-outs.
	allowance time.Duration
}

// storeUnderTest starts the servers of a store.
type storeUnderTest struct {
	name  string
	start func(t *testing.T) *store
}

// storesUnderTest start the servers of a store by its name. They end with the test.
var storesUnderTest = []storeUnderTest{
	{"MariaDB", startMariaDB},
	{"PostgreSQL", startPostgreSQL},
	{"Galera", startGalera},
	{"etcd", startEtcd},
	{"Redis", startRedis},
}

// groupOf returns the group of the process in a place.
func groupOf(place int) int { return place % groups }

// proxied puts a proxy before a server for each group.
func (s *store) proxied(t *testing.T, address string, sees func(*counter, []byte)) {
	t.Helper()
	for g := range groups {
		s.proxies[g] = append(s.proxies[g], startProxy(t, address, sees))
	}
}

// serve sets the faults of one server.
func (s *store) serve(server *testdb.Server) {
	s.kill = func(t *testing.T) { server.Kill(t) }
	s.restart = func(t *testing.T) { server.Restart(t) }
	s.pause = func(t *testing.T) { server.Pause(t) }
	s.resume = func(t *testing.T) { server.Resume(t) }
}

// startDatabase starts a server that is the application's and has the store as another
// database.
func startDatabase(t *testing.T, name string, e harness.Engine, engine *testdb.Engine) *store {
	t.Helper()
	server := testdb.Start(t, engine.Moved())
	e.Server = server
	s := &store{name: name, engine: e, kinds: []int{sequence, recycled, flake, joined}, victim: "server"}
	s.serve(server)
	s.moveClock = func(t *testing.T, by time.Duration) { server.MoveClock(t, by) }
	s.proxied(t, server.Addr(), (*counter).asked)
	own, other := server.Database(t, e.Driver), server.Database(t, e.Driver)
	s.raw = harness.Open(t, e.Driver, server.DSN(own))
	s.raw.SetMaxIdleConns(0) // one to a server that was killed answers with an error
	s.of = func(place int) (string, map[string]policy.Store) {
		through := func(database string) string {
			return strings.Replace(server.DSN(database), server.Addr(), s.proxies[groupOf(place)][0].addr(), 1)
		}
		return through(own), map[string]policy.Store{central: {Driver: e.Driver, DSN: through(other)}}
	}
	return s
}

// Each process has four connections of the application's, and at most two for each of the
// two databases with states.
const connections = "600"

func startMariaDB(t *testing.T) *store {
	t.Helper()
	return startDatabase(t, "MariaDB", harness.MySQLDefault, testdb.MariaDB().With("--max-connections="+connections))
}

func startPostgreSQL(t *testing.T) *store {
	t.Helper()
	return startDatabase(t, "PostgreSQL", harness.PgxDefault, testdb.PostgreSQL().With("-c", "max_connections="+connections, "-c", "deadlock_timeout=20ms"))
}

// startGalera starts three nodes, of which each process uses one.
func startGalera(t *testing.T) *store {
	t.Helper()
	nodes := testdb.StartGalera(t, "mysql", 3, (*testdb.Engine).Moved, func(e *testdb.Engine) *testdb.Engine {
		return e.With("--max-connections=" + connections)
	})
	s := &store{name: "Galera", engine: harness.MySQLDefault, kinds: []int{sequence, recycled, flake, joined}, victim: "node"}
	last := nodes[len(nodes)-1]
	s.serve(last)
	s.restart = func(t *testing.T) {
		last.Restart(t)
		last.AwaitSynced(t, "mysql")
	}
	s.resume = func(t *testing.T) {
		last.Resume(t)
		last.AwaitSynced(t, "mysql")
	}
	s.moveClock = func(t *testing.T, by time.Duration) {
		// The clocks of the nodes are never the same.
		for i, node := range nodes {
			node.MoveClock(t, by+time.Duration(i)*time.Second)
		}
	}
	own, other := nodes[0].Database(t, "mysql"), nodes[0].Database(t, "mysql")
	for _, node := range nodes {
		s.proxied(t, node.Addr(), (*counter).asked)
	}
	const synced = "?wsrep_sync_wait=15"
	s.raw = harness.Open(t, "mysql", nodes[0].DSN(own)+synced)
	s.settle = func(t *testing.T) {
		for _, node := range nodes {
			db := harness.Open(t, "mysql", node.DSN("")+synced)
			for _, k := range s.kinds {
				harness.Count(t, db, "SELECT COUNT(*) FROM "+own+"."+table(k))
			}
		}
	}
	s.of = func(place int) (string, map[string]policy.Store) {
		node := place / groups % len(nodes)
		through := func(database string) string {
			return strings.Replace(nodes[node].DSN(database), nodes[node].Addr(), s.proxies[groupOf(place)][node].addr(), 1)
		}
		return through(own), map[string]policy.Store{central: {Driver: "mysql", DSN: through(other)}}
	}
	s.allowance = 2 * 5 * time.Second // evs.suspect_timeout
	return s
}

// startEtcd starts three members. The rows are on a server of PostgreSQL, to which nothing
// happens. A member is a program of Go, whose clock no library moves.
func startEtcd(t *testing.T) *store {
	t.Helper()
	s := beside(t, "etcd")
	members := testdb.StartEtcd(t, 3)
	for _, m := range members {
		u, err := url.Parse(m.URL())
		if err != nil {
			t.Fatal(err)
		}
		s.proxied(t, u.Host, (*counter).framed)
	}
	s.addresses(func(addresses []string) policy.Store { return policy.Store{Driver: "etcd", Endpoints: addresses} })
	var victim *testdb.EtcdMember
	s.victim, s.heals = "leader", true
	s.kill = func(t *testing.T) {
		victim = leaderOf(t, members)
		victim.Kill(t)
	}
	s.restart = func(t *testing.T) { victim.Restart(t) }
	s.pause = func(t *testing.T) {
		victim = leaderOf(t, members)
		victim.Pause(t)
	}
	s.resume = func(t *testing.T) { victim.Resume(t) }
	s.allowance = 2 * time.Second // the election time-out of a member is a second
	return s
}

// startRedis starts one server, which flushes each change. The rows are on a server of
// PostgreSQL, to which nothing happens. Its clock is not moved: see testdb.Engine.Moved.
func startRedis(t *testing.T) *store {
	t.Helper()
	s := beside(t, "Redis")
	server := testdb.StartRedis(t)
	s.proxied(t, server.Addr(), (*counter).asked)
	s.addresses(func(addresses []string) policy.Store { return policy.Store{Driver: "redis", Endpoints: addresses} })
	s.victim = "server"
	s.kill = func(t *testing.T) { server.Kill(t) }
	s.restart = func(t *testing.T) { server.Restart(t) }
	s.pause = func(t *testing.T) { server.Pause(t) }
	s.resume = func(t *testing.T) { server.Resume(t) }
	return s
}

// beside returns a store that is no database, and the application's database beside it.
func beside(t *testing.T, name string) *store {
	t.Helper()
	server := testdb.Start(t, testdb.PostgreSQL().With("-c", "max_connections="+connections))
	e := harness.PgxDefault
	e.Server = server
	s := &store{name: name, engine: e, kinds: []int{sequence, recycled, flake}}
	database := server.Database(t, e.Driver)
	s.raw = harness.Open(t, e.Driver, server.DSN(database))
	s.of = func(int) (string, map[string]policy.Store) { return server.DSN(database), nil }
	return s
}

// addresses lets each process reach the store by the addresses of its group's proxies.
func (s *store) addresses(as func(addresses []string) policy.Store) {
	of := s.of
	s.of = func(place int) (string, map[string]policy.Store) {
		var all []string
		for _, p := range s.proxies[groupOf(place)] {
			all = append(all, p.addr())
		}
		dsn, _ := of(place)
		return dsn, map[string]policy.Store{central: as(all)}
	}
}

// leaderOf returns the member that leads.
func leaderOf(t *testing.T, members []*testdb.EtcdMember) (leader *testdb.EtcdMember) {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second}
	harness.Eventually(t, func() error {
		for _, m := range members {
			answer, err := client.Get(m.URL() + "/metrics")
			if err != nil {
				continue // it is not running
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err == nil && strings.Contains(string(text), "\netcd_server_is_leader 1\n") {
				leader = m
				return nil
			}
		}
		return errNoLeader
	})
	return leader
}
