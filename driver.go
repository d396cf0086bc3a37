// Package keyfill wraps a database/sql driver so that INSERTs get their
// primary keys on the client.
//
// An application changes the driver name in sql.Open and writes a YAML file
// that says, for each table, which column is the key and which source makes
// it. Every INSERT into such a table that brings no key of its own then leaves
// the process with one, in the byte layout that the engine indexes best. All
// else goes through untouched: same SQL, same arguments, same results, same
// errors.
//
// By a blank import, with the policy from $KEYFILL_CONFIG or ./keyfill.yaml:
//
//	import _ "github.com/keyfill/keyfill/auto/mysql"
//
//	db, err := sql.Open("mysql-keyfill", dsn)
//
// By a name of one's own, around a driver that is registered already:
//
//	cfg, err := policy.Load("keyfill.yaml")
//	_, err = keyfill.RegisterByName("mysql-orders-keyfill", "mysql", keyfill.Options{Policy: cfg})
//	db, err := sql.Open("mysql-orders-keyfill", dsn)
//
// Around a connector:
//
//	db, err := keyfill.OpenDB(stdlib.GetConnector(*pgxConfig), keyfill.Options{Policy: cfg})
//
// # Outcomes
//
// A statement is filled (a key was added), kept (it brought its own), passed
// (it is not an INSERT into a configured table) or refused: an INSERT into a
// configured table that cannot be filled exactly is an error, an [*Error],
// before anything is sent. Package policy says how to soften that.
//
// # Integer keys
//
// Sources of kind sequence and snowflake make integers. Their state is in two
// tables of the application's database, or of another one that the policy
// names, and is read and written on at most two connections of our own, which
// are opened at the first key; on SQLite on that of each statement, within its
// transaction. Before the first key of a table its catalog is asked whether the
// column takes them: see package catalog. [Mount.Reserve] gives integers
// beforehand, [WithValue] chooses among states.
//
// # Caveats
//
// Without [Record], a statement that database/sql sends again after
// driver.ErrBadConn draws new keys. Where a store of states can lose commits, as
// with asynchronous replication, the primary key of the table is the last guard.
//
// Not seen, so not filled: INSERTs in stored procedures, triggers and SQL
// strings that the engine executes, what goes through a driver connection that
// [Unwrap] gave out, and bulk protocols outside of database/sql.
//
// On an engine without RETURNING, a program that learns its keys from
// LastInsertId cannot learn a UUID: see [Record], [Last] and [Mount.Keys].
//
// Names of drivers end in -keyfill: some libraries find the dialect by the
// beginning of the name.
package keyfill

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// registering orders registrations: database/sql panics when a name is taken,
// so it is asked for first.
var registering sync.Mutex

// Register makes d available to sql.Open under name, wrapped, and returns the
// mount of all databases that are opened through that name.
//
// It fails when the name is taken, when the dialect of d is not known and the
// policy does not name it, and when the policy does not compile. Where
// [Options].Policy is nil, the errors of the policy are those of sql.Open.
func Register(name string, d driver.Driver, o Options) (*Mount, error) {
	o = o.copied()
	if o.Policy != nil {
		// What Open would find is found now.
		if _, err := newMount(o, d); err != nil {
			return nil, err
		}
	}
	m := &Mount{name: name, flakes: newFlakes()}
	registering.Lock()
	defer registering.Unlock()
	if slices.Contains(sql.Drivers(), name) {
		return nil, fmt.Errorf("keyfill: a driver named %q is registered already: choose another name", name)
	}
	sql.Register(name, &wrappedDriver{parent: d, options: o, all: m})
	return m, nil
}

// RegisterByName is [Register] for the driver that is registered as driverName.
// The registered value itself is wrapped, with the functions and connection
// configurations that programs registered with it.
func RegisterByName(name, driverName string, o Options) (*Mount, error) {
	if !slices.Contains(sql.Drivers(), driverName) {
		return nil, fmt.Errorf("keyfill: no driver named %q is registered: import its package", driverName)
	}
	// database/sql has no other way to a registered driver.
	db, err := sql.Open(driverName, "")
	if err != nil {
		return nil, fmt.Errorf("keyfill: driver %q opens no database without a DSN: use Register with its value: %w", driverName, err)
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, fmt.Errorf("keyfill: driver %q: %w", driverName, err)
	}
	return Register(name, d, o)
}

// WrapConnector returns a connector whose connections fill keys, for
// sql.OpenDB. It fails where [Register] does, the name apart, and where the
// policy cannot be read.
func WrapConnector(c driver.Connector, o Options) (*Connector, error) {
	return wrapConnector(c, o.copied(), nil)
}

// OpenDB is sql.OpenDB for a wrapped connector.
func OpenDB(c driver.Connector, o Options) (*sql.DB, error) {
	w, err := WrapConnector(c, o)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(w), nil
}

// ErrNotOurs is returned by [From] for a database that was not opened through
// this package, or that another wrapper hides.
var ErrNotOurs = errors.New("keyfill: the database was not opened through keyfill, or another wrapper is around it: keep the Mount that Register or the Connector returned")

// From returns the mount of a database whose outermost wrapper is this
// package's. It fails with [ErrNotOurs].
func From(db *sql.DB) (*Mount, error) {
	if d, ok := db.Driver().(*wrappedDriver); ok && d.mount != nil {
		return d.mount, nil
	}
	return nil, ErrNotOurs
}

// unwrapKey is the key of the sink under which [Unwrap] asks a connection for
// the one below.
type unwrapKey struct{}

// unwrapSink takes the driver's connection.
type unwrapSink struct{ conn driver.Conn }

// Unwrap returns the driver's own connection, given what sql.Conn.Raw hands
// out, through any wrapper that passes Ping on. A connection that is not ours
// comes back unchanged. What is sent on it directly is not filled.
func Unwrap(driverConn any) any {
	p, ok := driverConn.(driver.Pinger)
	if !ok {
		return driverConn
	}
	var sink unwrapSink
	// A connection that is not ours is pinged: its answer is not our business.
	_ = p.Ping(context.WithValue(context.Background(), unwrapKey{}, &sink))
	if sink.conn == nil {
		return driverConn
	}
	return sink.conn
}
