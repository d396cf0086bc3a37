// Package newest_test tests keyfilletcd on the newest series of etcd, which runs in the
// process of the test. It is a module of its own, so that keyfilletcd does not require the
// server.
package newest_test

import (
	"net"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// TestStore: a store in the newest etcd does what every store does.
func TestStore(t *testing.T) {
	address := start(t)
	storetest.Run(t, storetest.Options{
		Open: func(t testing.TB) keysource.Store {
			s, err := keyfilletcd.Driver{}.OpenEndpoints(keysource.Endpoints{Addresses: []string{address}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Lease: 2 * time.Second,
	})
}

// start starts a member that ends with the test, and returns its address.
func start(t *testing.T) string { return startWith(t, func(*embed.Config) {}) }

// startWith is start of a member with settings of its own.
func startWith(t *testing.T, set func(*embed.Config)) string {
	t.Helper()
	for range 10 {
		client, peer := freeURL(t), freeURL(t)
		c := embed.NewConfig()
		c.Dir = t.TempDir()
		c.LogLevel = "fatal"
		c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		c.InitialCluster = c.InitialClusterFromName(c.Name)
		set(c)
		e, err := embed.StartEtcd(c)
		if err != nil {
			t.Log(err) // another process may have taken a port
			continue
		}
		t.Cleanup(e.Close)
		<-e.Server.ReadyNotify()
		return client.String()
	}
	t.Fatal("etcd did not start")
	return ""
}

// freeURL returns a URL of 127.0.0.1 with a port on which no process listens.
func freeURL(t *testing.T) url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}
