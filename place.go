package keyfill

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// Which table a name means depends on the session: on its current database or
// schema, or its search path. A location is what it says of that; sessions with one
// answer take the same table for a name, but for temporary ones. It is asked once
// for a connection, and again when something was sent that may have changed it.

// location is one answer of sessions.
type location struct {
	answer string

	mu    sync.Mutex
	found map[string]string // the schemas of tables that are there, by name
}

// places are those that the connections of a database have been in.
type places struct {
	mu  sync.Mutex
	all map[string]*location

	// home is where the database is opened, as a connection of our own says; nil
	// until it was asked.
	home *location

	// states is the schema of the tables with the states; "" until it is known.
	states string
}

// maxPlaces bounds the places that are remembered; past it they are made anew.
const maxPlaces = 10000

// of returns the place of an answer.
func (p *places) of(answer string) *location {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[answer]
	if one == nil {
		one = &location{answer: answer, found: map[string]string{}}
		if p.all == nil {
			p.all = map[string]*location{}
		}
		if len(p.all) < maxPlaces {
			p.all[answer] = one
		}
	}
	return one
}

// knownPlace is the place that a connection has said its session is in, for as
// long as nothing was sent that may have changed it.
type knownPlace struct {
	at    *location // as it was asked last
	asked bool      // at holds

	// first is where the session was when it began, nil where that was not asked.
	first *location

	// changed says that something was sent that may have changed it: the end of a
	// transaction may take it back.
	changed bool

	// unsure says that such a statement was prepared: when it runs is not seen.
	unsure bool
}

// sends notes that a text is executed on the connection.
func (k *knownPlace) sends(d *dialect.Dialect, query string) {
	switch {
	case !k.asked:
		k.changed = true // for all that is known
	case !rewrite.LeavesPlace(d, query):
		k.asked, k.changed = false, true
	case k.changed && !isPlain(d, query):
		k.ends()
	}
}

// isPlain reports whether a text is one statement that ends no transaction, nor
// goes back in one.
func isPlain(d *dialect.Dialect, query string) bool {
	word, _ := single(d, query)
	return isAny(word, "insert", "replace", "update", "delete", "select", "with")
}

// prepares notes that a text is prepared on the connection.
func (k *knownPlace) prepares(d *dialect.Dialect, query string) {
	if !k.unsure && !rewrite.LeavesPlace(d, query) {
		k.asked, k.unsure = false, true
	}
}

// ends notes that a transaction has ended: PostgreSQL takes back what was SET
// in one that is rolled back, and SET LOCAL in any.
func (k *knownPlace) ends() {
	if k.changed {
		k.asked, k.changed = false, false
	}
}

// resets notes that the connection is used again by somebody else.
func (k *knownPlace) resets(about *drivers.Facts) {
	switch {
	case about.KeepsSession:
	case about.ResetsSession && k.first != nil:
		k.at, k.asked = k.first, !k.unsure
	default:
		k.asked = false
	}
}

// placeNow returns the place of the connection's session. An error is the driver's
// own.
func (g *guard) placeNow(ctx context.Context) (*location, error) {
	k := &g.place
	if k.asked {
		return k.at, nil
	}
	db := g.db
	answer, err := catalog.Place(ctx, db.known().dialect, catalog.Conn(g.conn))
	if err != nil {
		return nil, err
	}
	if db.onConnection() && !strings.Contains(answer, "\n") {
		answer = "" // nothing is attached
	}
	k.at, k.asked = db.places.of(answer), !k.unsure
	k.changed = k.changed && g.tx != txOutside
	return k.at, nil
}

// placeFirst asks a new connection, where later the question would change what a
// statement may ask for. What fails here is asked again.
func (db *database) placeFirst(ctx context.Context, g *guard) {
	if e := db.engine.Load(); e != nil && e.dialect.Place.Early && db.standIn == nil && e.placed {
		g.place.first, _ = g.placeNow(ctx)
	}
}

// home returns the place that the database is opened in.
func (db *keyTables) home(ctx context.Context) (*location, error) {
	p := &db.places
	p.mu.Lock()
	home := p.home
	p.mu.Unlock()
	if home != nil {
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
	err = db.askCatalog(ctx, db.known().dialect, func(ctx context.Context) (err error) {
		answer, err = catalog.Place(ctx, db.known().dialect, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	home = p.of(answer)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.home = home
	return home, nil
}

// locate returns the schema of the table that a name without one means in a place,
// and whether that holds from now on: a table that is not there may come.
func (db *keyTables) locate(ctx context.Context, g *guard, at *location, name string) (schema string, lasts bool, err error) {
	at.mu.Lock()
	schema = at.found[name]
	at.mu.Unlock()
	if schema != "" && !g.isAltered() {
		return schema, true, nil
	}
	var q catalog.Querier
	if db.onConnection() || g.isAltered() {
		q = catalog.Conn(g.conn)
	} else if q, err = db.sources.stores.catalog(); err != nil {
		return "", false, err
	}
	if g.isAltered() {
		schema, _, err = catalog.Locate(ctx, db.known().dialect, q, at.answer, name)
		return schema, false, err // it may be rolled back
	}
	err = db.askCatalog(ctx, db.known().dialect, func(ctx context.Context) (err error) {
		schema, lasts, err = catalog.Locate(ctx, db.known().dialect, q, at.answer, name)
		return err
	})
	if err != nil {
		return "", false, err
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	if lasts = lasts && schema != "" && len(at.found) < maxTables; lasts {
		at.found[name] = schema
	}
	return schema, lasts, nil
}

// statesIn returns the schema of the tables with the states, which is where the
// database is opened.
func (db *keyTables) statesIn(ctx context.Context, g *guard) (string, error) {
	p := &db.places
	p.mu.Lock()
	schema := p.states
	p.mu.Unlock()
	if schema != "" {
		return schema, nil
	}
	home, err := db.home(ctx)
	if err != nil {
		return "", err
	}
	schema, lasts, err := db.locate(ctx, g, home, "keyfill_sequences")
	if err == nil && lasts {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.states = schema
	}
	return schema, err
}

// errKeyTable is for a key table, or a procedure, that a session elsewhere would
// not find, or find another one.
var errKeyTable = errors.New("the connection's current schema is not the one that the database is opened in (USE, search_path): its key table or procedure is not found from there; write schema.table into the policy's table:, or take the numbering out of via: procedure")

// states returns the tables with the states as the transaction finds them that is
// open on the connection, which proves that it is, and whether its session would
// find others, or none, without their schema.
func (g *guard) states(ctx context.Context) (st *store.Store, away bool, err error) {
	db := g.db
	d := db.known().dialect
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
