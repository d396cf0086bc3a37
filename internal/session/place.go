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

// Which table a name means depends on the session: on its current database or schema,
// or its search path. A location is the session's answer to a question about these.
// Sessions with the same answer take a name for the same table, temporary tables apart.
// A connection asks once, and again when something was sent that may have changed the
// answer.

// Location is one answer, with the tables that were found there. It is safe for
// concurrent use.
type Location struct {
	Answer string // see catalog.Place

	mu    sync.Mutex
	found map[string]string // the schemas of tables that are there, by name
	times int               // how often these have changed

	doubts atomic.Int64 // how often one of them was found to be wrong
}

// maxFound bounds the tables whose schemas are remembered for a location.
const maxFound = 10000

// SchemaOf returns the schema of the table that a name means, empty if that is not known.
func (at *Location) SchemaOf(name string) string {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.found[name]
}

// Keep remembers the schema of the table that a name means, and reports whether it has.
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

// Doubt forgets the schema of a table, which was found to be another one.
func (at *Location) Doubt(name string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	delete(at.found, name)
	at.times++
	at.doubts.Add(1)
}

// forget forgets the schemas of all tables there.
func (at *Location) forget() {
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(at.found) > 0 {
		clear(at.found)
		at.times++
		at.doubts.Add(1)
	}
}

// forgetNamed forgets the schemas of tables with these names, in the case of unquoted ones.
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

// Doubts returns how often the schema of a table was found to be another one. Earlier
// decisions have to be made again.
func (at *Location) Doubts() int64 { return at.doubts.Load() }

// places are the locations that the connections of a database have been in.
type places struct {
	mu  sync.Mutex // guards all
	all map[string]*Location

	// Home is where the database is opened, as a connection of our own says; nil
	// until it was asked.
	Home atomic.Pointer[Location]

	// User is whose rights hold there; nil until Home was asked.
	User atomic.Pointer[string]

	// States is the schema of the tables with the states; nil until it is known.
	States atomic.Pointer[string]
}

// maxPlaces bounds the places that are remembered; past it they are made anew.
const maxPlaces = 10000

// Of returns the location of an answer.
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

// KeepHome keeps the answer of a connection of our own, and returns its location.
func (p *places) KeepHome(where catalog.Where) *Location {
	home := p.Of(where.Place)
	p.User.Store(&where.User)
	p.Home.Store(home)
	return home
}

// Forget forgets the schemas of all tables in all places: a table may have another name.
func (p *places) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.all {
		at.forget()
	}
}

// forgetNamed forgets the schemas of the tables in all places whose names stand in a text,
// which may make, rename or drop them.
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

// knownPlace is the location of a connection's session. It holds until a text is sent
// that may have changed it.
type knownPlace struct {
	At    *Location // as it was asked last
	User  string    // whose rights held then; empty if a session has one user
	Asked bool      // At holds

	// First is where the session was when it began, nil where that was not asked.
	First *Location

	// Changed reports whether a text was sent that may have changed it: the end of a
	// transaction may take that back.
	Changed bool

	// unsure reports whether such a statement was prepared. The session does not see when
	// it runs.
	unsure bool

	// Moved reports whether a text was sent, or prepared, that may have changed the
	// place, or have made, renamed or dropped a table, as a function may do without a
	// word of it. It stays true, since a temporary table does.
	Moved bool

	// unnamed reports whether a text was sent that may have made a temporary table
	// without naming it: it calls an unknown function.
	unnamed bool

	proven []*Location // whose tables' names are proven on this connection

	made []string // texts of the open transaction that may have made, renamed or dropped tables
}

// maxProven bounds the places whose tables' names a connection proves. Each of them makes
// another text of each INSERT, which drivers and servers keep a statement for: where a
// connection serves many tenants, the others' names are looked up as without a proof.
const maxProven = 8

// Proves reports whether the names of tables are proven in a place.
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

// sends notes that a text is about to be executed.
func (k *knownPlace) sends(t *text) {
	hides := t.dialect.Place.Tables != "" // a temporary table may be made without its name
	leaves := !k.Asked && (k.unnamed || !hides) || t.leaves(words.PlaceLeft)
	if hides {
		k.unnamed = k.unnamed || !leaves && !isSet(t.dialect, t.query)
		k.Moved = k.Moved || !leaves || !t.leaves(words.NamesLeft)
	}
	switch {
	case !k.Asked:
		k.Changed = true // the setting before is not known
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

// prepares notes that a text is about to be prepared.
func (k *knownPlace) prepares(t *text) {
	if k.unsure {
		return
	}
	if !t.leaves(words.PlaceLeft) {
		k.Asked, k.unsure, k.Moved = false, true, true
	}
	k.Moved = k.Moved || t.dialect.Place.Tables != "" && !t.leaves(words.NamesLeft)
}

// ends notes that a transaction has ended, or may have: PostgreSQL undoes a SET in a
// transaction that is rolled back, and SET LOCAL in any. A savepoint ends no transaction,
// so that the change may still be undone: PlaceNow forgets that outside of one.
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
// tables. Where a transaction may be open, others see that when it ends.
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

// maxMade bounds the texts that are kept for the end of a transaction, which may not be seen.
const maxMade = 1000

// madeNames notes that no transaction is open that has made, renamed or dropped tables.
func (k *knownPlace) madeNames(all *places, d *dialect.Dialect) {
	for _, query := range k.made {
		all.forgetNamed(d, query)
	}
	k.made = nil
}

// Doubt forgets where the session is, and the meaning of a table's name there, which was
// found to be another table: one of another place, or a temporary one.
func (c *Conn) Doubt(name string) {
	if c.Place.At != nil {
		c.Place.At.Doubt(name)
	}
	c.Place.Asked, c.Place.Changed = false, true
	c.Temporary.note(c.dialect().Fold(name, true))
	c.Columns.forget()
}

// Follow notes that the session looks for tables in a place once the texts have run that
// are about to be sent.
func (c *Conn) Follow(answer string) {
	c.Place.At, c.Place.Asked = c.server.Places.Of(answer), !c.Place.unsure
}

// askPlace asks the session where it is, and which temporary tables it has where a text may
// have made one without its name.
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

// PlaceNow returns the location of the connection's session, and asks for it where it
// is not known. An error is the driver's own.
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
		answer = "" // nothing is attached
	}
	k.At, k.User, k.Asked = c.server.Places.Of(answer), where.User, !k.unsure
	k.Changed = k.Changed && c.Tx != Outside
	return k.At, nil
}
