package relation

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// A session of SQL Server may have a table #t that no other session sees, and another
// session may have its own table of that name. keyfill queries the columns of such a
// table on the connection of the INSERT. Its keys concern no other session, so the
// state (the stored counter) is neither bound to the table nor compared with it, as for
// a table that the catalog does not show.

// ownTables records the session's own tables whose columns were checked.
type ownTables struct {
	fit   map[*table.Table]bool
	since uint64 // the value of Columns.Since of the session when fit was last filled
}

// factsOfOwn returns the facts about a table that only its session sees. If there is no
// such table, the INSERT will fail with the engine's error.
func (db *Tables) factsOfOwn(ctx context.Context, g *Session, t *table.Table) (*table.Facts, error) {
	f := &table.Facts{Columns: make([]table.ColumnFacts, len(t.KeyColumns)), Unseen: &catalog.Error{
		Table: t.Rule.Name, Err: catalog.ErrNoTable, Detail: "create it on the connection of the INSERT, since no other one sees it",
	}}
	if g == nil {
		return f, nil
	}
	if since := g.Columns.Since(); since != g.own.since {
		g.own = ownTables{since: since}
	}
	if g.own.fit[t] {
		return f, nil
	}
	found, err := catalog.Read(ctx, db.Dialect(), catalog.Conn(g.Own()), t.Rule.Schema, t.Rule.Name)
	if errors.Is(err, catalog.ErrNoTable) {
		return f, nil
	}
	if err == nil {
		err = t.Check(db.Dialect(), found)
	}
	if err != nil {
		return nil, err
	}
	if g.own.fit == nil {
		g.own.fit = map[*table.Table]bool{}
	}
	g.own.fit[t] = true
	return f, nil
}

// GateOf returns the gate of a table (what is known from the catalog) on the
// connection. For a table that only this connection sees, it is a gate of the
// connection's own. g may be nil.
func (g *Session) GateOf(t *table.Table) *table.Gate {
	switch {
	case g == nil:
		return t.Gate
	case IsOwn(g.Tables, t):
		own := g.gates[t]
		if own == nil {
			own = table.NewGate()
			if g.gates == nil {
				g.gates = map[*table.Table]*table.Gate{}
			}
			g.gates[t] = own
		}
		return own
	case len(g.temporary.Gates) > 0 && g.temporary.Since == g.Columns.Since():
		if own := g.temporary.Gates[t]; own != nil {
			return own
		}
	}
	return t.Gate
}

// IsOwn reports whether each connection has its own table of that name.
func IsOwn(db *Tables, t *table.Table) bool {
	return db.asked.memory.Load() == memoryOwn || t.Rule.Schema == "temp" && db.StatesOnConnection()
}
