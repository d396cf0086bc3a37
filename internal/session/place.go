package session

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/rewrite"
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
}

// maxFound bounds the tables whose schemas are remembered for a location.
const maxFound = 10000

// SchemaOf returns the schema of the table that a name means, "" where that is not
// known.
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
	at.found[name] = schema
	return true
}

// places are the locations that the connections of a database have been in.
type places struct {
	mu  sync.Mutex // guards all
	all map[string]*Location

	// Home is where the database is opened, as a connection of our own says; nil
	// until it was asked.
	Home atomic.Pointer[Location]

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

// knownPlace is the location of a connection's session. It holds for as long as nothing
// was sent that may have changed it.
type knownPlace struct {
	At    *Location // as it was asked last
	Asked bool      // At holds

	// First is where the session was when it began, nil where that was not asked.
	First *Location

	// Changed says that something was sent that may have changed it: the end of a
	// transaction may take it back.
	Changed bool

	// unsure says that such a statement was prepared. The session does not see when
	// it runs.
	unsure bool
}

// sends notes that a text is about to be executed.
func (k *knownPlace) sends(d *dialect.Dialect, query string) {
	switch {
	case !k.Asked:
		k.Changed = true // nobody knows what it was before
	case !rewrite.LeavesPlace(d, query):
		k.Asked, k.Changed = false, true
	case k.Changed && !isPlain(d, query):
		k.ends()
	}
}

// isPlain reports whether a text is one statement that ends no transaction, nor
// goes back in one.
func isPlain(d *dialect.Dialect, query string) bool {
	word, _ := single(d, query)
	return isAny(word, "insert", "replace", "update", "delete", "select", "with")
}

// prepares notes that a text is about to be prepared.
func (k *knownPlace) prepares(d *dialect.Dialect, query string) {
	if !k.unsure && !rewrite.LeavesPlace(d, query) {
		k.Asked, k.unsure = false, true
	}
}

// ends notes that a transaction has ended, or may have: PostgreSQL takes back what was
// SET in one that is rolled back, and SET LOCAL in any. A savepoint ends none, so that
// what was changed is still to be taken back: PlaceNow forgets that outside of one.
func (k *knownPlace) ends() {
	if k.Changed {
		k.Asked = false
	}
}

// resets notes that the connection is used again by somebody else.
func (k *knownPlace) resets(about *drivers.Facts) {
	switch {
	case about.KeepsSession:
	case about.ResetsSession && k.First != nil:
		k.At, k.Asked = k.First, !k.unsure
	default:
		k.Asked = false
	}
}

// PlaceNow returns the location of the connection's session, and asks for it where it
// is not known. An error is the driver's own.
func (c *Conn) PlaceNow(ctx context.Context) (*Location, error) {
	k := &c.Place
	if k.Asked {
		return k.At, nil
	}
	answer, err := catalog.Place(ctx, c.dialect(), catalog.Conn(c.Raw))
	if err != nil {
		return nil, err
	}
	if c.server.StatesOnConnection() && !strings.Contains(answer, "\n") {
		answer = "" // nothing is attached
	}
	k.At, k.Asked = c.server.Places.Of(answer), !k.unsure
	k.Changed = k.Changed && c.Tx != Outside
	return k.At, nil
}
