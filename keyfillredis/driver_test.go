package keyfillredis_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/storetest"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// TestDriver: the driver reads the fields of a policy and DSNs as every driver of stores does.
func TestDriver(t *testing.T) {
	storetest.RunDriver(t, storetest.DriverOptions{
		Driver: keyfillredis.Driver{}, Name: keyfillredis.Name,
		Plain: "redis", Secure: "rediss", Foreign: "https",
		Fields: []storetest.Fields{
			{Name: "a password alone", Endpoints: keysource.Endpoints{Addresses: []string{"redis-1:6379"}, Password: "secret"}},
		},
		DSNs: map[string]bool{
			"redis://a:1": true, "rediss://a:1,b:2": true, "redis://:p%40/w@a:1/3": false, "redis://:p%40w@a:1/3": true,
			"redis://u:p@a:1?cluster=true&prefix=shop/": true, "redis://a:1,[::1]:2/0?master_name=main": true,
			"": false, "redis": false, "a:1": false, "redis://": false, "redis://a": false, "redis://u@a:1": false,
			"https://a:1": false, "redis://a:1/x": false, "redis://a:1?db=1": false, "redis://a:1,b:2/1": false,
			"redis://a:1?cluster=true;x": false, "redis://a:1/-1": false,
		},
		Nowhere: "redis://127.0.0.1:1", Unreachable: "the server of Redis cannot be reached",
	})
}
