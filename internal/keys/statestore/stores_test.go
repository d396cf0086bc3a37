package statestore_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// emptyDriver opens no store, and says nothing of it.
type emptyDriver struct{}

func (emptyDriver) Open(string) (driver.Conn, error) { return nil, errors.New("it knows no SQL") }

func (emptyDriver) OpenStore(string) (keysource.Store, error) { return nil, nil }

// TestNoStore: a driver that opens no store is an error at the start, and not a panic at
// the first key.
func TestNoStore(t *testing.T) {
	sql.Register("keyfill-empty", emptyDriver{})
	if err := openConfigured(policy.Store{Driver: "keyfill-empty", DSN: "secret"}); err == nil {
		t.Error("no error")
	}
}

// endpointsDriver opens the stores whose addresses it likes.
type endpointsDriver struct{ emptyDriver }

func (endpointsDriver) OpenEndpoints(e keysource.Endpoints) (keysource.Store, error) {
	if e.Addresses[0] == "bad:1" {
		return nil, errors.New("endpoints: no address of a server")
	}
	return nil, nil
}

// TestEndpoints: a driver that takes no endpoints says what to write in their place, and
// one that does says which field is wrong.
func TestEndpoints(t *testing.T) {
	sql.Register("keyfill-no-endpoints", emptyDriver{})
	sql.Register("keyfill-endpoints", endpointsDriver{})
	for _, c := range []struct{ driver, address, want string }{
		{"keyfill-no-endpoints", "a:1", `driver "keyfill-no-endpoints" takes no endpoints: write dsn_env or dsn instead`},
		{"keyfill-endpoints", "a:1", `driver "keyfill-endpoints" opens no store: take another version of its package`},
		{"keyfill-endpoints", "bad:1", `driver "keyfill-endpoints" cannot use the store as it is described, mend that: endpoints: no address of a server`},
		{"keyfill-unknown", "a:1", `no driver named "keyfill-unknown" is registered: import its package`},
	} {
		err := openConfigured(policy.Store{Driver: c.driver, Endpoints: []string{c.address}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s with %s: %v, want %s", c.driver, c.address, err, c.want)
		}
	}
}

// openConfigured opens a store that a policy names, and closes it.
func openConfigured(c policy.Store) error {
	opened, err := statestore.OpenConfigured(c)
	if err != nil || opened.Connector == nil && opened.Plain == nil {
		return err
	}
	return opened.Close()
}
