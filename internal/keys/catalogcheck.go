package keys

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Facts is what the engine's catalog says of a table, as far as it
// matters for its keys.
type Facts struct {
	Columns []ColumnFacts // as the table's keys

	// LastIDUnread says that nothing of the table's reads LAST_INSERT_ID() at an
	// INSERT: no trigger and no default.
	LastIDUnread bool

	// NumbersOther says that the engine numbers another column of the table, by which
	// LastInsertId means that one.
	NumbersOther bool

	// OwnConflicts says that the table itself may leave out or replace rows that
	// clash, whatever the statement says.
	OwnConflicts bool

	Rows *RowFacts

	// unseen says that the catalog does not show the table: it is a temporary
	// one, or not there yet. nil: the catalog shows it.
	unseen error

	// made says that it is not there yet, but the text makes it that inserts into
	// it.
	made bool
}

// ColumnFacts is what the catalog says of a key column.
type ColumnFacts struct {
	schema, table, column string // as they are stored; table "" when it is not found

	leads  bool     // it is the first of an index
	alone  bool     // a unique index on it and no other column keeps a key from being there twice
	counts bool     // the engine numbers it too, and follows the ids that it is brought
	ranked bool     // the greatest key, an integer, is quickly found
	RowID  bool     // SQLite: it is the rowid
	Unique []string // as duplicate-key errors name the unique indexes that it leads
}

// gate asks the catalog once for a table, before its first fill.
type gate struct {
	// Facts is what the catalog said; nil before it was asked.
	Facts atomic.Pointer[Facts]
	turn  chan struct{} // one asks at a time

	// Rows is what is known of the table's rows: see RowFacts. Where that could not be
	// read, it is read again after RowsPausedUntil, in nanoseconds of the Unix epoch.
	Rows            atomic.Pointer[RowFacts]
	RowsPausedUntil atomic.Int64

	// Values are plans by which the values of a row are read: see valuesOf in
	// fill/upsertid.go.
	Values *rewrite.Cache

	// counters are the counters of the keys whose state has one name, once they are
	// made.
	counters []atomic.Pointer[counter]

	mu      sync.Mutex
	missing *Facts    // the table is not there
	failed  error     // what the table was found unfit for
	until   time.Time // for how long the two hold
}

// RecheckPause is for how long a table that was found unfit, or not at all, is not
// looked at again.
const RecheckPause = time.Second

func newGate(keys int) *gate {
	return &gate{Values: newValues(), turn: make(chan struct{}, 1), counters: make([]atomic.Pointer[counter], keys)}
}

// Facts returns what the catalog says of a table, of which it is asked unless
// that is known. A column that cannot take its keys is an error.
func (db *Tables) Facts(ctx context.Context, g *Conn, t *Table) (*Facts, error) {
	if t.AsksCatalog && g.isAltered() {
		f, err := g.factsHere(ctx, t)
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	if f := t.Gate.Facts.Load(); f != nil {
		return f, nil
	}
	if !t.AsksCatalog {
		t.Gate.Facts.Store(&Facts{Columns: make([]ColumnFacts, len(t.KeyColumns))})
		return t.Gate.Facts.Load(), nil
	}
	if f, err := t.Gate.recent(); f != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return db.factsMade(ctx, g, t, f)
	}
	if !db.StatesOnConnection() {
		select {
		case t.Gate.turn <- struct{}{}:
			defer func() { <-t.Gate.turn }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f := t.Gate.Facts.Load(); f != nil {
			return f, nil
		}
	}
	f, err := db.look(ctx, g, t)
	switch {
	case err != nil:
		return nil, err
	case f.unseen != nil:
		t.Gate.again(f, nil)
		return db.factsMade(ctx, g, t, f)
	default:
		t.Gate.Rows.Store(f.Rows)
		t.Gate.Facts.Store(f)
	}
	return f, nil
}

// recent returns what was found a moment ago and may change: that the table is
// unfit, or is not there.
func (g *gate) recent() (*Facts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.missing, g.failed
	}
	return nil, nil
}

// again notes what is to be looked at again in a moment.
func (g *gate) again(missing *Facts, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.failed, g.until = missing, failed, time.Now().Add(RecheckPause)
}

