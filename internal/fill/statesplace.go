package fill

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
)

// placeFirst asks a new connection, where later the question would change what a
// statement may ask for. What fails here is asked again.
func (db *Database) placeFirst(ctx context.Context, g *Conn) {
	if e := db.engine.Load(); e != nil && e.dialect.Place.Early && db.standIn == nil && e.placed {
		g.place.first, _ = g.placeNow(ctx)
	}
}

// home returns the place that the database is opened in.
func (db *keyTables) home(ctx context.Context) (*location, error) {
	p := &db.places
	if home := p.home.Load(); home != nil {
		return home, nil
	}
	if db.onConnection() {
		return p.of(""), nil
	}
	q, err := db.sources.stores.catalog()
	if err != nil {
		return nil, err
	}
	var answer string
	err = db.askCatalog(ctx, db.dialect(), func(ctx context.Context) (err error) {
		answer, err = catalog.Place(ctx, db.dialect(), q)
		return err
	})
	if err != nil {
		return nil, err
	}
	home := p.of(answer)
	p.home.Store(home)
	return home, nil
}

// locate returns the schema of the table that a name without one means in a place,
// and whether that holds from now on: a table that is not there may come.
func (db *keyTables) locate(ctx context.Context, g *Conn, at *location, name string) (schema string, lasts bool, err error) {
	if schema = at.schemaOf(name); schema != "" && !g.isAltered() {
		return schema, true, nil
	}
	var q catalog.Querier
	if db.onConnection() || g.isAltered() {
		q = catalog.Conn(g.conn)
	} else if q, err = db.sources.stores.catalog(); err != nil {
		return "", false, err
	}
	if g.isAltered() {
		schema, _, err = catalog.Locate(ctx, db.dialect(), q, at.answer, name)
		return schema, false, err // it may be rolled back
	}
	err = db.askCatalog(ctx, db.dialect(), func(ctx context.Context) (err error) {
		schema, lasts, err = catalog.Locate(ctx, db.dialect(), q, at.answer, name)
		return err
	})
	if err != nil {
		return "", false, err
	}
	return schema, lasts && schema != "" && at.keep(name, schema), nil
}

// statesIn returns the schema of the tables with the states, which is where the
// database is opened.
func (db *keyTables) statesIn(ctx context.Context, g *Conn) (string, error) {
	p := &db.places
	if schema := p.states.Load(); schema != nil {
		return *schema, nil
	}
	home, err := db.home(ctx)
	if err != nil {
		return "", err
	}
	schema, lasts, err := db.locate(ctx, g, home, "keyfill_sequences")
	if err == nil && lasts {
		p.states.Store(&schema)
	}
	return schema, err
}

// errKeyTable is for a key table, or a procedure, that a session elsewhere would
// not find, or find another one.
var errKeyTable = errors.New("the connection's current schema (USE, search_path) is not the one that the database was opened in, and its key table or procedure is not found from there: write schema.table into the policy's table:, or take the numbering out of via: procedure")

// states returns the tables with the states as the transaction finds them that is
// open on the connection, which proves that it is, and whether its session would
// find others, or none, without their schema.
func (g *Conn) states(ctx context.Context) (st *store.Store, away bool, err error) {
	db := g.DB
	d := db.dialect()
	st = g.joinedStore()
	if db.onConnection() || d.Place.Query == "" {
		return st, false, nil
	}
	at, err := g.placeNow(ctx)
	if err != nil {
		return nil, false, err
	}
	home, err := db.home(ctx)
	if err != nil || at == home {
		return st, false, err
	}
	schema, err := db.statesIn(ctx, g)
	if err != nil || schema == "" {
		return st, true, err
	}
	return st.In(schema), true, nil
}
