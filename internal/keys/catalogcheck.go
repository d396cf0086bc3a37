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
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Facts are the catalog's facts about a table that matter for its keys.
type Facts struct {
	Columns []ColumnFacts // as the table's keys

	// LastIDUnread says that no trigger and no default of the table reads
	// LAST_INSERT_ID() at an INSERT.
	LastIDUnread bool

	// NumbersOther says that the engine numbers another column of the table, whose
	// number LastInsertId then is.
	NumbersOther bool

	// OwnConflicts says that the table itself may leave out or replace rows that
	// clash, whatever the statement says.
	OwnConflicts bool

	// HasCounter says that one of Columns has an own counter.
	HasCounter bool

	Rows *RowFacts

	schema string // of the table, as the catalog names it

	// unseen is the catalog's error for a table that is a temporary one, or not there
	// yet; nil where the catalog shows the table.
	unseen error

	// made says that the table is not there yet, but the text of the INSERT creates it.
	made bool
}

// IsUnseen reports whether the catalog does not show the table, and the text of the INSERT
// does not create it.
func (f *Facts) IsUnseen() bool { return f.unseen != nil && !f.made }

// ColumnFacts are the catalog's facts about a key column.
type ColumnFacts struct {
	schema, table, column string // as they are stored; table "" when it is not found

	leads  bool // it is the first of an index
	alone  bool // a unique index covers this column alone
	counts bool // the engine has a counter of its own for it, which follows explicit keys
	live   bool // the engine numbers it too, in whatever way
	ranked bool // keys are integers, and an index finds the greatest

	unindexed bool // keys are integers of a table, and no index finds the greatest
	RowID     bool // SQLite: it is the rowid

	// numbers says that the engine gives a row whose key is NULL a number of its own, above
	// all keys.
	numbers bool

	OthersNumber bool // the engine numbers rows of it in some way: they are not keyfill's
	Triggered    bool // something of the user's may run at an INSERT into its table

	// TakesFirst says that the engine numbers the column's rows from a number that a
	// statement is given, and that a rollback undoes them.
	TakesFirst bool

	Unique []string // as duplicate-key errors name the unique indexes that it leads

	// Counter is the column's own sequence; nil where it has none, or where something of
	// the user's runs at an INSERT.
	Counter *OwnCounter
}

// OwnCounter is the sequence that would number a column if keyfill did not, and that the
// engine would remember then.
type OwnCounter struct {
	Table, Sequence []string // the parts of their names, as they are compared
	Column          string

	// Alone says that no other default of the table draws a number.
	Alone bool
}

// counterOf returns the own counter of a column.
func counterOf(d *dialect.Dialect, t *catalog.Table, c *catalog.Column) *OwnCounter {
	if t.View || t.InsertTriggers != catalog.No || t.KeyTriggers == catalog.Yes || c.Generated || c.Identity == "" || c.IdentityAlways {
		return nil
	}
	o := &OwnCounter{Table: []string{t.Schema, t.Name}, Column: c.Name, Alone: true, Sequence: rewrite.NameOf(d, c.Sequence)}
	if o.Sequence == nil {
		o.Sequence = rewrite.DrawnFrom(d, c.Default)
	}
	if o.Sequence == nil {
		return nil
	}
	for i := range t.Columns {
		other := &t.Columns[i]
		if other.Name != c.Name && !other.Generated && (other.Identity != "" || other.Default != "" && !rewrite.DrawsNothing(d, other.Default)) {
			o.Alone = false
		}
	}
	return o
}

// gate asks the catalog once for a table, before its first fill.
type gate struct {
	// Facts is what the catalog said; nil before it was asked.
	Facts atomic.Pointer[Facts]
	turn  chan struct{} // holds one token: one caller asks at a time

	// Rows is what is known of the table's rows: see RowFacts. Where that could not be
	// read, it is read again after RowsPausedUntil, in nanoseconds of the Unix epoch.
	Rows            atomic.Pointer[RowFacts]
	RowsPausedUntil atomic.Int64
	// TriggersPausedUntil is RowsPausedUntil for who only asks whether there are triggers.
	TriggersPausedUntil atomic.Int64

	// Refused is what was known of the rows when an INSERT was refused, for the sake of
	// the log. It is believed until RefusedUntil, in nanoseconds of the Unix epoch.
	Refused      atomic.Pointer[RowFacts]
	RefusedUntil atomic.Int64

	// Values keeps plans that read the values of a row: see valuesOf in
	// fill/upsertid.go.
	Values *rewrite.Cache

	mu      sync.Mutex
	missing *Facts    // of a table that is not there
	failed  error     // why the table was found unfit
	until   time.Time // the end of the time in which the two hold
}

