package fill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// keysConn is a connection of the application as far as keys are drawn on it: its
// session, the counters that it alone has, and what was drawn in its transactions.
// Like a session, it is used by one goroutine at a time.
type keysConn struct {
	session.Conn
	tables *keyTables

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

// open begins with a connection of the driver.
func (g *keysConn) open(conn driver.Conn, db *keyTables) {
	g.Conn, g.tables = session.New(conn, db.Server), db
	g.Altered.Over = g.alteredTables.close
}

// Close closes the connection and the counters that it alone has.
func (g *keysConn) Close() error {
	err := g.Conn.Close()
	if g.counters != nil {
		// Their sources have nothing running.
		_ = g.counters.close(context.Background())
	}
	return err
}

// BeginTx creates the tables of states first, where the policy says so: what is created
// in a transaction may be rolled back.
func (g *keysConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if policy.Mode(g.tables.Mode.Load()) == policy.ModeFill && !opts.ReadOnly {
		g.tables.ensure(ctx, g)
	}
	return g.Conn.BeginTx(ctx, opts)
}

// ResetSession forgets what belongs to a caller who is gone.
func (g *keysConn) ResetSession(ctx context.Context) error {
	g.claimed, g.doubts = false, nil
	return g.Conn.ResetSession(ctx)
}

// noteJoinedDraw notes that a number is asked for in the transaction.
func (g *keysConn) noteJoinedDraw() {
	g.joinedDraws++
	g.drawnIn = g.Begins
}

// hasDrawn reports whether a number was asked for in the transaction.
func (g *keysConn) hasDrawn() bool { return g.drawnIn == g.Begins }

// Give gives keys for a statement on the connection.
func (g *keysConn) Give(ctx context.Context, room []driver.Value, t *table, i, n int) ([]driver.Value, error) {
	keys, err := g.tables.next(ctx, g, room, t, i, n)
	return keys, g.held(err)
}

// Reserve reserves keys for a statement on the connection.
func (g *keysConn) Reserve(ctx context.Context, t *table, i int, n int64) (int64, error) {
	first, err := g.tables.reserve(ctx, g, t, i, n)
	return first, g.held(err)
}

// Spares reports that a statement may take more keys than it stores.
func (g *keysConn) Spares() bool { return true }

// errHeld says why a store may not have answered to an INSERT in a transaction.
var errHeld = errors.New("its transaction keeps a connection meanwhile, and where the server, a pooler or a limit of the user has no more, each waits for the other: allow two connections more than SetMaxOpenConns (docs/pool.md)")

// held adds to the error of a store that has not answered what else may be the cause,
// where the statement's transaction keeps a connection of the same server.
func (g *keysConn) held(err error) error {
	if err == nil || g.Tx == session.Outside || g.tables.OnConnection() || !errors.Is(err, keysource.ErrStoreDown) {
		return err
	}
	return fmt.Errorf("%w; %w", err, errHeld)
}
