package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
)

const (
	// poolConns is how many connections a pool has at most: one for the block
	// that somebody waits for, one for the others.
	poolConns = 2

	// poolIdle is for how long a connection is kept that is not used.
	poolIdle = 30 * time.Second
)

// Pool returns a small pool of connections of an application's connector, for
// [New]: at most two, opened when they are needed and closed when they have not
// been for half a minute. Nothing is connected before the first use, and what
// the application does with its own connections, of which there may be one, is
// no hindrance. Whoever made the pool closes it; the connector stays open.
//
// On MySQL and MariaDB each connection begins with SET autocommit = 1, since
// the application's DSN may say otherwise.
func Pool(d *dialect.Dialect, c driver.Connector) *sql.DB {
	db := sql.OpenDB(lent{c, engineOf(d).greeting})
	db.SetMaxOpenConns(poolConns)
	db.SetMaxIdleConns(poolConns)
	db.SetConnMaxIdleTime(poolIdle)
	return db
}

// lent is a connector without Close, which sql.DB.Close would call.
type lent struct {
	connector driver.Connector
	greeting  string // the first statement on each connection
}

func (l lent) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := l.connector.Connect(ctx)
	if err != nil || l.greeting == "" {
		return c, err
	}
	if _, err := dbconn.Exec(ctx, c, l.greeting, nil); err != nil {
		// The error of the statement is the cause of any that follows.
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (l lent) Driver() driver.Driver { return l.connector.Driver() }
