package relation

import (
	"context"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/policy"
)

// RowNeeds says which of keyfill's tables a database needs, if the states (the stored
// counters) are read on the connection of each statement.
type RowNeeds struct {
	any    bool // there are sources whose stored counters are read on the connection of each statement
	Ensure bool // keyfill may create the tables
	claims bool // sources with stored counters in other stores claim their columns
}

func (db *Tables) needs() RowNeeds {
	var n RowNeeds
	if !db.StatesOnConnection() {
		return n
	}
	for _, src := range db.Candidates[0].Policy.Sources() {
		here := table.CountsInRows(src) && src.Store == ""
		n.any = n.any || here
		n.Ensure = n.Ensure || here && src.EnsureSchema
		n.claims = n.claims || !here && policy.Stateful(src) && table.NeedsClaim(src) || src.Table != nil
	}
	return n
}

// SetUpSQLite prepares a new connection to SQLite, while no transaction is open on it: it
// finds out whether the connection has a database of its own (in memory), and creates
// keyfill's tables. With the policy's mode dry_run or off, the first key does both. Errors
// are ignored: the first key tries again and returns the error.
func (g *Session) SetUpSQLite(ctx context.Context) {
	if policy.Mode(g.Tables.Mode.Load()) != policy.ModeFill {
		return
	}
	g.DetectOwnMemory(ctx)
	g.EnsureStates(ctx)
}

// DetectOwnMemory finds out, once, whether the connection has a database of its own (in
// memory).
func (g *Session) DetectOwnMemory(ctx context.Context) {
	if !g.Tables.Rows.any || g.memoryDetected {
		return
	}
	g.memoryDetected = true
	g.InMemory = inMemory(ctx, catalog.Conn(g.Own()))
}

// EnsureStates creates keyfill's tables if the policy allows it, once for each
// connection.
func (g *Session) EnsureStates(ctx context.Context) {
	gone := g.Tables.Gone.Load()
	if !g.Tables.Rows.Ensure && !g.Tables.Rows.claims || g.ensured && g.ensuredAt == gone || g.Tx != session.Outside {
		return
	}
	g.ensuredAt = gone
	on := store.On(g.Tables.Candidates[0].Dialect, g.Own())
	if g.Tables.Rows.Ensure {
		err := schema.Of(on).Ensure(ctx)
		for again := (session.Again{}); err != nil && session.SendsAgain(ctx, &g.Conn, &again, err); {
			err = schema.Of(on).Ensure(ctx)
		}
		g.ensured = err == nil
		return
	}
	schema.Of(on).EnsureClaims(ctx)
	g.ensured = true
}

// EnsureStatesAgain creates keyfill's tables if they were dropped since they were last
// found, and reports whether it has created them.
func (g *Session) EnsureStatesAgain(ctx context.Context) bool {
	if !g.Tables.Rows.Ensure || g.Tx != session.Outside || schema.Of(store.On(g.Tables.Candidates[0].Dialect, g.Own())).IsThere(ctx) {
		return false
	}
	g.ensured = false
	g.EnsureStates(ctx)
	return g.ensured
}

// inMemory reports whether a database of SQLite has no file: then only this connection
// sees it, or the connections that share its cache.
func inMemory(ctx context.Context, q catalog.Querier) bool {
	rows, err := q.Rows(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil || len(rows) != 1 {
		return false
	}
	switch file := rows[0][0].(type) {
	case nil:
		return true
	case string:
		return file == ""
	case []byte:
		return len(file) == 0
	}
	return false
}

// memoryState records what is known about SQLite's database: it was not asked yet, all
// connections share one database, or each has its own, as the DSN says (in memory, or
// with an empty name).
type memoryState = int32

const (
	memoryUnasked memoryState = iota
	memoryShared
	memoryOwn
)

// askMemory finds out, once for all connections, whether each connection has a database
// of its own. If several connections share a database in memory through their cache, it
// also reports that each has its own.
func askMemory(ctx context.Context, db *Tables, g *Session) {
	switch {
	case db.asked.memory.Load() != memoryUnasked || g == nil || !db.StatesOnConnection():
	case g.InMemory || !g.memoryDetected && inMemory(ctx, catalog.Conn(g.Raw)):
		db.asked.memory.Store(memoryOwn)
	default:
		db.asked.memory.Store(memoryShared)
	}
}

// LockBeforeRead takes SQLite's lock to write before something is read inside a
// transaction, by a statement that changes nothing in the table of the INSERT. A
// transaction that has read before it writes does not wait for another connection that
// writes, and fails if one has written since: errors SQLITE_BUSY and
// SQLITE_BUSY_SNAPSHOT, https://www.sqlite.org/rescode.html.
//
// If the statement fails, as on a view, the error is ignored, since the next statement
// shows whether the INSERT fails too. An error that may have ended the transaction is
// returned.
func (db *Tables) LockBeforeRead(ctx context.Context, g *Session, t *table.Table, i int) error {
	if !db.StatesOnConnection() || g.Tx == session.Outside {
		return nil
	}
	column := store.Column{Schema: t.Rule.Schema, Table: t.Rule.Name, Name: t.KeyColumns[i].Name}
	return keycolumn.Of(store.Within(db.Candidates[0].Dialect, g.Own()), column).LockFirst(ctx)
}

// IsInMemory reports whether a database of SQLite has no file.
func IsInMemory(ctx context.Context, q catalog.Querier) bool { return inMemory(ctx, q) }
