package keyfillredis_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// TestFields: what cannot be a store is an error that names the field, and shows neither
// an address nor a password.
func TestFields(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{"redis-1:6379"}
	for _, c := range []struct {
		name string
		e    keysource.Endpoints
		want string
	}{
		{"none", keysource.Endpoints{}, "endpoints:"},
		{"no port", keysource.Endpoints{Addresses: []string{"secret"}}, "endpoints:"},
		{"a password", keysource.Endpoints{Addresses: []string{"redis://u:secret@host:1"}}, "endpoints:"},
		{"a path", keysource.Endpoints{Addresses: []string{"redis://host:1/secret"}}, "endpoints:"},
		{"another scheme", keysource.Endpoints{Addresses: []string{"https://secret:1"}}, "endpoints:"},
		{"two schemes", keysource.Endpoints{Addresses: []string{"redis://secret:1", "rediss://secret:1"}}, "endpoints:"},
		{"redis and tls", keysource.Endpoints{Addresses: []string{"redis://secret:1"}, TLS: &keysource.StoreTLS{}}, "endpoints:"},
		{"no password", keysource.Endpoints{Addresses: good, User: "secret"}, "user_env"},
		{"no file", keysource.Endpoints{Addresses: good, TLS: &keysource.StoreTLS{CA: "/nowhere/ca.pem"}}, "tls:"},
		{"no certificate", keysource.Endpoints{Addresses: good, TLS: &keysource.StoreTLS{Cert: notPEM, Key: notPEM}}, "tls:"},
	} {
		s, err := keyfillredis.Driver{}.OpenEndpoints(c.e)
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v, want an error about %s", c.name, s, err, c.want)
		}
	}
	for _, e := range []keysource.Endpoints{
		{Addresses: []string{"redis-1:6379", "redis://redis-2:6379", "[::1]:6379"}},
		{Addresses: []string{"rediss://redis-1:6379"}},
		{Addresses: good, TLS: &keysource.StoreTLS{ServerName: "redis.internal"}},
		{Addresses: good, Password: "secret"},
		{Addresses: good, User: "shop", Password: "secret", Prefix: "shop/"},
	} {
		s, err := keyfillredis.Driver{}.OpenEndpoints(e)
		if err != nil {
			t.Errorf("%+v: %v", e, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close before the first use: %v", err)
		}
	}
}

// TestDSN: a store may be named by a text too, and the driver is no driver of databases.
func TestDSN(t *testing.T) {
	for dsn, ok := range map[string]bool{
		"redis://a:1": true, "rediss://a:1,b:2": true, "redis://:p%40/w@a:1/3": false, "redis://:p%40w@a:1/3": true,
		"redis://u:p@a:1?cluster=true&prefix=shop/": true, "redis://a:1,[::1]:2/0?master_name=main": true,
		"": false, "redis": false, "a:1": false, "redis://": false, "redis://a": false, "redis://u@a:1": false,
		"https://a:1": false, "redis://a:1/x": false, "redis://a:1?db=1": false, "redis://a:1,b:2/1": false,
		"redis://a:1?cluster=true;x": false, "redis://a:1/-1": false,
	} {
		s, err := keyfillredis.Driver{}.OpenStore(dsn)
		if (err == nil) != ok {
			t.Errorf("%q: %v", dsn, err)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	db, err := sql.Open(keyfillredis.Name, "redis://a:1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "stores:") {
		t.Errorf("Redis as a database: %v", err)
	}
}

// TestNobodyThere: a store whose servers are not there answers as soon as the context ends,
// and says what to look at.
func TestNobodyThere(t *testing.T) {
	s, err := keyfillredis.Driver{}.OpenStore("redis://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	// A client that had no time to be refused says nothing of the server.
	ctx, err := t.Context(), context.DeadlineExceeded
	for limit := time.Second; limit < 2*time.Minute && errors.Is(err, context.DeadlineExceeded); limit *= 4 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err = s.Reserver(state("orders")).Reserve(ctx, 1, 0)
	}
	if err == nil || errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), "the server of Redis cannot be reached: look at endpoints") {
		t.Errorf("Reserve: %v", err)
	}
	_, err = s.Series(state("orders"), keysource.SeriesOwner{Size: 10, Lease: lease, Owner: "a"}).Open(ctx, 0)
	if err == nil || errors.Is(err, keysource.ErrStoreState) {
		t.Errorf("Open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.Bind(t.Context(), state("orders"), "orders.id"); err == nil {
		t.Error("Bind of a store that is closed has no error")
	}
}
