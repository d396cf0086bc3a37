package session

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Which table a name means depends on the session: on its current database or schema, or
// its search path. A [Location] is what the session answers to a question about these. In
// sessions with the same answer a name means the same table, temporary tables apart. A
// connection asks once, and again when something was sent that may have changed the answer.

// Location is where sessions look for tables (their database, schema or search path), with
// the tables that were found there. It is safe for concurrent use.
type Location struct {
	Answer string // the session's answer when it was asked where it looks for tables: see catalog.Place

	mu    sync.Mutex
	found map[string]string // the schema in which the location's sessions find a table, by the table's name
	times int               // how often found has changed

	doubts atomic.Int64 // how often a schema in found was wrong
}

// maxFound bounds the tables whose schemas are remembered for a location.
const maxFound = 10000

// SchemaOf returns the schema of the table that a name means; empty if it is not known.
func (at *Location) SchemaOf(name string) string {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.found[name]
}

// Keep remembers the schema of the table that a name means. It reports false if the
// location has too many tables already.
func (at *Location) Keep(name, schema string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(at.found) >= maxFound {
		return false
	}
	if at.found[name] != schema {
		at.found[name] = schema
		at.times++
	}
	return true
}

// Doubt forgets the schema of a table, because the table was found to be in another schema.
func (at *Location) Doubt(name string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	delete(at.found, name)
	at.times++
	at.doubts.Add(1)
}

// forget forgets the schemas of all tables in the location.
func (at *Location) forget() {
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(at.found) > 0 {
		clear(at.found)
		at.times++
		at.doubts.Add(1)
	}
}

// forgetNamed forgets the schemas of tables with these names. The names are in the case in
// which the engine stores unquoted names.
func (at *Location) forgetNamed(names []string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, name := range names {
		if _, ok := at.found[name]; ok {
			delete(at.found, name)
			at.times++
			at.doubts.Add(1)
		}
	}
}

// Version returns a number that changes whenever the known schemas of tables change.
func (at *Location) Version() int {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.times
}

// Doubts returns how often the known schema of a table was found to be wrong. Decisions
// that were made before the last time have to be made again.
func (at *Location) Doubts() int64 { return at.doubts.Load() }

// places are the locations that the connections of a database have been in.
type places struct {
	mu  sync.Mutex // guards all
	all map[string]*Location

	// Home is the location in which sessions of the database begin, as a connection of
	// keyfill's own has reported it; nil until then.
	Home atomic.Pointer[Location]

	// User is the user whose rights apply in Home; nil until Home is known.
	User atomic.Pointer[string]

	// States is the schema of the tables in which keyfill keeps states (stored counters);
	// nil until it is known.
	States atomic.Pointer[string]
}

// maxPlaces bounds the locations that are remembered. Locations beyond it are made anew for
// each use.
const maxPlaces = 10000

// Of returns the location for a session's answer.
func (p *places) Of(answer string) *Location {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[answer]
	if one == nil {
		one = &Location{Answer: answer, found: map[string]string{}}
		if p.all == nil {
			p.all = map[string]*Location{}
		}
		if len(p.all) < maxPlaces {
			p.all[answer] = one
		}
	}
	return one
}

// KeepHome stores the answer of a connection of keyfill's own, and returns its location.
func (p *places) KeepHome(where catalog.Where) *Location {
	home := p.Of(where.Place)
	p.User.Store(&where.User)
	p.Home.Store(home)
	return home
}

// Forget forgets the schemas of all tables in all locations, since a table may have another
// name now.
func (p *places) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.all {
		at.forget()
	}
}

