package relation

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// AlteredTables holds what a transaction knows about tables after it has changed some
// tables, or may have changed some: see session/catalogchanges.go.
type AlteredTables struct {
	facts map[*table.Table]*table.Facts
	at    uint64 // the value of Altered.Times when facts were read

	Sequences map[*counting.Sequence]SequenceHere // how the transaction draws from sequences of the engine
	Reset     []*counting.Sequence                // sequences that were used after the transaction may have reset them

	schemas map[string]string // the schema that each name means, by search path and name: see ProvenNaming
	plans   *plans.Cache      // plans that depend on the facts and schemas above

	// Created lists the tables that the text about to be sent creates.
	Created []string
}

// SequenceHere says how a transaction draws from a sequence of the engine: on a
// connection of keyfill's own, or within the transaction itself if that has locked the
// sequence or one of its tables.
type SequenceHere struct {
	Way    *native.Reserver
	Within bool
}

// Close discards what only this transaction knows. It gives up the reserved numbers of
// a sequence that the transaction may have reset: other sessions may get the same
// numbers again.
func (a *AlteredTables) Close() {
	for _, one := range a.Reset {
		one.Suspect()
	}
	*a = AlteredTables{}
}

// IsAltered reports whether the connection's transaction may have changed tables, so
// that only its own connection sees them as they are.
func (g *Session) IsAltered() bool { return g != nil && g.Altered.On && !g.Tables.Detached }

// Here returns a. If a table was changed since the last call, it first discards all
// facts and plans.
func (a *AlteredTables) Here(g *Session) *AlteredTables {
	if a.at != g.Altered.Times || a.plans == nil {
		clear(a.facts)
		a.at, a.schemas, a.Sequences = g.Altered.Times, map[string]string{}, map[*counting.Sequence]SequenceHere{}
		a.plans = plans.NewCache(table.CacheEntries/64, table.CacheBytes/64)
	}
	return a
}

// factsHere returns the facts about a table, as Tables.Facts does, for a transaction
// that has changed tables.
func (g *Session) factsHere(ctx context.Context, t *table.Table) (*table.Facts, error) {
	a := g.AlteredTables.Here(g)
	if f := a.facts[t]; f != nil {
		return f, nil
	}
	f, err := g.Tables.look(ctx, g, t, g.Tables.StoreWait)
	if err == nil && f.Unseen == nil {
		if a.facts == nil {
			a.facts = map[*table.Table]*table.Facts{}
		}
		a.facts[t] = f
	}
	return f, err
}

// factsMade returns the facts about a table that does not exist yet, but that the text
// creates before its INSERT. For any other table it returns f.
func (db *Tables) factsMade(ctx context.Context, g *Session, t *table.Table, f *table.Facts) (*table.Facts, error) {
	if f.Unseen == nil || g == nil || !slices.Contains(g.AlteredTables.Created, t.Rule.Name) {
		return f, nil
	}
	schema := t.Rule.Schema
	if schema == "" {
		at, err := g.PlaceNow(ctx)
		if err != nil {
			return nil, err
		}
		if schema, _, err = db.locate(ctx, g, at, t.Rule.Name); err != nil {
			return nil, err
		}
	}
	made := *f
	made.Made, made.Columns = true, slices.Clone(f.Columns)
	for i := range made.Columns {
		made.Columns[i] = table.ColumnFacts{Schema: schema, Table: t.Rule.Name, Column: t.KeyColumns[i].Name}
	}
	return &made, nil
}

// OpenHere opens the row of a state (a stored counter) in a transaction that has
// changed tables. It compares the row with the keys in the table at once, since only
// this transaction sees them, and returns the row without that check, because other
// connections use the row too.
func (g *Session) OpenHere(ctx context.Context, st statestore.StateStore, row sequence.Sequence, behind keysource.Remedy, ranked bool) (sequence.Sequence, error) {
	opened := row
	opened.At = store.Within(g.Tables.Dialect(), g.Own())
	if opened.OnBehind = behind; !ranked {
		opened.OnBehind = keysource.RemedyWarn
	}
	if err := st.OpenSeen(ctx, opened); err != nil {
		return row, err
	}
	row.Create, row.Columns = false, slices.Clone(row.Columns)
	for i := range row.Columns {
		row.Columns[i].Unranked = true
	}
	return row, nil
}
