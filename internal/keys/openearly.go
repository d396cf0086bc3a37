package keys

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// To open a numbering, a connection of our own is asked. A transaction that waits for the
// answer keeps a connection meanwhile, and where a pooler or the server has no more of them
// than there are transactions, each waits for the others. So the numberings whose numbers
// belong to transactions are opened before the first transaction begins.

// earlyMost bounds the tables whose numberings are opened early: a transaction should not wait
// long for tables that it may not fill.
const earlyMost = 16

// earlyWait bounds the time that the first transaction waits: it may have nothing to do with
// these tables, of which one may be locked for long.
const earlyWait = 2 * time.Second

// earlyOpening opens numberings once for a database.
type earlyOpening struct {
	done atomic.Bool
	turn chan struct{} // holds one token
}

func newEarlyOpening() *earlyOpening { return &earlyOpening{turn: make(chan struct{}, 1)} }

// openEarly opens the numberings of the existing tables that the policy names one by one. A
// numbering that cannot be opened is left to the first INSERT, whose error says why.
func openEarly(ctx context.Context, g *Conn) {
	db := g.sources
	if db.early.done.Load() || db.StatesOnConnection() || db.Detached || db.Explains {
		return
	}
	wait := min(db.StoreWait, earlyWait)
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2) // the transaction needs time too
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case db.early.turn <- struct{}{}:
		defer func() { <-db.early.turn }()
	case <-ctx.Done():
		return
	}
	if db.early.done.Load() {
		return
	}
	defer db.early.done.Store(true)
	names := joinedTables(db.Candidates[0].Policy)
	if len(names) == 0 {
		return
	}
	e, err := g.AskEngine(ctx)
	if err != nil {
		return
	}
	if err := findHome(ctx, e, db.Tables); err != nil {
		return // the server may have no connection left, which one is not waited for here
	}
	for _, name := range names {
		if t, err := e.TableNamed(name); err == nil && ctx.Err() == nil {
			openTableEarly(ctx, e, t, db)
		}
	}
}

// findHome is Tables.home, which asks once.
func findHome(ctx context.Context, e *table.Engine, db *relation.Tables) error {
	if db.Places.Home.Load() != nil {
		return nil
	}
	q, err := db.Stores.Catalog()
	if err != nil {
		return err
	}
	return table.Within(ctx, func(ctx context.Context) error {
		where, err := catalog.Place(ctx, e.Dialect, q)
		if err == nil {
			db.Places.KeepHome(where)
		}
		return err
	})
}

// joinedTables returns the names of tables, as the policy has them, with numbers that belong
// to transactions and a state whose name is known.
func joinedTables(p *policy.Policy) (names []string) {
	for _, entry := range p.Entries() {
		if entry.IsGlob || len(names) == earlyMost {
			continue
		}
		for i := range entry.Rule.Keys {
			k := &entry.Rule.Keys[i]
			if k.Joined && k.Source.Kind != policy.KindMaxPlusOne && len(k.Values) == 0 {
				names = append(names, entry.Name)
				break
			}
		}
	}
	return names
}

// openTableEarly opens the numberings of a table that is there. A table that is not there
// is not noted as missing: the transaction may be about to make it.
func openTableEarly(ctx context.Context, e *table.Engine, t *table.Table, db *Sources) {
	t, err := db.TableAtHome(ctx, t)
	if err != nil || db.ModeOf(t) != policy.ModeFill {
		return
	}
	if _, err := db.CatalogTable(ctx, nil, e.Dialect, t.Rule.Schema, t.Rule.Name); err != nil {
		return
	}
	for i := range t.KeyColumns {
		if !t.KeyColumns[i].InTransaction {
			continue
		}
		c, err := db.DrawingFor(t, i).Counter(ctx)
		if err != nil {
			return
		}
		switch n := c.Numbers.(type) {
		case *numbering.JoinedRow:
			_ = n.Open(ctx, nil)
		case *numbering.Scoped:
			_ = n.Joined.Open(ctx, nil)
		}
	}
}
