package keys

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
)

// Facts returns the catalog's facts about a table. It asks the catalog where the facts
// are not known. It fails where a column cannot hold its keys.
func (db *Tables) Facts(ctx context.Context, g *Session, t *Table) (*Facts, error) {
	if t.AsksCatalog && t.isOfSession(db.Dialect()) {
		return db.factsOfOwn(ctx, g, t)
	}
	if t.AsksCatalog && g.isAltered() {
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
		t.Gate.Facts.Store(&Facts{Columns: make([]ColumnFacts, len(t.KeyColumns))})
		return t.Gate.Facts.Load(), nil
	}
	if db.StatesOnConnection() {
		return db.factsOnConnection(ctx, g, t)
	}
	if f, err := gate.recent(); f != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	wait, err := gate.takeTurn(ctx, db.storeWait)
	if err != nil {
		return nil, err
	}
	defer gate.endTurn()
	if f := gate.Facts.Load(); f != nil {
		return f, nil
	}
	f, err := db.look(ctx, g, t, wait)
	switch {
	case err != nil:
		return nil, err
	case f.unseen != nil:
		gate.again(f, nil)
		return db.factsMade(ctx, g, t, f)
	default:
		gate.keep(f)
	}
	return f, nil
}

// factsOnConnection is Tables.Facts where the statement's own connection is asked, as on
// SQLite. It answers at once, so that it is asked each time for a table that is not there,
// or is unfit. What it says of a temporary table is true of no other connection.
func (db *Tables) factsOnConnection(ctx context.Context, g *Session, t *Table) (*Facts, error) {
	f, err := db.look(ctx, g, t, db.storeWait)
	askMemory(ctx, db, g) // after look, which takes the lock to write before anything is read
	switch {
	case err != nil:
		return nil, err
	case f.unseen != nil:
		return db.factsMade(ctx, g, t, f)
	case f.schema == "temp" && !isOwn(db, t):
		g.temporary.keep(t, f, g.Columns.Since())
	default:
		g.GateOf(t).keep(f)
	}
	return f, nil
}

// look asks the catalog for a table, for as long as wait, and checks its key columns.
func (db *Tables) look(ctx context.Context, g *Session, t *Table, wait time.Duration) (*Facts, error) {
	e := db.AnyEngine()
	if err := db.LockBeforeRead(ctx, g, t, 0); err != nil {
		return nil, err
	}
	found, err := catalogTable(ctx, g, e.Dialect, t.Rule.Schema, t.Rule.Name, db, wait)
	if errors.Is(err, catalog.ErrNoTable) {
		return &Facts{Columns: make([]ColumnFacts, len(t.KeyColumns)), unseen: meant(ctx, db, g, t, err)}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := t.check(e.Dialect, found); err != nil {
		g.GateOf(t).again(nil, err)
		return nil, err
	}
	f := &Facts{schema: found.Schema, LastIDUnread: readsNoLastID(found), OwnConflicts: found.ConflictClauses, Rows: NewRowFacts(e.Dialect, t, found)}
	for i := range t.KeyColumns {
		f.Columns = append(f.Columns, factsOfColumn(found, found.Column(e.Dialect, t.KeyColumns[i].Name)))
		f.Columns[i].Counter = counterOf(e.Dialect, found, found.Column(e.Dialect, t.KeyColumns[i].Name))
		f.HasCounter = f.HasCounter || f.Columns[i].Counter != nil
	}
	if t.LastIDKey >= 0 && !t.KeyColumns[t.LastIDKey].Rule.SaysLastInsertID {
		f.NumbersOther = slices.ContainsFunc(found.Columns, func(c catalog.Column) bool {
			return (c.RowID || c.Identity != "") && c.Name != f.Columns[t.LastIDKey].column
		})
	}
	return f, nil
}

// meantWait is for how long the names of other tables are waited for.
const meantWait = time.Second

// meant returns the error of a table that is not there with the names that were likely
// meant. A session that may see other tables than a connection of our own is not asked.
func meant(ctx context.Context, db *Tables, g *Session, t *Table, missing error) error {
	d := db.AnyEngine().Dialect
	ctx, cancel := context.WithTimeout(ctx, meantWait)
	defer cancel()
	if db.StatesOnConnection() {
		return catalog.Meant(ctx, d, catalog.Conn(g.Own()), t.Rule.Schema, t.Rule.Name, missing)
	}
	q, err := db.stores.catalog()
	if g.isAltered() || err != nil {
		return missing
	}
	var named error
	if err := within(ctx, func(ctx context.Context) error {
		named = catalog.Meant(ctx, d, q, t.Rule.Schema, t.Rule.Name, missing)
		return nil
	}); err != nil {
		return missing
	}
	return named
}

// CatalogTable asks the catalog for a table, and waits for the answer for store_wait at
// most. On SQLite it asks on the statement's connection, since another connection could
// wait for its transaction; elsewhere on a connection of our own, so that the
// application's session is not changed.
func (db *Tables) CatalogTable(ctx context.Context, g *Session, d *dialect.Dialect, schema, name string) (*catalog.Table, error) {
	return catalogTable(ctx, g, d, schema, name, db, db.storeWait)
}

// catalogTable is Tables.CatalogTable with another wait.
func catalogTable(ctx context.Context, g *Session, d *dialect.Dialect, schema, name string, db *Tables, wait time.Duration) (*catalog.Table, error) {
	if db.StatesOnConnection() || g.isAltered() {
		return catalog.Read(ctx, d, catalog.Conn(g.Own()), schema, name)
	}
	q, err := db.stores.catalog()
	if err != nil {
		return nil, err
	}
	var t *catalog.Table
	err = apart(ctx, g, []store.Column{{Table: name}}, func(ctx context.Context) error {
		return askCatalog(ctx, d, wait, q, lentConn(g), func(ctx context.Context, q catalog.Querier) (err error) {
			t, err = catalog.Read(ctx, d, q, schema, name)
			return err
		})
	})
	switch {
	case err == errOwnLocks:
		return catalog.Read(ctx, d, catalog.Conn(g.Own()), schema, name)
	case err != nil:
		return nil, err
	}
	return t, nil
}
