package keys_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// rude is a connector whose connections close with an error, as go-sql-driver/mysql's do
// once their server is gone.
type rude struct{ driver.Connector }

func (r rude) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	return rudeConn{c}, err
}

type rudeConn struct{ driverConn }

var errRude = errors.New("no goodbye")

func (c rudeConn) Close() error { return errors.Join(errRude, c.driverConn.Close()) }

// TestCloseOfStore: how a connection to the store ends is no error of closing the
// database. How one of the application's ends is, as with the raw driver.
func TestCloseOfStore(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)")
		for idle, want := range []error{nil, errRude} {
			db, _ := harness.OpenConnector(t, rude{s.Connector}, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}}))
			db.SetMaxIdleConns(idle)
			harness.Exec(t, db, "INSERT INTO t (n) VALUES (1)")
			if err := db.Close(); !errors.Is(err, want) {
				t.Errorf("%d idle connections: Close() = %v, want %v", idle, err, want)
			}
		}
	})
}
