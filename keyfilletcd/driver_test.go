package keyfilletcd_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// TestDriver: the driver reads the fields of a policy and DSNs as every driver of stores does.
func TestDriver(t *testing.T) {
	storetest.RunDriver(t, storetest.DriverOptions{
		Driver: keyfilletcd.Driver{}, Name: keyfilletcd.Name,
		Plain: "http", Secure: "https", Foreign: "redis",
		Fields: []storetest.Fields{
			{Name: "no such port", Endpoints: keysource.Endpoints{Addresses: []string{"secret:99999"}}, Want: "endpoints:"},
			{Name: "no user", Endpoints: keysource.Endpoints{Addresses: []string{"etcd-1:2379"}, Password: "secret"}, Want: "user_env"},
		},
		DSNs: map[string]bool{
			"etcd-1:2379": true, "a:1,b:2/shop/": true, "https://a:1,b:2": true,
			"": false, "etcd": false, "redis://a:1": false, "http://a:1,https://b:2": false,
		},
		Nowhere: "127.0.0.1:1", Unreachable: "a server of etcd cannot be reached",
	})
}
