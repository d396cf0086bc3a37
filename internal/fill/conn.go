package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/rewrite"
)

// connection is the state of a connection: its session, the keys that are drawn on it, and
// the executions that keyfill keeps for it.
//
// A text comes in by Passes. One that passes goes on by ExecPassed, QueryPassed or
// PreparePassed, any other by ExecText, QueryText or PrepareText.
type connection struct {
	keys.Conn
	DB *database

	parked  parked
	spare   *execution // that has ended; nil where there is none
	seen    *seenText  // of the text that is about to be executed or prepared; nil where nothing is remembered
	keyRoom [1]driver.Value
	unread  []*execution // that are counted when their rows have ended
	ongoing ongoing
	attempt *attempt // whose transaction is open; nil for most
	front   *front   // of the batch to which a text is being added; nil elsewhere
	brings  bringing // of the last such execution

	numbers sessionNumbers

	// logsRows says that the server was asked, and has no log of statements for replicas.
	logsRows bool
}

// Conn is the connection below the interceptor.
type Conn struct{ connection }

// open makes c the connection conn of the driver.
func (c *connection) open(conn driver.Conn, db *database) {
	c.DB, c.parked.conn, c.numbers.conn = db, c, c
	c.Conn.Open(conn, db.Tables)
}

// Begin begins a transaction for a caller that knows no contexts.
func (c *Conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// Close closes the connection. Rows that nobody has closed have ended with it.
func (c *Conn) Close() error {
	for len(c.unread) > 0 {
		countUnread(c.unread[0], func(*rewrite.Insert) verdict { return verdict{cause: keys.CauseUnended} })
	}
	return c.Conn.Close()
}

// ResetSession is called before the connection is used again: what was parked
// on it belongs to a caller who is gone.
func (c *Conn) ResetSession(ctx context.Context) error {
	c.parked.clear()
	c.ongoing.clear()
	if c.numbers.last != nil {
		c.numbers.last.pooled = true
	}
	return c.Conn.ResetSession(ctx)
}
