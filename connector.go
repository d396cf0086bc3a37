package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/fill/forecast"
	"github.com/keyfill/keyfill/internal/keys/numbering"
)

// wrappedDriver is the driver.Driver that database/sql gets: the registered driver, and
// the Driver of each connector.
type wrappedDriver struct {
	parent  driver.Driver
	options Options
	all     *Mount // the mount of the registered name; nil if there is no such name
	mount   *Mount // the mount of one database; nil for the registered driver

	mu     sync.Mutex
	direct map[string]driver.Connector // the connectors that Open has made, by DSN
}

var (
	_ driver.Driver        = (*wrappedDriver)(nil)
	_ driver.DriverContext = (*wrappedDriver)(nil)
	_ driver.Connector     = (*Connector)(nil)
	_ io.Closer            = (*Connector)(nil)
)

// Open opens one connection, for callers that do not know OpenConnector, such as other
// wrappers. All connections of one DSN share a mount (keyfill's handle on a database), so
// that its sources go on.
func (d *wrappedDriver) Open(dsn string) (driver.Conn, error) {
	c, err := d.connector(dsn)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

func (d *wrappedDriver) connector(dsn string) (driver.Connector, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.direct[dsn]; c != nil {
		return c, nil
	}
	c, err := d.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	if d.direct == nil {
		d.direct = map[string]driver.Connector{}
	}
	d.direct[dsn] = c
	return c, nil
}

// OpenConnector returns a connector and opens no connection. It fails if the DSN or the
// policy is wrong.
func (d *wrappedDriver) OpenConnector(dsn string) (driver.Connector, error) {
	parent, err := dbconn.Open(d.parent, dsn)
	if err != nil {
		return nil, err
	}
	return wrapConnector(parent, d.options, d.all)
}

// Connector is a driver.Connector whose connections fill keys, for sql.OpenDB.
// [WrapConnector] makes it. It is safe for concurrent use.
type Connector struct {
	parent driver.Connector
	driver *wrappedDriver
	all    *Mount
	check  startCheck
}

// wrapConnector returns a connector that fills keys on the connections of parent. If it is
// opened through a registered name, its database is added to all, the mount of that name.
func wrapConnector(parent driver.Connector, o Options, all *Mount) (*Connector, error) {
	o, err := o.withPolicy()
	if err != nil {
		return nil, err
	}
	db, err := fill.NewDatabase(o.assembled(), parent.Driver())
	if err != nil {
		return nil, anchor.End(err)
	}
	db.Driver = db.Driver.For(parent)
	if err := db.ModeFromEnvironment(); err != nil {
		return nil, anchor.End(err)
	}
	shared := numbering.NewSharedSnowflakes()
	if all != nil {
		shared = all.flakes
	}
	if err := db.Open(o.Policy, parent, shared); err != nil {
		return nil, anchor.End(err)
	}
	if all != nil {
		all.add(db)
	}
	return &Connector{
		parent: parent,
		driver: &wrappedDriver{parent: parent.Driver(), options: o, mount: &Mount{one: db}, all: all},
		all:    all,
		check:  startCheck{wanted: wantsCheck(db)},
	}, nil
}

// Mount returns the [Mount] of the connector's database, which has its statistics and
// gives out keys.
func (c *Connector) Mount() *Mount { return c.driver.mount }

// Connect opens a connection that fills keys.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	g, err := c.driver.mount.one.Connect(ctx, c.parent)
	if err != nil {
		return nil, err
	}
	c.check.begin(ctx, c.driver.mount.one, g)
	return newConn(g), nil
}

// Driver returns a driver that opens further databases with the same options.
func (c *Connector) Driver() driver.Driver { return c.driver }

// closing is how long Close waits for sources that are using their stores.
const closing = 5 * time.Second

// Close gives back the series (ranges of integers) of recycled sources and the leases of
// workers, closes the connections to stores, and closes the wrapped connector if that is an
// io.Closer. The integers that a sequence has reserved and not used are gaps from then on.
// It waits for the stores for five seconds at most. sql.DB.Close calls it.
func (c *Connector) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	c.check.end()
	err := anchor.End(c.driver.mount.one.Close(ctx, c.driver.mount.one.WithOwnSession))
	if c.all != nil {
		c.all.remove(c.driver.mount.one)
	}
	if cl, ok := c.parent.(io.Closer); ok {
		err = errors.Join(err, cl.Close())
	}
	return err
}

// Explain returns how the driver would treat a query with its options. Package explain
// calls it.
func (d *wrappedDriver) Explain(query string) (explain.Explanation, error) {
	return forecast.ExplainOn(&d.mount.one.Database, query, [2]int{})
}

// ExplainOn is Explain for a given version of the engine.
func (d *wrappedDriver) ExplainOn(query string, version [2]int) (explain.Explanation, error) {
	return forecast.ExplainOn(&d.mount.one.Database, query, version)
}

// ExplainerOn connects to the database and returns a value that explains queries on it.
func (d *wrappedDriver) ExplainerOn(ctx context.Context) (explain.OnDatabase, error) {
	x, err := forecast.ConnectToExplain(ctx, &d.mount.one.Database)
	if err != nil {
		return nil, err
	}
	return x, nil
}
