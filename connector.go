package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/keyfill/keyfill/policy"
)

// wrappedDriver is what database/sql sees: the registered driver, and the
// Driver of each connector.
type wrappedDriver struct {
	parent driver.Driver
	cfg    *policy.Config
	all    *Mount // of the registered name; nil for a connector's
	mount  *Mount // of one database; nil for the registered driver
}

var (
	_ driver.Driver        = (*wrappedDriver)(nil)
	_ driver.DriverContext = (*wrappedDriver)(nil)
	_ driver.Connector     = (*connector)(nil)
	_ io.Closer            = (*connector)(nil)
)

// Open opens one connection, for callers that do not know OpenConnector.
func (d *wrappedDriver) Open(dsn string) (driver.Conn, error) {
	c, err := d.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

// OpenConnector opens no connection: errors are those of the DSN and of the
// policy.
func (d *wrappedDriver) OpenConnector(dsn string) (driver.Connector, error) {
	parent, err := openConnector(d.parent, dsn)
	if err != nil {
		return nil, err
	}
	return wrapConnector(parent, d.cfg, d.all)
}

func openConnector(d driver.Driver, dsn string) (driver.Connector, error) {
	if dc, ok := d.(driver.DriverContext); ok {
		return dc.OpenConnector(dsn)
	}
	return dsnConnector{driver: d, dsn: dsn}, nil
}

// dsnConnector stands for a driver without DriverContext, as in database/sql.
type dsnConnector struct {
	driver driver.Driver
	dsn    string
}

func (c dsnConnector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c dsnConnector) Driver() driver.Driver                        { return c.driver }

// connector is the outermost layer of one database. It adds what the layers
// below lose: Close, and the way back to the mount.
type connector struct {
	inner  driver.Connector // through the interceptor to the guard
	parent driver.Connector
	driver *wrappedDriver
	all    *Mount
}

// wrapConnector puts a mount around parent. A mount opened through a
// registered name is counted among those of all.
func wrapConnector(parent driver.Connector, cfg *policy.Config, all *Mount) (driver.Connector, error) {
	if cfg == nil {
		var err error
		if cfg, err = policy.FromEnvironment(); err != nil {
			return nil, err
		}
	}
	m, err := newMount(cfg, parent.Driver())
	if err != nil {
		return nil, err
	}
	if err := m.modeFromEnvironment(); err != nil {
		return nil, err
	}
	inner, err := intercept(&guardConnector{parent: parent, mount: m}, m)
	if err != nil {
		return nil, err
	}
	if all != nil {
		all.add(m)
	}
	return &connector{
		inner:  inner,
		parent: parent,
		driver: &wrappedDriver{parent: parent.Driver(), cfg: cfg, mount: m},
		all:    all,
	}, nil
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) { return c.inner.Connect(ctx) }
func (c *connector) Driver() driver.Driver                            { return c.driver }

// Close is called by sql.DB.Close.
func (c *connector) Close() error {
	if c.all != nil {
		c.all.remove(c.driver.mount)
	}
	if cl, ok := c.parent.(io.Closer); ok {
		return cl.Close()
	}
	return nil
}

// guardConnector puts a guard around every connection of the driver.
type guardConnector struct {
	parent driver.Connector
	mount  *Mount
}

func (c *guardConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.parent.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newGuard(conn, c.mount), nil
}

func (c *guardConnector) Driver() driver.Driver { return c.parent.Driver() }

// shim is a driver that hands out one connector: the interceptor's package
// wraps drivers only.
type shim struct{ connector driver.Connector }

func (s shim) OpenConnector(string) (driver.Connector, error) { return s.connector, nil }

func (s shim) Open(string) (driver.Conn, error) {
	return nil, errors.New("keyfill: opened without a connector")
}