// RecheckPause is how long a table that was found unfit, or not found, is not looked at
// again.
const RecheckPause = time.Second

func newGate() *gate { return &gate{Values: newValues(), turn: make(chan struct{}, 1)} }

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

// keep keeps the facts of a table that is there.
func (g *gate) keep(f *Facts) {
	g.Rows.Store(f.Rows)
	g.Facts.Store(f)
}

// recent returns the last answer where it is younger than RecheckPause: that the table
// is not there, or is unfit.
func (g *gate) recent() (*Facts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(g.until) {
		return g.missing, g.failed
	}
	return nil, nil
}

// again keeps an answer that is asked for again after RecheckPause.
func (g *gate) again(missing *Facts, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing, g.failed, g.until = missing, failed, time.Now().Add(RecheckPause)
}

// takeTurn waits until it is the caller's turn to ask the catalog, for as long as wait. It
// returns how much of wait is left for the answer. With a wait of its own for the answer a
// caller would wait for as often as there are callers before it, where the server does
// not answer.
func (g *gate) takeTurn(ctx context.Context, wait time.Duration) (left time.Duration, err error) {
	began, timer := time.Now(), time.NewTimer(wait)
	defer timer.Stop()
	select {
	case g.turn <- struct{}{}:
		return wait - time.Since(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return 0, notRead(context.DeadlineExceeded)
	}
}

func (g *gate) endTurn() { <-g.turn }

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

// check returns an error where a column cannot take its keys.
func (t *Table) check(d *dialect.Dialect, found *catalog.Table) error {
	for i := range t.KeyColumns {
		k := &t.KeyColumns[i]
		if err := found.Check(d, k.Wanted()); err != nil {
			return t.NewError(t.Table, k.Name, -1, err)
		}
	}
	return nil
}

// UUIDLength is the length of a UUID as text in characters.
const UUIDLength = 36

// ulidLength is the length of a ULID as text in characters.
const ulidLength = 26

// readsNoLastID reports whether no trigger and no default of a table reads
// LAST_INSERT_ID() at an INSERT.
func readsNoLastID(t *catalog.Table) bool {
	return !t.View && t.InsertTriggers == catalog.No &&
		!slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.LastKeyDefault })
}

// Wanted returns what the catalog must say of the column.
func (k *Column) Wanted() catalog.Key {
	length := k.width()
	if k.shape == nil && k.Layout == dialect.SequentialAsString && !k.Rule.Integer {
		length = UUIDLength
		if k.Rule.Source.Kind == policy.KindULID {
			length = ulidLength
		}
	}
	return catalog.Key{
		Column:    k.Name,
		Length:    length,
		Integer:   k.Rule.Integer,
		Layout:    k.Layout,
		MaxBits:   k.bits(),
		State:     policy.Stateful(k.Rule.Source),
		Exclusive: k.Rule.Source.Exclusive,
		Below:     k.Rule.Source.Below,
		Counts:    k.Rule.Source.Kind == policy.KindSequence && k.Rule.Source.Scope == nil,
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
		leads:        c.LeadsIndex,
		alone:        c.UniqueAlone,
		counts:       c.Identity == "AUTO_INCREMENT" || c.Identity == "AUTOINCREMENT",
		numbers:      c.Identity == "AUTO_INCREMENT" || c.RowID,
		live:         c.Identity != "",
		ranked:       c.LeadsIndex && c.Integer,
		unindexed:    c.Integer && !c.LeadsIndex && !t.View,
		RowID:        c.RowID,
		Unique:       c.Unique,
		OthersNumber: c.RowID || c.Identity != "",
		Triggered:    t.InsertTriggers != catalog.No,
		TakesFirst:   c.Identity == "AUTO_INCREMENT" && c.LeadsIndex && t.Transactional && t.InsertTriggers != catalog.Yes,
	}
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
		return askCatalog(ctx, d, wait, func(ctx context.Context) (err error) {
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
