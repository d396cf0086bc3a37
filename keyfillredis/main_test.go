package keyfillredis_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// lease is the lease of the owners in these tests.
const lease = 2 * time.Second

// shared is the server of all tests that do not kill, pause, configure, restore or count it.
var shared = testdb.SharedRedis()

func TestMain(m *testing.M) {
	storetest.Process(keyfillredis.Driver{})
	shared.Main(m)
}

// newPrefix returns a prefix for the keys of one test on the shared server.
func newPrefix() string { return "keyfill-" + rand.Text() + "/" }

// openedBelow opens a store whose keys have a prefix, and which is closed with the test.
func openedBelow(t testing.TB, prefix string, servers ...*testdb.RedisServer) keysource.Store {
	t.Helper()
	s, err := keyfillredis.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: addressesOf(servers), Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// opened opens a store on a server of the test's own, or on the nodes of a cluster.
func opened(t testing.TB, servers ...*testdb.RedisServer) keysource.Store {
	t.Helper()
	return openedBelow(t, keyfillredis.DefaultPrefix, servers...)
}

func addressesOf(servers []*testdb.RedisServer) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}

// serverOf returns how storetest reaches a server. A script answers with a list.
func serverOf(s *testdb.RedisServer) *storetest.Server {
	return &storetest.Server{
		Driver: keyfillredis.Driver{}, Scheme: "redis://", Addr: s.Addr(),
		Answers: func(bytes []byte) bool { return bytes[0] == '*' },
	}
}

// state is the state of a source, which begins at 1.
func state(name string) keysource.State { return storetest.State(name) }

// draw draws n keys from a source of a kind, whose state other stores have too.
func draw(t *testing.T, all *storetest.Seen, s keysource.Store, kind, owner string, n int) {
	t.Helper()
	storetest.SourceOptions{Kind: kind, Name: kind, Owner: owner, Lease: lease}.Draw(t, all, s, n)
}
