package fill

import (
	"context"
	"slices"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// alteredTables is what is known of tables in a transaction that has changed some, or
// may have: see catalogChanges.
type alteredTables struct {
	facts    map[*table]*tableFacts
	at       uint64 // times of the changes that facts know of
	counters *counterSet

	// made are the names of the tables that the text makes which is about to be
	// sent.
	made []string
}

// close forgets what holds in the transaction alone.
func (a *alteredTables) close() {
	if a.counters != nil {
		// What is reserved is lost: nobody else has waited for it.
		_ = a.counters.close(context.Background())
	}
	*a = alteredTables{}
}

// isAltered reports whether the tables of the connection's transaction may be seen
// from there alone.
func (g *keysConn) isAltered() bool { return g != nil && g.Altered.On }

// factsHere is facts for a transaction that has changed tables.
func (db *keyTables) factsHere(ctx context.Context, g *keysConn, t *table) (*tableFacts, error) {
	a := &g.alteredTables
	if a.at != g.Altered.Times {
		clear(a.facts)
		a.at = g.Altered.Times
	}
	if f := a.facts[t]; f != nil {
		return f, nil
	}
	f, err := db.look(ctx, g, t)
	if err == nil && f.unseen == nil {
		if a.facts == nil {
			a.facts = map[*table]*tableFacts{}
		}
		a.facts[t] = f
	}
	return f, err
}

// factsMade returns the facts of a table that is not there, but is made by the text
// in front of its INSERT: f where it is not.
func (db *keyTables) factsMade(ctx context.Context, g *keysConn, t *table, f *tableFacts) (*tableFacts, error) {
	if f.unseen == nil || g == nil || !slices.Contains(g.alteredTables.made, t.rule.Name) {
		return f, nil
	}
	schema := t.rule.Schema
	if schema == "" {
		at, err := g.PlaceNow(ctx)
		if err != nil {
			return nil, err
		}
		if schema, _, err = db.locate(ctx, g, at, t.rule.Name); err != nil {
			return nil, err
		}
	}
	made := *f
	made.made, made.keys = true, slices.Clone(f.keys)
	for i := range made.keys {
		made.keys[i] = keyFacts{schema: schema, table: t.rule.Name, column: t.keys[i].column}
	}
	return &made, nil
}

// countersHere returns where the counter of a key is kept for a transaction that has
// changed tables: with it, where its state is opened by looking at the table.
func (g *keysConn) countersHere(k *tableKey, all *counterSet) *counterSet {
	src := k.rule.Source
	if !countsInRows(src) || src.Kind == policy.KindRecycled {
		return all
	}
	if g.alteredTables.counters == nil {
		g.alteredTables.counters = newCounterSet()
	}
	return g.alteredTables.counters
}

// openHere opens the row of a state for a transaction that has changed tables, and
// returns what is left to expect of it: the keys in the table are compared here and
// now. The row itself is the others' too.
func (db *keyTables) openHere(ctx context.Context, g *keysConn, st *store.Store, row store.Sequence, behind keysource.Remedy, ranked bool) (store.Sequence, error) {
	opened := row
	opened.At = store.Within(db.Dialect(), g.Raw)
	if opened.OnBehind = behind; !ranked {
		opened.OnBehind = keysource.RemedyWarn
	}
	if _, err := st.Open(ctx, opened); err != nil {
		return row, err
	}
	row.Create, row.Columns = false, slices.Clone(row.Columns)
	for i := range row.Columns {
		row.Columns[i].Unranked = true
	}
	return row, nil
}