// look asks the catalog.
func (db *Tables) look(ctx context.Context, g *Conn, t *Table) (*Facts, error) {
	e := db.AnyEngine()
	if err := db.LockBeforeRead(ctx, g, t, 0); err != nil {
		return nil, err
	}
	found, err := db.CatalogTable(ctx, g, e.Dialect, t.Rule.Schema, t.Rule.Name)
	if errors.Is(err, catalog.ErrNoTable) {
		return &Facts{Columns: make([]ColumnFacts, len(t.KeyColumns)), unseen: err}, nil
	}
	if err != nil {
		return nil, err
	}
	f := &Facts{LastIDUnread: isQuiet(found), OwnConflicts: found.ConflictClauses, Rows: NewRowFacts(e.Dialect, t, found)}
	for i := range t.KeyColumns {
		k := &t.KeyColumns[i]
		if err := found.Check(e.Dialect, k.wanted()); err != nil {
			err = t.NewError(t.Table, k.Name, -1, err)
			t.Gate.again(nil, err)
			return nil, err
		}
		f.Columns = append(f.Columns, factsOfColumn(found, found.Column(e.Dialect, k.Name)))
	}
	if t.LastIDKey >= 0 && !t.KeyColumns[t.LastIDKey].Rule.SaysLastInsertID {
		f.NumbersOther = slices.ContainsFunc(found.Columns, func(c catalog.Column) bool {
			return (c.RowID || c.Identity != "") && c.Name != f.Columns[t.LastIDKey].column
		})
	}
	return f, nil
}

// UUIDLength is how many characters a UUID has as text.
const UUIDLength = 36

// isQuiet reports whether a table has no place of its own that reads
// LAST_INSERT_ID() at an INSERT.
func isQuiet(t *catalog.Table) bool {
	return !t.View && t.InsertTriggers == catalog.No &&
		!slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.LastKeyDefault })
}

// wanted is what the catalog must say of the key's column.
func (k *Column) wanted() catalog.Key {
	length := k.width()
	if k.shape == nil && k.Layout == dialect.SequentialAsString && !k.Rule.Integer {
		length = UUIDLength
	}
	return catalog.Key{
		Column:    k.Name,
		Length:    length,
		Integer:   k.Rule.Integer,
		Layout:    k.Layout,
		MaxBits:   k.bits(),
		State:     k.Rule.Source.Stateful(),
		Exclusive: k.Rule.Source.Exclusive,
		COMB:      k.Rule.Source.Kind == policy.KindCOMB,
		Native:    k.Rule.Source.Kind == policy.KindNative,
		Cased:     k.cased(),
	}
}

// bits returns how many bits an integer key has.
func (k *Column) bits() int {
	if _, ok := k.shape.(*keysource.Pseudorandom); ok {
		return min(k.Rule.MaxBits, pseudorandomBits)
	}
	return k.Rule.MaxBits
}

// pseudorandomBits is how many bits the keys of a pseudorandom have.
const pseudorandomBits = 31

func factsOfColumn(t *catalog.Table, c *catalog.Column) ColumnFacts {
	return ColumnFacts{
		schema: t.Schema, table: t.Name, column: c.Name,
		leads:  c.LeadsIndex,
		alone:  c.UniqueAlone,
		counts: c.Identity == "AUTO_INCREMENT" || c.Identity == "AUTOINCREMENT",
		ranked: c.LeadsIndex && c.Integer,
		RowID:  c.RowID,
		Unique: c.Unique,
	}
}

// CatalogTable asks the catalog for a table: on SQLite on the statement's
// connection, which may have a transaction open that a second one would wait
// for, elsewhere on one of our own, so that the application's session does not
// notice.
func (db *Tables) CatalogTable(ctx context.Context, g *Conn, d *dialect.Dialect, schema, name string) (*catalog.Table, error) {
	if db.StatesOnConnection() || g.isAltered() {
		return catalog.Read(ctx, d, catalog.Conn(g.Raw), schema, name)
	}
	q, err := db.sources.stores.catalog()
	if err != nil {
		return nil, err
	}
	var t *catalog.Table
	err = askCatalog(ctx, d, db.storeWait, func(ctx context.Context) (err error) {
		t, err = catalog.Read(ctx, d, q, schema, name)
		return err
	})
	return t, err
}
