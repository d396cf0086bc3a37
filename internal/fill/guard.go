package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// Conn is the connection below the interceptor: its session, and what keyfill keeps
// for it.
type Conn struct {
	session.Conn
	DB *Database

	parked   []*execution
	parkedAt uint64     // undos, as parked was looked through last
	spare    *execution // that has ended; nil where there is none
	seen     *seenText  // of the text that is about to be executed or prepared; nil where nothing is remembered
	keyRoom  [1]driver.Value

	// joinedDraws counts the numbers that were asked for in its transactions.
	joinedDraws uint64
	drawnIn     uint64 // begins, as the last of them was asked for

	// counters are those of a database that this connection alone has: one in
	// memory. nil elsewhere.
	counters   *counterSet
	acquainted bool                 // that was found out
	ensured    bool                 // the tables of states were looked for
	doubts     map[*counter]doubted // what its transaction has found in use
	claimed    bool                 // a claim was noted in one of its transactions since the checkout

	alteredTables alteredTables
}

func newGuard(conn driver.Conn, db *Database) *Conn {
	g := &Conn{Conn: session.New(conn, db.Server), DB: db}
	g.Altered.Over = g.alteredTables.close
	return g
}

func (g *Conn) Close() error {
	err := g.Conn.Close()
	if g.counters != nil {
		// Their sources have nothing running.
		_ = g.counters.close(context.Background())
	}
	return err
}

// Begin is for drivers' users of before contexts.
func (g *Conn) Begin() (driver.Tx, error) {
	return g.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx creates the tables of states first, where the policy says so: what is created
// in a transaction may be rolled back.
func (g *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if policy.Mode(g.DB.Mode.Load()) == policy.ModeFill && !opts.ReadOnly {
		g.DB.ensure(ctx, g)
	}
	return g.Conn.BeginTx(ctx, opts)
}

// ResetSession is called before the connection is used again: what was parked
// on it belongs to a caller who is gone.
func (g *Conn) ResetSession(ctx context.Context) error {
	clear(g.parked)
	g.parked = g.parked[:0]
	g.claimed, g.doubts = false, nil
	return g.Conn.ResetSession(ctx)
}

// noteJoinedDraw notes that a number is asked for in the transaction.
func (g *Conn) noteJoinedDraw() {
	g.joinedDraws++
	g.drawnIn = g.Begins
}

// hasDrawn reports whether a number was asked for in the transaction.
func (g *Conn) hasDrawn() bool { return g.drawnIn == g.Begins }
