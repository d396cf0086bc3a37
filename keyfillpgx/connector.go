package keyfillpgx

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector opens connections for keyfill: to the states of its sources by package stdlib
// of pgx, and around a connection that the application has by the context of given.
type connector struct {
	stores driver.Connector

	// ResetSession is one of the application's hooks between two users of a
	// connection, or keepsSession where it has none. keyfill reads which of the two
	// it is, and calls neither.
	ResetSession func(context.Context, *pgx.Conn) error
}

var _ driver.Connector = (*connector)(nil)

// newConnector returns a connector whose own connections are opened by the config.
func newConnector(config *pgx.ConnConfig, opened ...stdlib.OptionOpenDB) *connector {
	return &connector{stores: stdlib.GetConnector(*config, opened...), ResetSession: keepsSession}
}

// keepsSession stands for no hook: a session keeps its settings.
func keepsSession(context.Context, *pgx.Conn) error { return nil }

// given hands a connection of the application to the next Connect.
type given struct{ conn *native }

type givenKey struct{}

// Connect returns the connection that the context gives, once, else a new one.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if g, ok := ctx.Value(givenKey{}).(*given); ok && g.conn != nil {
		n := g.conn
		g.conn = nil
		return n, nil
	}
	return c.stores.Connect(ctx)
}

// Driver returns a driver by whose package keyfill knows that this is pgx without
// database/sql.
func (c *connector) Driver() driver.Driver { return nativeDriver{} }

type nativeDriver struct{}

// Open opens a connection of package stdlib.
func (nativeDriver) Open(dsn string) (driver.Conn, error) {
	return stdlib.GetDefaultDriver().Open(dsn)
}
