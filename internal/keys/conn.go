package keys

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// Conn is a connection of the application on which keys are drawn: its session, and the
// counters that only this connection uses. Like a session, it is used by one goroutine
// at a time.
type Conn struct {
	relation.Session
	sources *Sources
	own     counter.ConnCounters
}

// Open sets g up for a connection that the driver has just opened.
func (g *Conn) Open(conn driver.Conn, s *Sources) {
	g.Conn, g.Tables, g.sources = session.New(conn, s.Server), s.Tables, s
	g.Altered.OnEnd = g.endAltered
	g.OnRename = g.doubtAll
}

// endAltered discards what was learnt in a transaction that has changed tables, when
// the transaction ends.
func (g *Conn) endAltered() {
	g.AlteredTables.Close()
	g.own.EndTransaction()
}

// doubtAll gives up reserved numbers, makes each counter compare its next number with
// its table, and makes each table's name be looked up again: after a RENAME the name
// may mean another table.
func (g *Conn) doubtAll() {
	g.Tables.Places.Forget()
	g.sources.counters.Suspect()
	g.own.Suspect()
}

// Close closes the connection and the counters that only this connection uses.
func (g *Conn) Close() error {
	err := g.Conn.Close()
	g.own.Close()
	return err
}

// BeginTx begins a transaction. Before that it creates keyfill's tables, if the policy
// says so: tables that are created in a transaction may be rolled back. Before the
// first transaction it also opens counters: see openEarly.
func (g *Conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if policy.Mode(g.Tables.Mode.Load()) == policy.ModeFill && !opts.ReadOnly {
		g.EnsureStates(ctx)
		openEarly(ctx, g)
	}
	return g.Conn.BeginTx(ctx, opts)
}

// ResetSession discards what belongs to the last user of the connection.
func (g *Conn) ResetSession(ctx context.Context) error {
	g.own.EndCheckout()
	g.Drawn.Forget()
	return g.Conn.ResetSession(ctx)
}
