package keys

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// Conn is a connection of the application as far as keys are drawn on it: its
// session, the counters that it alone has, and what was drawn in its transactions.
// Like a session, it is used by one goroutine at a time.
type Conn struct {
	session.Conn
	tables *Tables

	// JoinedDraws counts the numbers that were asked for in its transactions.
	JoinedDraws uint64
	drawnIn     uint64 // Begins when the last of them was asked for

	memory         *Counters            // of a database in memory, which it alone has; nil before the first
	forgot         uint64               // forgets of the tables when memory was last used
	memoryDetected bool                 // DetectOwnMemory has run
	ensured        bool                 // the tables of states were there
	ensuredAt      uint64               // gone of the tables then
	doubts         map[*counter]doubted // by counters whose keys its transaction found in use
	claimed        bool                 // a claim was noted in one of its transactions since the checkout

	gates         map[*Table]*gate // of tables that it alone sees
	temporary     temporaryGates
	ownClaims     *Counters // holds the claims of these columns; nil before the first
	AlteredTables alteredTables
	Drawn         Drawn
	own           ownTables
}

// Open sets g up for a connection that the driver has just opened.
func (g *Conn) Open(conn driver.Conn, db *Tables) {
	g.Conn, g.tables = session.New(conn, db.Server), db
	g.Altered.OnEnd = g.AlteredTables.close
	g.OnRename = g.doubtAll
}

// doubtAll gives up reserved numbers, has each numbering compared with its table before
// the next key, and has each name looked up again: after a RENAME the table's name may mean
// another table.
func (g *Conn) doubtAll() {
	g.tables.Places.Forget()
	g.tables.sources.counters.suspect()
	if g.memory != nil {
		g.memory.suspect()
	}
	g.AlteredTables.renamed = g.AlteredTables.counters != nil
}

// Close closes the connection and the counters that it alone has.
func (g *Conn) Close() error {
	err := g.Conn.Close()
	if g.memory != nil {
		// Their sources have nothing running.
		_ = g.memory.close(context.Background())
	}
	return err
}

// memoryCounters returns the counters of a database in memory, which the connection alone
// has.
func memoryCounters(g *Conn) *Counters {
	if g.memory == nil {
		g.memory = newCounters()
	}
	return g.memory
}

// memoryCountersNow is memoryCounters for a draw: the counters have forgotten what
// [ForgetStates] says.
func memoryCountersNow(ctx context.Context, g *Conn) *Counters {
	counters := memoryCounters(g)
	if n := g.tables.forgets.Load(); n != g.forgot {
		g.forgot = n
		_ = counters.forgetStates(ctx) // their sources have nothing to give back
	}
	return counters
}

// BeginTx creates the tables of states first, where the policy says so: tables that are
// created in a transaction may be rolled back. Before the first transaction it opens
// numberings: see openEarly.
func (g *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if policy.Mode(g.tables.Mode.Load()) == policy.ModeFill && !opts.ReadOnly {
		g.EnsureStates(ctx)
		openEarly(ctx, g)
	}
	return g.Conn.BeginTx(ctx, opts)
}

// ResetSession forgets what belongs to the last user of the connection.
func (g *Conn) ResetSession(ctx context.Context) error {
	g.claimed, g.doubts = false, nil
	g.Drawn.Forget()
	return g.Conn.ResetSession(ctx)
}

// noteJoinedDraw notes that a number is asked for in the transaction.
func (g *Conn) noteJoinedDraw() {
	g.JoinedDraws++
	g.drawnIn = g.Begins
}

// hasDrawn reports whether a number was asked for in the transaction.
func (g *Conn) hasDrawn() bool { return g.drawnIn == g.Begins }

// Spares reports that a statement may draw more keys than it stores: see [SpareKeys].
func (g *Conn) Spares() bool { return true }
