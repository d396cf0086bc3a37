package relation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
)

// Facts returns the catalog's facts about a table. It queries the catalog if the facts
// are not known. It returns an error if a column cannot hold its keys.
func (db *Tables) Facts(ctx context.Context, g *Session, t *table.Table) (*table.Facts, error) {
	if t.AsksCatalog && t.IsOfSession(db.Dialect()) {
		return db.factsOfOwn(ctx, g, t)
	}
	if t.AsksCatalog && g.IsAltered() {
		f, err := g.factsHere(ctx, t)
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	gate := g.GateOf(t)
	if f := gate.Facts.Load(); f != nil {
		return f, nil
	}
	if !t.AsksCatalog {
		t.Gate.Facts.Store(&table.Facts{Columns: make([]table.ColumnFacts, len(t.KeyColumns))})
		return t.Gate.Facts.Load(), nil
	}
	if db.StatesOnConnection() {
		return db.factsOnConnection(ctx, g, t)
	}
	if f, err := gate.Recent(); f != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	wait, err := gate.TakeTurn(ctx, db.StoreWait)
	if err != nil {
		return nil, err
	}
	defer gate.EndTurn()
	if f := gate.Facts.Load(); f != nil {
		return f, nil
	}
	f, err := db.look(ctx, g, t, wait)
	switch {
	case err != nil:
		return nil, err
	case f.Unseen != nil:
		gate.Again(f, nil)
		return db.factsMade(ctx, g, t, f)
	default:
		gate.Keep(f)
	}
	return f, nil
}

// factsOnConnection returns the same facts as Tables.Facts, from the statement's own
// connection, as on SQLite. There the catalog answers at once, so a table that is
// missing or unfit is queried each time. The facts about a temporary table are used on
// this connection only.
func (db *Tables) factsOnConnection(ctx context.Context, g *Session, t *table.Table) (*table.Facts, error) {
	f, err := db.look(ctx, g, t, db.StoreWait)
	askMemory(ctx, db, g) // called after look, which takes the lock to write before anything is read
	switch {
	case err != nil:
		return nil, err
	case f.Unseen != nil:
		return db.factsMade(ctx, g, t, f)
	case f.Schema == "temp" && !IsOwn(db, t):
		g.temporary.Keep(t, f, g.Columns.Since())
	default:
		g.GateOf(t).Keep(f)
	}
	return f, nil
}

// look queries the catalog about a table, waiting at most wait, and checks the key
// columns.
func (db *Tables) look(ctx context.Context, g *Session, t *table.Table, wait time.Duration) (*table.Facts, error) {
	e := db.AnyEngine()
	if err := db.LockBeforeRead(ctx, g, t, 0); err != nil {
		return nil, err
	}
	found, err := catalogTable(ctx, g, e.Dialect, t.Rule.Schema, t.Rule.Name, db, wait)
	if errors.Is(err, catalog.ErrNoTable) {
		return &table.Facts{Columns: make([]table.ColumnFacts, len(t.KeyColumns)), Unseen: meant(ctx, db, g, t, err)}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.Check(e.Dialect, found); err != nil {
		g.GateOf(t).Again(nil, err)
		return nil, err
	}
	f := &table.Facts{Schema: found.Schema, LastIDUnread: table.ReadsNoLastID(found), OwnConflicts: found.ConflictClauses, Rows: table.NewRowFacts(e.Dialect, t, found)}
	for i := range t.KeyColumns {
		if t.KeyColumns[i].Rule.From != nil {
			f.Found = found
		}
		f.Columns = append(f.Columns, table.FactsOfColumn(found, found.Column(e.Dialect, t.KeyColumns[i].Name)))
		f.Columns[i].Counter = table.CounterOf(e.Dialect, found, found.Column(e.Dialect, t.KeyColumns[i].Name))
		f.HasCounter = f.HasCounter || f.Columns[i].Counter != nil
	}
	if t.LastIDKey >= 0 && !t.KeyColumns[t.LastIDKey].Rule.SaysLastInsertID {
		f.NumbersOther = slices.ContainsFunc(found.Columns, func(c catalog.Column) bool {
			return (c.RowID || c.Identity != "") && c.Name != f.Columns[t.LastIDKey].Column
		})
	}
	return f, nil
}

// meantWait is how long to wait for the names of other tables.
const meantWait = time.Second

// meant adds similar names of existing tables to the error for a missing table. It adds
// none if the session may see other tables than a connection of keyfill's own.
func meant(ctx context.Context, db *Tables, g *Session, t *table.Table, missing error) error {
	d := db.AnyEngine().Dialect
	ctx, cancel := context.WithTimeout(ctx, meantWait)
	defer cancel()
	if db.StatesOnConnection() {
		return catalog.Meant(ctx, d, catalog.Conn(g.Own()), t.Rule.Schema, t.Rule.Name, missing)
	}
	q, err := db.Stores.Catalog()
	if g.IsAltered() || err != nil {
		return missing
	}
	var named error
	if err := table.Within(ctx, func(ctx context.Context) error {
		named = catalog.Meant(ctx, d, q, t.Rule.Schema, t.Rule.Name, missing)
		return nil
	}); err != nil {
		return missing
	}
	return named
}

// CatalogTable queries the catalog about a table, and waits at most store_wait for the
// answer. On SQLite it uses the statement's connection, since another connection could
// wait for the statement's transaction. On other engines it uses a connection of
// keyfill's own, so that the application's session is not changed.
func (db *Tables) CatalogTable(ctx context.Context, g *Session, d *dialect.Dialect, schema, name string) (*catalog.Table, error) {
	return catalogTable(ctx, g, d, schema, name, db, db.StoreWait)
}

// catalogTable does what Tables.CatalogTable does, and waits at most wait.
func catalogTable(ctx context.Context, g *Session, d *dialect.Dialect, schema, name string, db *Tables, wait time.Duration) (*catalog.Table, error) {
	switch {
	case db.StatesOnConnection() && g.Tx == session.Outside:
		return catalog.ReadOutside(ctx, d, catalog.Conn(g.Own()), schema, name)
	case db.StatesOnConnection() || g.IsAltered():
		return catalog.Read(ctx, d, catalog.Conn(g.Own()), schema, name)
	}
	if t := g.takeAhead(schema, name); t != nil {
		return t, nil
	}
	q, err := db.Stores.Catalog()
	if err != nil {
		return nil, err
	}
	var t *catalog.Table
	err = Apart(ctx, g, []store.Column{{Table: name}}, func(ctx context.Context) error {
		return table.AskCatalog(ctx, d, wait, q, lender(g), func(ctx context.Context, q catalog.Querier) (err error) {
			t, err = catalog.Read(ctx, d, q, schema, name)
			return err
		})
	})
	switch {
	case err == ErrOwnLocks:
		return catalog.Read(ctx, d, catalog.Conn(g.Own()), schema, name)
	case err != nil:
		return nil, err
	}
	return t, nil
}
