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

// To open a counter (to read its stored state), keyfill needs a connection of its own.
// A transaction that waits for the result keeps its connection meanwhile. If a pooler
// or the server allows no more connections than there are transactions, all of them
// would wait for one another. So the counters whose numbers belong to transactions are
// opened before the first transaction begins.

// earlyMost is the greatest number of tables whose counters are opened early: a
// transaction should not wait long for tables that it perhaps does not use.
const earlyMost = 16

// earlyWait is how long the first transaction waits at most: perhaps it does not use these
// tables, one of which may be locked for a long time.
const earlyWait = 2 * time.Second

// earlyOpening records whether the counters of a database were opened early, which
// happens once.
type earlyOpening struct {
	done atomic.Bool
	turn chan struct{} // holds one token: one caller opens at a time
}

func newEarlyOpening() *earlyOpening { return &earlyOpening{turn: make(chan struct{}, 1)} }

// openEarly opens the counters of those existing tables that the policy names without a
// glob. If a counter cannot be opened, the first INSERT that needs it returns the
// error.
func openEarly(ctx context.Context, g *Conn) {
	db := g.sources
	if db.early.done.Load() || db.StatesOnConnection() || db.Detached || db.Explains {
		return
	}
	wait := min(db.StoreWait, earlyWait)
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2) // leave the transaction some of its time
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
		return // the server may have no connection left; do not wait for one here
	}
	for _, name := range names {
		if t, err := e.TableNamed(name); err == nil && ctx.Err() == nil {
			openTableEarly(ctx, e, t, db)
		}
	}
}

// findHome finds out where the database is opened, as Tables.home does, but asks only
// once.
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

// joinedTables returns the names, as the policy has them, of tables whose numbers
// belong to transactions and whose stored counter has a fixed name.
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

// openTableEarly opens the counters of an existing table. It does not record that a
// table is missing, since the transaction may be about to create it.
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
