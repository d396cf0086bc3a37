package keys_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/internal/keys"
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
	if err := keys.OpenConfigured(policy.Store{Driver: "keyfill-empty", DSN: "secret"}); err == nil {
		t.Error("no error")
	}
}
