package storetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// DriverOptions describe which fields and DSNs a driver of stores accepts.
type DriverOptions struct {
	Driver keysource.EndpointsDriver
	Name   string // the name under which it is registered with database/sql

	Plain, Secure, Foreign string          // schemes of addresses: without TLS, with TLS, and one that the driver does not accept
	Fields                 []Fields        // fields that only this driver accepts or refuses
	DSNs                   map[string]bool // DSNs, and whether the driver accepts them

	Nowhere     string // the DSN of a server that does not exist
	Unreachable string // a part of the error about that server
}

// Fields are fields of a policy, with a word of the error that they cause.
type Fields struct {
	Name      string
	Endpoints keysource.Endpoints
	Want      string // a word of the error; empty if there must be no error
}

// RunDriver tests which fields and DSNs a driver accepts. The tests need no server.
func RunDriver(t *testing.T, o DriverOptions) {
	t.Run("Fields", o.testFields)
	t.Run("DSN", o.testDSN)
	t.Run("Nowhere", o.testNowhere)
}

// fields returns the fields that every driver accepts or refuses, and the fields of this
// driver alone.
func (o DriverOptions) fields(notPEM string) []Fields {
	const endpoints, certificates = "endpoints:", "tls:"
	at := func(addresses ...string) keysource.Endpoints { return keysource.Endpoints{Addresses: addresses} }
	secured := func(e keysource.Endpoints, with keysource.StoreTLS) keysource.Endpoints {
		e.TLS = &with
		return e
	}
	good, plain := at("server-1:2379"), o.Plain+"://"
	user := keysource.Endpoints{Addresses: good.Addresses, User: "secret"}
	all := good
	all.User, all.Password, all.Prefix = "shop", "secret", "shop/"
	return slices.Concat([]Fields{
		{"none", at(), endpoints},
		{"no port", at("secret"), endpoints},
		{"a password", at(plain + "u:secret@host:1"), endpoints},
		{"a path", at(plain + "host:1/secret"), endpoints},
		{"another scheme", at(o.Foreign + "://secret:1"), endpoints},
		{"two schemes", at(plain+"secret:1", o.Secure+"://secret:1"), endpoints},
		{"a plain scheme and tls", secured(at(plain+"secret:1"), keysource.StoreTLS{}), endpoints},
		{"no password", user, "user_env"},
		{"no file", secured(good, keysource.StoreTLS{CA: "/nowhere/ca.pem"}), certificates},
		{"no certificate", secured(good, keysource.StoreTLS{Cert: notPEM, Key: notPEM}), certificates},
		{"three addresses", at("server-1:2379", plain+"server-2:2379", "[::1]:2379"), ""},
		{"a secure scheme", at(o.Secure + "://server-1:2379"), ""},
		{"a server's name", secured(good, keysource.StoreTLS{ServerName: "server.internal"}), ""},
		{"all fields", all, ""},
	}, o.Fields)
}

// testFields checks that fields which cannot be a store cause an error that names the
// field, and shows neither an address nor a password.
func (o DriverOptions) testFields(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range o.fields(notPEM) {
		s, err := o.Driver.OpenEndpoints(c.Endpoints)
		switch {
		case c.Want == "" && err == nil:
			if err := s.Close(); err != nil {
				t.Errorf("%s: Close before the first use: %v", c.Name, err)
			}
		case c.Want == "":
			t.Errorf("%s: %v", c.Name, err)
		case s != nil || err == nil || !strings.Contains(err.Error(), c.Want) || strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: %v, %v, want an error about %s", c.Name, s, err, c.Want)
		}
	}
}

// testDSN checks that a store may be named by a DSN too, and that the driver opens no
// databases.
func (o DriverOptions) testDSN(t *testing.T) {
	for dsn, ok := range o.DSNs {
		s, err := o.Driver.OpenStore(dsn)
		if (err == nil) != ok {
			t.Errorf("%q: %v", dsn, err)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	db, err := sql.Open(o.Name, o.Nowhere)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "stores:") {
		t.Errorf("%s as a database: %v", o.Name, err)
	}
}

// testNowhere checks that a store whose servers do not exist returns an error as soon as
// the context ends, and that the error says what to look at.
func (o DriverOptions) testNowhere(t *testing.T) {
	s, err := o.Driver.OpenStore(o.Nowhere)
	if err != nil {
		t.Fatal(err)
	}
	st := State("orders")
	// If the context ends before the connection is refused, the error does not mention the
	// server, so try longer limits.
	ctx, err := t.Context(), context.DeadlineExceeded
	for limit := time.Second; limit < 2*time.Minute && errors.Is(err, context.DeadlineExceeded); limit *= 4 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err = s.Reserver(st).Reserve(ctx, 1, 0)
	}
	if err == nil || errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), o.Unreachable+": look at endpoints") {
		t.Errorf("Reserve: %v", err)
	}
	_, err = s.Series(st, keysource.SeriesOwner{Size: 10, Lease: time.Minute, Owner: "a"}).Open(ctx, 0)
	if err == nil || errors.Is(err, keysource.ErrStoreState) {
		t.Errorf("Open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.Bind(t.Context(), st, "orders.id"); err == nil {
		t.Error("Bind of a store that is closed has no error")
	}
}
