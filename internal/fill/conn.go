package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
)

// Conn is the connection below the interceptor: its session, the keys that are drawn
// on it, and the executions that keyfill keeps for it.
type Conn struct {
	keys.Conn
	DB *Database

	parked   []*execution
	parkedAt uint64     // Undos when parked was last looked through
	spare    *execution // that has ended; nil where there is none
	seen     *seenText  // of the text that is about to be executed or prepared; nil where nothing is remembered
	keyRoom  [1]driver.Value
}

func newConn(conn driver.Conn, db *Database) *Conn {
	g := &Conn{DB: db}
	g.Conn.Open(conn, db.Tables)
	return g
}

// Begin is for drivers' users of before contexts.
func (g *Conn) Begin() (driver.Tx, error) {
	return g.BeginTx(context.Background(), driver.TxOptions{})
}

// ResetSession is called before the connection is used again: what was parked
// on it belongs to a caller who is gone.
func (g *Conn) ResetSession(ctx context.Context) error {
	clear(g.parked)
	g.parked = g.parked[:0]
	return g.Conn.ResetSession(ctx)
}
