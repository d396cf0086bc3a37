package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store/engine"
)

const (
	// poolConns is the greatest number of connections of a pool: one for the block of
	// integers that a statement waits for, one for everything else.
	poolConns = 2

	// poolIdle is how long an unused connection is kept.
	poolIdle = 30 * time.Second
)

// Pool returns a small pool of connections of an application's connector, for [New]: at
// most two, opened when they are needed and closed after half a minute without use.
// Nothing is connected before the first use, and the pool does not wait for the
// application's own connections, of which there may be only one. The caller closes the
// pool; the connector stays open. Of the connector's errors only the engine's code and
// the network's error are shown: the rest may contain the DSN.
//
// If a connection takes longer than the attempt that has asked for it, the next attempt
// gets it. Without a next attempt it is closed after two seconds.
//
// On MySQL and MariaDB each connection begins with SET autocommit = 1, since the
// application's DSN may turn it off, and on a Galera cluster its SELECTs see the
// commits of the other nodes.
func Pool(d *dialect.Dialect, c driver.Connector) *sql.DB {
	db := sql.OpenDB(newLent(c, d))
	db.SetMaxOpenConns(poolConns)
	db.SetMaxIdleConns(poolConns)
	db.SetConnMaxIdleTime(poolIdle)
	return db
}

// lent is a connector that stays open when its pool is closed.
type lent struct {
	connector driver.Connector
	setup     []string // each connection executes the first of them that the server accepts
	prepares  bool     // statements may have to be prepared: see [dbconn.Preparing]
	late      *lateConns
}

func newLent(c driver.Connector, d *dialect.Dialect) *lent {
	l := &lent{connector: c, setup: engine.Of(d).Setup, prepares: d.Family == dialect.FamilyPostgreSQL}
	l.late = newLateConns(l.setUp)
	return l
}

// Connect returns a connection on which the setup statement was executed.
func (l *lent) Connect(ctx context.Context) (driver.Conn, error) {
	return l.late.connect(ctx)
}

// setUp makes a connection, and executes the setup statement on it.
func (l *lent) setUp(ctx context.Context) (driver.Conn, error) {
	c, err := l.connector.Connect(ctx)
	if err != nil {
		return nil, sqlcode.Connecting(err)
	}
	if l.prepares {
		c = dbconn.Preparing(c)
	}
	for _, greeting := range l.setup {
		if _, err = dbconn.Exec(ctx, c, greeting, nil); err == nil || IsBroken(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		// Return the error of the statement, which is the cause of any error of Close.
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (l *lent) Driver() driver.Driver { return l.connector.Driver() }

// Close cancels the attempts to connect, and leaves the connector open. The pool calls
// it.
func (l *lent) Close() error {
	l.late.close()
	return nil
}
