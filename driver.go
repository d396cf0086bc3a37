// Package keyfill wraps a database/sql driver so that INSERTs get their
// primary keys on the client.
//
// An application changes the driver name in sql.Open and writes a YAML file
// that says, for each table, which column is the key and which source makes
// it. Every INSERT into such a table that brings no key of its own then leaves
// the process with one, in the byte layout that the engine indexes best. Every
// other statement goes through untouched: the same SQL, the same arguments, the
// same results, the same errors.
//
// There are three ways in. A blank import registers a driver whose policy is in
// the file that $KEYFILL_CONFIG names, else in ./keyfill.yaml:
//
//	import _ "github.com/keyfill/keyfill/auto/mysql"
//
//	db, err := sql.Open("mysql-keyfill", dsn)
//
// RegisterByName wraps a driver that is registered already, under a new name:
//
//	cfg, err := policy.Load("keyfill.yaml")
//	_, err = keyfill.RegisterByName("mysql-orders-keyfill", "mysql", keyfill.Options{Policy: cfg})
//	db, err := sql.Open("mysql-orders-keyfill", dsn)
//
// OpenDB wraps a connector:
//
//	db, err := keyfill.OpenDB(stdlib.GetConnector(*pgxConfig), keyfill.Options{Policy: cfg})
//
// # Outcomes
//
// A statement is filled (keyfill added a key), kept (the statement brought its own key),
// passed (it is not an INSERT into a configured table) or refused. An INSERT into a
// configured table that cannot be filled exactly is refused with an [*Error] before
// anything is sent. Package policy describes how to soften that.
//
// # Integer keys
//
// Sources of kind sequence and snowflake, among others, make integers. Their
// state is in tables of the application's database, or of another database that
// the policy names. keyfill reads and writes the state on at most two
// connections of its own, which it opens at the first key; on SQLite it uses the
// connection of each statement, within the statement's transaction. Before the
// first key of a table keyfill asks the engine's catalog whether the column
// takes such keys. [Mount.Reserve] gives integers before an INSERT, and
// [WithValue] chooses among several states of one source.
//
// # Concurrency
//
// Every function of this package, and every method of a [Mount], a [Connector]
// and a [Recorder], is safe for concurrent use.
//
// # Caveats
//
// Without [Record], a statement that is sent again draws new keys. Where the
// store of a source can lose commits, as under asynchronous replication, the
// primary key of the table is the last guard.
//
// keyfill does not see, and so does not fill, an INSERT in a stored procedure,
// in a trigger or in a text that the engine executes, an INSERT on a driver
// connection that [Unwrap] gave out, and a bulk protocol outside of
// database/sql.
//
// On an engine without RETURNING, a program that learns its keys from
// LastInsertId cannot learn a UUID: see [Record], [Last] and [Mount.Keys].
//
// The name of a wrapped driver should begin with the name of the driver and end
// in -keyfill, as mysql-orders-keyfill: some libraries find the dialect by the
// beginning of the name.
package keyfill

import (
	"database/sql"
	"database/sql/driver"
	"maps"
	"slices"
	"sync"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/fill/retry"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/session"
)

// registering orders registrations. Register first asks whether a name is taken, since
// database/sql panics if it is. The mutex also guards the map registered.
var registering sync.Mutex

// registered holds the mounts, by the names under which this package has registered
// drivers.
var registered = map[string]*Mount{}

// Register makes d available to sql.Open under name, wrapped, and returns the
// mount of all databases that are opened through that name.
//
// It fails if the name is taken, if the dialect of d is not known and the policy does
// not name it, and if the policy does not compile. If [Options].Policy is nil, sql.Open
// returns the errors of the policy instead.
func Register(name string, d driver.Driver, o Options) (*Mount, error) {
	o = o.copied()
	if o.Policy != nil {
		// Return now the errors that Open would return later.
		if _, err := fill.NewDatabase(o.assembled(), d); err != nil {
			return nil, anchor.End(err)
		}
	}
	m := &Mount{flakes: numbering.NewSharedSnowflakes()}
	registering.Lock()
	defer registering.Unlock()
	if slices.Contains(sql.Drivers(), name) {
		return nil, anchor.Lastf("driver", "keyfill: a driver named %q is registered already: choose another name", name)
	}
	sql.Register(name, &wrappedDriver{parent: d, options: o, all: m})
	registered[name] = m
	return m, nil
}

// Mounts returns a [Mount] for each name that [Register] and [RegisterByName] have
// registered in this process, the names of the blank imports of auto among them. A
// program finds there the mount of a database that another wrapper hides from [From]:
//
//	db, err := otelsql.Open("mysql-keyfill", dsn)
//	keys, err := keyfill.Mounts()["mysql-keyfill"].Keys(ctx, "orders", 10)
//
// The mount of a name covers all databases that are opened through the name.
// [Mount.Keys] and [Mount.Reserve] need exactly one of them. The caller owns the
// map.
func Mounts() map[string]*Mount {
	registering.Lock()
	defer registering.Unlock()
	return maps.Clone(registered)
}

// RegisterByName is [Register] for the driver that is registered as driverName.
// It wraps the registered value itself, with the functions and connection
// configurations that the program has registered with that value. It fails also
// when no driver has that name.
func RegisterByName(name, driverName string, o Options) (*Mount, error) {
	if !slices.Contains(sql.Drivers(), driverName) {
		return nil, anchor.Lastf("driver", "keyfill: no driver named %q is registered: import its package", driverName)
	}
	// database/sql has no other way to get a registered driver.
	db, err := sql.Open(driverName, "")
	if err != nil {
		return nil, anchor.Lastf("driver", "keyfill: driver %q opens no database without a DSN: use Register with its value: %w", driverName, err)
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, anchor.Lastf("driver", "keyfill: driver %q: %w", driverName, err)
	}
	return Register(name, d, o)
}

// WrapConnector returns a connector whose connections fill keys, for sql.OpenDB. It
// fails as [Register] does, except for the name, and if the policy cannot be read.
func WrapConnector(c driver.Connector, o Options) (*Connector, error) {
	return wrapConnector(c, o.copied(), nil)
}

// OpenDB is sql.OpenDB for the connector that [WrapConnector] returns.
func OpenDB(c driver.Connector, o Options) (*sql.DB, error) {
	w, err := WrapConnector(c, o)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(w), nil
}

// ErrNotOurs is returned by [From] for a database that was not opened through
// this package, or that another wrapper hides, and by [Retry] for one that was not
// opened through it.
var ErrNotOurs = retry.ErrNotOurs

// From returns the mount (keyfill's handle on a database) of a database whose outermost
// driver is keyfill's. It fails with [ErrNotOurs] for any other database.
func From(db *sql.DB) (*Mount, error) {
	if d, ok := db.Driver().(*wrappedDriver); ok && d.mount != nil {
		return d.mount, nil
	}
	return nil, ErrNotOurs
}

// Unwrap returns the driver's own connection, given the connection that sql.Conn.Raw
// provides. Unwrap also works if other wrappers are around the connection, provided that
// they pass on Ping. If keyfill did not open the connection, Unwrap returns it unchanged,
// after a Ping. keyfill fills nothing that is sent on the driver's own connection.
func Unwrap(driverConn any) any {
	return session.Unwrap(driverConn)
}
