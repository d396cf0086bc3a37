package keyfillpgx

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector makes connections for keyfill. To reach the states of its sources (their stored
// counters), it opens one with package stdlib of pgx. For the application's statements, it
// returns a connection that the application has already, which the context holds as a
// given.
type connector struct {
	stores driver.Connector

	// ResetSession is one of the hooks that the application runs between two uses of a
	// pooled connection, or keepsSession if it has none. keyfill only checks which of the
	// two it is, and calls neither.
	ResetSession func(context.Context, *pgx.Conn) error
}

var _ driver.Connector = (*connector)(nil)

// newConnector returns a connector that opens its own connections by the config.
func newConnector(config *pgx.ConnConfig, opened ...stdlib.OptionOpenDB) *connector {
	return &connector{stores: stdlib.GetConnector(*config, opened...), ResetSession: keepsSession}
}

// keepsSession is the ResetSession of a pool without hooks. By it keyfill recognizes that a
// session keeps its settings.
func keepsSession(context.Context, *pgx.Conn) error { return nil }

// given holds a connection of the application, which the next Connect returns.
type given struct{ conn *native }

type givenKey struct{}

// Connect returns the connection in the context, once; otherwise it opens a new one.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if g, ok := ctx.Value(givenKey{}).(*given); ok && g.conn != nil {
		n := g.conn
		g.conn = nil
		return n, nil
	}
	return c.stores.Connect(ctx)
}

// Driver returns a driver whose package shows keyfill that this is pgx without
// database/sql.
func (c *connector) Driver() driver.Driver { return nativeDriver{} }

type nativeDriver struct{}

// Open opens a connection of package stdlib.
func (nativeDriver) Open(dsn string) (driver.Conn, error) {
	return stdlib.GetDefaultDriver().Open(dsn)
}
