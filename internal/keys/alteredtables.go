package keys

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/rewrite"
)

// alteredTables holds what a transaction knows of tables after it has changed some, or
// may have: see session/catalogchanges.go.
type alteredTables struct {
	facts map[*Table]*Facts
	at    uint64 // Altered.Times when facts were asked for

	sequences map[*keysource.Sequence]sequenceHere // of the engine
	reset     []*keysource.Sequence                // that were used after the transaction may have reset them

	schemas map[string]string // of names, by their place and themselves: see ProvenNaming
	plans   *rewrite.Cache    // that depend on these

	// Created names the tables that the text about to be sent creates.
	Created []string
}

// sequenceHere is the way to a sequence of the engine in a transaction: on a connection of
// our own, or within the transaction itself where that has locked the sequence or one of
// its tables.
type sequenceHere struct {
	way    *native.Reserver
	within bool
}

// close forgets what is known in the transaction alone. Numbers in hand of a sequence that
// it may have reset are given up: others may get them again.
func (a *alteredTables) close() {
	for _, one := range a.reset {
		one.Suspect()
	}
	*a = alteredTables{}
}

// isAltered reports whether the tables of the connection's transaction may be seen
// from there alone.
func (g *Session) isAltered() bool { return g != nil && g.Altered.On && !g.tables.Detached }

// here forgets what was asked before the last change of a table.
func (a *alteredTables) here(g *Session) *alteredTables {
	if a.at != g.Altered.Times || a.plans == nil {
		clear(a.facts)
		a.at, a.schemas, a.sequences = g.Altered.Times, map[string]string{}, map[*keysource.Sequence]sequenceHere{}
		a.plans = rewrite.NewCache(cacheEntries/64, cacheBytes/64)
	}
	return a
}

// factsHere is Tables.Facts for a transaction that has changed tables.
func (g *Session) factsHere(ctx context.Context, t *Table) (*Facts, error) {
	a := g.AlteredTables.here(g)
	if f := a.facts[t]; f != nil {
		return f, nil
	}
	f, err := g.tables.look(ctx, g, t, g.tables.storeWait)
	if err == nil && f.unseen == nil {
		if a.facts == nil {
			a.facts = map[*Table]*Facts{}
		}
		a.facts[t] = f
	}
	return f, err
}

// factsMade returns the facts of a table that is not there yet, but that the text creates
// in front of its INSERT. It returns f for any other table.
func (db *Tables) factsMade(ctx context.Context, g *Session, t *Table, f *Facts) (*Facts, error) {
	if f.unseen == nil || g == nil || !slices.Contains(g.AlteredTables.Created, t.Rule.Name) {
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
	made.made, made.Columns = true, slices.Clone(f.Columns)
	for i := range made.Columns {
		made.Columns[i] = ColumnFacts{schema: schema, table: t.Rule.Name, column: t.KeyColumns[i].Name}
	}
	return &made, nil
}

// openHere opens the row of a state while tables are changed. It compares the row with
// the keys in the table right away, since only this transaction sees them, and returns
// the row without that check. Other connections share the row.
func (g *Session) openHere(ctx context.Context, st stateStore, row sequence.Sequence, behind keysource.Remedy, ranked bool) (sequence.Sequence, error) {
	opened := row
	opened.At = store.Within(g.tables.Dialect(), g.Own())
	if opened.OnBehind = behind; !ranked {
		opened.OnBehind = keysource.RemedyWarn
	}
	if err := st.openSeen(ctx, opened); err != nil {
		return row, err
	}
	row.Create, row.Columns = false, slices.Clone(row.Columns)
	for i := range row.Columns {
		row.Columns[i].Unranked = true
	}
	return row, nil
}