// forgetNamed forgets the schemas, in all locations, of the tables whose names stand in a
// text. The text may make, rename or drop these tables.
func (p *places) forgetNamed(d *dialect.Dialect, text string) {
	names := strings.FieldsFunc(text, func(r rune) bool {
		return r < 0x80 && r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i := range names {
		names[i] = d.Fold(names[i], true)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.all {
		at.forgetNamed(names)
	}
}

// knownPlace is the location of a connection's session. It is valid until a text is sent
// that may have changed it.
type knownPlace struct {
	At    *Location // the session's location when it was asked last
	User  string    // the user whose rights applied when At was asked for; empty if a session has only one user
	Asked bool      // whether At is valid

	// First is the location of the session when it began; nil if it was not asked then.
	First *Location

	// Changed is true after a text was sent that may have changed the location. The end of a
	// transaction may undo that change.
	Changed bool

	// unsure is true after a statement was prepared that may change the location. The session
	// does not see when that statement runs.
	unsure bool

	// Moved is true after a text was sent, or prepared, that may have changed the location, or
	// have made, renamed or dropped a table; a function that the text calls may have done
	// so, although the text does not show it. Moved stays true, since a temporary table
	// remains too.
	Moved bool

	// unnamed is true after a text was sent that may have made a temporary table without
	// naming it, because it calls an unknown function.
	unnamed bool

	proven []*Location // the locations in which INSERTs on this connection prove their tables' names

	made []string // texts of the open transaction that may have made, renamed or dropped tables
}

// maxProven bounds the locations in which a connection proves tables' names. Each location
// makes another text of each INSERT, for which drivers and servers keep a statement. If a
// connection serves many tenants, names in the other locations are looked up, as without a
// proof.
const maxProven = 8

// Proves reports whether INSERTs prove their tables' names in a location.
func (k *knownPlace) Proves(at *Location) bool {
	if slices.Contains(k.proven, at) {
		return true
	}
	if len(k.proven) == maxProven {
		return false
	}
	k.proven = append(k.proven, at)
	return true
}

// sends updates what is known of the location before a text is executed.
func (k *knownPlace) sends(t *text) {
	hides := t.dialect.Place.Tables != "" // a temporary table may be made without its name in the text
	leaves := !k.Asked && (k.unnamed || !hides) || t.leaves(words.PlaceLeft)
	if hides {
		k.unnamed = k.unnamed || !leaves && !isSet(t.dialect, t.query)
		k.Moved = k.Moved || !leaves || !t.leaves(words.NamesLeft)
	}
	switch {
	case !k.Asked:
		k.Changed = true // the location was not asked for, so an earlier text may have changed it
	case !leaves:
		k.Asked, k.Changed = false, true
	case k.Changed && !t.leaves(words.TransactionLeft):
		k.ends()
	}
}

// isSet reports whether a text is one SET, which makes no table.
func isSet(d *dialect.Dialect, query string) bool {
	word, _ := single(d, query)
	return isAny(word, "set")
}

// prepares updates what is known of the location before a text is prepared.
func (k *knownPlace) prepares(t *text) {
	if k.unsure {
		return
	}
	if !t.leaves(words.PlaceLeft) {
		k.Asked, k.unsure, k.Moved = false, true, true
	}
	k.Moved = k.Moved || t.dialect.Place.Tables != "" && !t.leaves(words.NamesLeft)
}

// ends notes that a transaction has ended, or may have. PostgreSQL undoes a SET in a
// transaction that is rolled back, and SET LOCAL in any. Releasing a savepoint does not end
// the transaction, so that the change may still be undone; PlaceNow resets Changed outside
// of a transaction.
func (k *knownPlace) ends() {
	if k.Changed {
		k.Asked = false
	}
}

// resets notes that the pool hands out the connection again.
func (k *knownPlace) resets(about *drivers.Facts) {
	switch {
	case about.KeepsSession:
	case about.ResetsSession && k.First != nil:
		k.At, k.Asked, k.Moved = k.First, !k.unsure, k.unsure
	default:
		k.Asked = false
	}
}

// makesNames notes that a text is about to be executed which may make, rename or drop
// tables. If a transaction may be open (inside), other connections see the change when the
// transaction ends.
func (k *knownPlace) makesNames(all *places, t *text, inside bool) {
	d, query := t.dialect, t.query
	if !d.Place.Path || t.leaves(words.NamesLeft) || len(effects.TemporaryOfAny(d, query)) > 0 {
		return
	}
	all.forgetNamed(d, query)
	if inside {
		k.made = append(k.made[min(1, len(k.made)/maxMade):], query)
	}
}

// maxMade bounds the texts that are kept until a transaction ends, since its end may not be
// seen.
const maxMade = 1000

// madeNames notes that a transaction which made, renamed or dropped tables is no longer
// open.
func (k *knownPlace) madeNames(all *places, d *dialect.Dialect) {
	for _, query := range k.made {
		all.forgetNamed(d, query)
	}
	k.made = nil
}

// Doubt forgets the session's location, and what a table's name means there, because the
// name was found to mean another table: one in another location, or a temporary one.
func (c *Conn) Doubt(name string) {
	if c.Place.At != nil {
		c.Place.At.Doubt(name)
	}
	c.Place.Asked, c.Place.Changed = false, true
	c.Temporary.note(c.dialect().Fold(name, true))
	c.Columns.forget()
}

// Follow notes in which location the session will look for tables once the texts have run
// that are about to be sent.
func (c *Conn) Follow(answer string) {
	c.Place.At, c.Place.Asked = c.server.Places.Of(answer), !c.Place.unsure
}

// askPlace asks the session for its location. If a text may have made a temporary table
// without naming it, askPlace also asks for the temporary tables.
func askPlace(ctx context.Context, c *Conn) (where catalog.Where, err error) {
	d, q := c.dialect(), catalog.Conn(c.Own())
	if d.Place.Tables == "" || !c.Place.unnamed && !c.Place.unsure {
		return catalog.Place(ctx, d, q)
	}
	where, err = catalog.PlaceBeside(ctx, d, q)
	if err == nil {
		c.Place.unnamed = false
		for _, name := range where.Temporary {
			c.Temporary.note(d.Fold(name, true))
		}
	}
	return where, err
}

// PlaceNow returns the location of the connection's session, and asks the session if the
// location is not known. An error is the driver's own.
func (c *Conn) PlaceNow(ctx context.Context) (*Location, error) {
	k := &c.Place
	if c.Tx == Outside {
		k.madeNames(&c.server.Places, c.dialect())
	}
	if k.Asked {
		return k.At, nil
	}
	where, err := askPlace(ctx, c)
	if err != nil {
		return nil, err
	}
	answer := where.Place
	if c.server.StatesOnConnection() && !strings.Contains(answer, "\n") {
		answer = "" // no database is attached
	}
	k.At, k.User, k.Asked = c.server.Places.Of(answer), where.User, !k.unsure
	k.Changed = k.Changed && c.Tx != Outside
	return k.At, nil
}
