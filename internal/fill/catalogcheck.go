package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// tableFacts is what the engine's catalog says of a table, as far as it
// matters for its keys.
type tableFacts struct {
	keys []keyFacts // as the table's keys

	// quiet says that nothing of the table's reads LAST_INSERT_ID() at an
	// INSERT: no trigger and no default.
	quiet bool

	// otherID says that the engine numbers another column of the table, by which
	// LastInsertId means that one.
	otherID bool

	// ownConflicts says that the table itself may leave out or replace rows that
	// clash, whatever the statement says.
	ownConflicts bool

	rows *rowFacts

	// unseen is that the catalog does not show the table: it is a temporary
	// one, or not there yet. nil: it does.
	unseen error

	// made says that it is not there yet, but the text makes it that inserts into
	// it.
	made bool
}

// keyFacts is what the catalog says of a key column.
type keyFacts struct {
	schema, table, column string // as they are stored; table "" when it is not found

	leads  bool     // it is the first of an index
	alone  bool     // a unique index on it and no other column keeps a key from being there twice
	counts bool     // the engine numbers it too, and follows the ids that it is brought
	ranked bool     // the greatest key, an integer, is quickly found
	rowID  bool     // SQLite: it is the rowid
	unique []string // as duplicate-key errors name the unique indexes that it leads
}

// gate asks the catalog once for a table, before its first fill.
type gate struct {
	facts atomic.Pointer[tableFacts]
	turn  chan struct{} // one asks at a time

	// rows is what is known of the table's rows: see rowFacts. It is not asked for
	// before the time of mute, in nanoseconds.
	rows atomic.Pointer[rowFacts]
	mute atomic.Int64

	// values are plans by which the values of a row are read: see valuesOf.
	values *rewrite.Cache

	// counters are those of the keys whose state has one name, once they are
	// made.
	counters []atomic.Pointer[counter]

	mu      sync.Mutex
	missing *tableFacts // the table is not there
	failed  error       // what the table was found unfit for
	until   time.Time   // for how long the two hold
}

// recheck is for how long a table that was found unfit, or not at all, is not
// looked at again.
const recheck = time.Second

func newGate(keys int) *gate {
	return &gate{values: newValues(), turn: make(chan struct{}, 1), counters: make([]atomic.Pointer[counter], keys)}
}

// facts returns what the catalog says of a table, of which it is asked unless
// that is known. A column that cannot take its keys is an error.
func (db *keyTables) facts(ctx context.Context, g *keysConn, t *table) (*tableFacts, error) {
	if t.looked && g.isAltered() && db.standIn == nil {
		f, err := db.factsHere(ctx, g, t)
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	if f := t.gate.facts.Load(); f != nil {
		return f, nil
	}
	if !t.looked || db.standIn != nil {
		t.gate.facts.Store(&tableFacts{keys: make([]keyFacts, len(t.keys))})
		return t.gate.facts.Load(), nil
	}
	if f, err := t.gate.recent(); f != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	if !db.OnConnection() {
		select {
		case t.gate.turn <- struct{}{}:
			defer func() { <-t.gate.turn }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f := t.gate.facts.Load(); f != nil {
			return f, nil
		}
	}
	f, err := db.look(ctx, g, t)
	switch {
	case err != nil:
		return nil, err
	case f.unseen != nil:
		t.gate.again(f, nil)
		return db.factsMade(ctx, g, t, f)
	default:
		t.gate.rows.Store(f.rows)
		t.gate.facts.Store(f)
	}
	return f, nil
}

// recent returns what was found a moment ago and may change: that the table is
// unfit, or is not there.
func (g *gate) recent() (*tableFacts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.missing, g.failed
	}
	return nil, nil
}

// again notes what is to be looked at again in a moment.
func (g *gate) again(missing *tableFacts, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.failed, g.until = missing, failed, time.Now().Add(recheck)
}

// look asks the catalog.
func (db *keyTables) look(ctx context.Context, g *keysConn, t *table) (*tableFacts, error) {
	e := db.known()
	if err := db.lock(ctx, g, t, 0); err != nil {
		return nil, err
	}
	found, err := db.tableIn(ctx, g, e.dialect, t.rule.Schema, t.rule.Name)
	if errors.Is(err, catalog.ErrNoTable) {
		return &tableFacts{keys: make([]keyFacts, len(t.keys)), unseen: err}, nil
	}
	if err != nil {
		return nil, err
	}
	f := &tableFacts{quiet: isQuiet(found), ownConflicts: found.ConflictClauses, rows: newRowFacts(e.dialect, t, found)}
	for i := range t.keys {
		k := &t.keys[i]
		if err := found.Check(e.dialect, k.wanted()); err != nil {
			err = t.newError(t.Table, k.column, -1, err)
			t.gate.again(nil, err)
			return nil, err
		}
		f.keys = append(f.keys, factsOfColumn(found, found.Column(e.dialect, k.column)))
	}
	if t.lastID >= 0 && !t.keys[t.lastID].rule.SaysLastInsertID {
		f.otherID = slices.ContainsFunc(found.Columns, func(c catalog.Column) bool {
			return (c.RowID || c.Identity != "") && c.Name != f.keys[t.lastID].column
		})
	}
	return f, nil
}

// uuidLength is how many characters a UUID has as text.
const uuidLength = 36

// isQuiet reports whether a table has no place of its own that reads
// LAST_INSERT_ID() at an INSERT.
func isQuiet(t *catalog.Table) bool {
	return !t.View && t.InsertTriggers == catalog.No &&
		!slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.LastKeyDefault })
}

