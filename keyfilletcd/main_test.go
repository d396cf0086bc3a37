package keyfilletcd_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// lease is the least lease of a member of etcd with the election time-out of its default.
const lease = 2 * time.Second

// shared is the member of all tests that do not kill, pause, restore or count it.
var shared = testdb.SharedEtcd()

func TestMain(m *testing.M) {
	storetest.Process(keyfilletcd.Driver{})
	shared.Main(m)
}

// place is where the states of a test are.
type place struct {
	members []*testdb.EtcdMember
	prefix  string // of all keys
}

// newPlace returns a place on the shared member that no other test has.
func newPlace(t *testing.T) place { return place{shared.Need(t), "keyfill-" + rand.Text() + "/"} }

// opened opens a store that is closed with the test.
func (p place) opened(t testing.TB) keysource.Store {
	t.Helper()
	s, err := keyfilletcd.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: urls(p.members), Prefix: p.prefix})
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

// opened opens a store on members of the test's own.
func opened(t testing.TB, members []*testdb.EtcdMember) keysource.Store {
	t.Helper()
	return place{members, keyfilletcd.DefaultPrefix}.opened(t)
}

func urls(members []*testdb.EtcdMember) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.URL())
	}
	return all
}

// serverOf returns how storetest reaches some members.
func serverOf(members []*testdb.EtcdMember) *storetest.Server {
	return &storetest.Server{
		Driver:  keyfilletcd.Driver{},
		Addr:    strings.ReplaceAll(strings.Join(urls(members), ","), "http://", ""),
		Answers: holdsAnswer,
	}
}

// holdsAnswer reports whether there is a frame of headers or data of HTTP/2, and not only
// frames of the connection.
func holdsAnswer(bytes []byte) bool {
	for len(bytes) >= 9 {
		length := int(bytes[0])<<16 | int(bytes[1])<<8 | int(bytes[2])
		if kind := bytes[3]; kind == 0 || kind == 1 {
			return true
		}
		bytes = bytes[min(len(bytes), 9+length):]
	}
	return false
}

// state is the state of a source, which begins at 1.
func state(name string) keysource.State { return storetest.State(name) }
