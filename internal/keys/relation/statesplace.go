package relation

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
)

// AskPlaceEarly asks a new connection for its place (its schema or search path) if a
// later query would change what a statement can read, such as ROW_COUNT(). If the query
// fails, it is sent again later.
func (g *Session) AskPlaceEarly(ctx context.Context) {
	if e := g.Tables.Engine.Load(); e != nil && e.Dialect.Place.Early && e.UsesPlace {
		g.Place.First, _ = g.PlaceNow(ctx)
	}
}

// home returns the place (the schema or search path) that a connection has when the
// database is opened.
func (db *Tables) home(ctx context.Context, g *Session) (*session.Location, error) {
	if home := db.Places.Home.Load(); home != nil {
		return home, nil
	}
	home, _, err := db.homeReading(ctx, lender(g), nil)
	return home, err
}

// homeReading does what home does. If the server accepts no more connections of keyfill,
// it asks on the connection that lent returns. If it has to ask, and the same query can
// read the facts about t, which may be nil, it returns these too.
func (db *Tables) homeReading(ctx context.Context, lent func() driver.Conn, t *table.Table) (*session.Location, *catalog.Table, error) {
	p := &db.Places
	if home := p.Home.Load(); home != nil {
		return home, nil, nil
	}
	if db.StatesOnConnection() {
		return p.Of(""), nil, nil
	}
	q, err := db.Stores.Catalog()
	if err != nil {
		return nil, nil, err
	}
	var where catalog.Where
	var found *catalog.Table
	err = table.AskCatalog(ctx, db.Dialect(), db.StoreWait, q, lent, func(ctx context.Context, q catalog.Querier) (err error) {
		if t != nil {
			if where, found, err = catalog.ReadPlace(ctx, db.Dialect(), q, t.Rule.Schema, t.Rule.Name); err == nil {
				return nil
			}
			found = nil // the facts are asked for again, with an error of their own
		}
		where, err = catalog.Place(ctx, db.Dialect(), q)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return p.KeepHome(where), found, nil
}

// locate returns the schema of the table that a name without a schema means in a place
// (a schema or search path), and whether the answer stays valid: a table that does not
// exist may be created later.
func (db *Tables) locate(ctx context.Context, g *Session, at *session.Location, name string) (schema string, lasts bool, err error) {
	if schema = at.SchemaOf(name); schema != "" && !g.IsAltered() {
		return schema, true, nil
	}
	var q catalog.Querier
	if db.StatesOnConnection() || g.IsAltered() {
		q = catalog.Conn(g.Own())
	} else if q, err = db.Stores.Catalog(); err != nil {
		return "", false, err
	}
	if g.IsAltered() {
		schema, _, err = catalog.Locate(ctx, db.Dialect(), q, at.Answer, name)
		return schema, false, err // the answer does not last, since a rollback may undo the change of the table
	}
	var found string
	var stays bool
	err = table.AskCatalog(ctx, db.Dialect(), db.StoreWait, q, lender(g), func(ctx context.Context, q catalog.Querier) (err error) {
		found, stays, err = catalog.Locate(ctx, db.Dialect(), q, at.Answer, name)
		return err
	})
	if err != nil {
		return "", false, err
	}
	return found, stays && found != "" && at.Keep(name, found), nil
}

// emptyPath is what a PostgreSQL session with an empty search path returns for its
// place.
const emptyPath = "{}"

// statesIn returns the schema of keyfill's tables, which is in the search path that a
// connection has when the database is opened.
func (db *Tables) statesIn(ctx context.Context, g *Session) (string, error) {
	p := &db.Places
	if schema := p.States.Load(); schema != nil {
		return *schema, nil
	}
	home, err := db.home(ctx, g)
	if err != nil {
		return "", err
	}
	if home.Answer == emptyPath {
		at, err := db.Stores.Get("")
		if err != nil {
			return "", err
		}
		schema := at.Alone(ctx)
		if schema != "" {
			p.States.Store(&schema)
		}
		return schema, nil
	}
	schema, lasts, err := db.locate(ctx, g, home, "keyfill_sequences")
	if err == nil && lasts {
		p.States.Store(&schema)
	}
	return schema, err
}

// ErrKeyTable is returned when the session is in another schema, where it would find
// another key table (an existing table of the application's that holds the numbers) or
// procedure, or none.
var ErrKeyTable = anchor.New("key-table", "the source's key table or procedure is not in the connection's schema: write schema.table into table:, or leave out via: procedure")

// States returns a store with keyfill's tables as the open transaction of the
// connection sees them; its statements prove that the transaction is open. own reports
// that the counter is in one of these tables. away reports that the session would find
// other tables, or none, without the schema's name.
func (g *Session) States(ctx context.Context, own bool) (st *store.Store, away bool, err error) {
	db := g.Tables
	d := db.Dialect()
	st = g.ProvenStore()
	if db.StatesOnConnection() || d.Place.Query == "" {
		return st, false, nil
	}
	at, err := g.PlaceNow(ctx)
	if err != nil {
		return nil, false, err
	}
	home, err := db.home(ctx, g)
	if err != nil {
		return nil, false, err
	}
	away = at != home
	if !away && (home.Answer != emptyPath || !own) {
		return st, false, nil
	}
	schema, err := db.statesIn(ctx, g)
	if err != nil || schema == "" {
		return st, away, err
	}
	return st.In(schema), away, nil
}