// wanted is what the catalog must say of the key's column.
func (k *tableKey) wanted() catalog.Key {
	length := k.width()
	if k.shape == nil && k.layout == dialect.SequentialAsString && !k.rule.Integer {
		length = uuidLength
	}
	return catalog.Key{
		Column:    k.column,
		Length:    length,
		Integer:   k.rule.Integer,
		Layout:    k.layout,
		MaxBits:   k.bits(),
		State:     k.rule.Source.Stateful(),
		Exclusive: k.rule.Source.Exclusive,
		COMB:      k.rule.Source.Kind == policy.KindCOMB,
		Native:    k.rule.Source.Kind == policy.KindNative,
		Cased:     k.cased(),
	}
}

// bits returns how many bits an integer key has.
func (k *tableKey) bits() int {
	if _, ok := k.shape.(*keysource.Pseudorandom); ok {
		return min(k.rule.MaxBits, pseudorandomBits)
	}
	return k.rule.MaxBits
}

// pseudorandomBits is how many bits the keys of a pseudorandom have.
const pseudorandomBits = 31

func factsOfColumn(t *catalog.Table, c *catalog.Column) keyFacts {
	return keyFacts{
		schema: t.Schema, table: t.Name, column: c.Name,
		leads:  c.LeadsIndex,
		alone:  c.UniqueAlone,
		counts: c.Identity == "AUTO_INCREMENT" || c.Identity == "AUTOINCREMENT",
		ranked: c.LeadsIndex && c.Integer,
		rowID:  c.RowID,
		unique: c.Unique,
	}
}

// tableIn asks the catalog for a table: on SQLite on the statement's
// connection, which may have a transaction open that a second one would wait
// for, elsewhere on one of our own, so that the application's session does not
// notice.
func (db *keyTables) tableIn(ctx context.Context, g *keysConn, d *dialect.Dialect, schema, name string) (*catalog.Table, error) {
	if db.OnConnection() || g.isAltered() {
		return catalog.Read(ctx, d, catalog.Conn(g.Raw), schema, name)
	}
	q, err := db.sources.stores.catalog()
	if err != nil {
		return nil, err
	}
	var t *catalog.Table
	err = db.askCatalog(ctx, d, func(ctx context.Context) (err error) {
		t, err = catalog.Read(ctx, d, q, schema, name)
		return err
	})
	return t, err
}

// askCatalog asks the catalog on a connection of our own, and again where the server
// has none left for a while: as long as a store is waited for. What the driver says
// is formatted: a driver.ErrBadConn would make database/sql throw away the
// application's connection.
func (db *keyTables) askCatalog(ctx context.Context, d *dialect.Dialect, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, db.storeWait)
	defer cancel()
	for pause := firstCatalogPause; ; pause = min(2*pause, longestCatalogPause) {
		err := ask(limited)
		switch class := sqlcode.ClassOf(d, err); {
		case err == nil, errors.Is(err, catalog.ErrNoTable):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case class.Final():
			return fmt.Errorf("%w: the catalog cannot be read: %v", keysource.ErrStoreState, err)
		case class != dialect.ErrorPassing || !isPausing(limited, pause):
			return fmt.Errorf("%w: the catalog cannot be read: %v", keysource.ErrStoreDown, err)
		}
	}
}

// How long the catalog is left alone before it is asked again.
const (
	firstCatalogPause   = 2 * time.Millisecond
	longestCatalogPause = 200 * time.Millisecond
)

// isPausing waits, and reports whether the context has not ended meanwhile.
func isPausing(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
