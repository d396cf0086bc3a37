package fill

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

// maxFound bounds the tables whose schemas are remembered for a location.
const maxFound = 10000

// schemaOf returns the schema of the table that a name means, "" where that is not
// known.
func (at *location) schemaOf(name string) string {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.found[name]
}

// keep remembers the schema of the table that a name means, and reports whether it has.
func (at *location) keep(name, schema string) bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(at.found) >= maxFound {
		return false
	}
	at.found[name] = schema
	return true
}

// places are those that the connections of a database have been in.
type places struct {
	mu  sync.Mutex // guards all
	all map[string]*location

	// home is where the database is opened, as a connection of our own says; nil
	// until it was asked.
	home atomic.Pointer[location]

	// states is the schema of the tables with the states; nil until it is known.
	states atomic.Pointer[string]
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
func (c *sessionConn) placeNow(ctx context.Context) (*location, error) {
	k := &c.place
	if k.asked {
		return k.at, nil
	}
	answer, err := catalog.Place(ctx, c.dialect(), catalog.Conn(c.conn))
	if err != nil {
		return nil, err
	}
	if c.server.onConnection() && !strings.Contains(answer, "\n") {
		answer = "" // nothing is attached
	}
	k.at, k.asked = c.server.places.of(answer), !k.unsure
	k.changed = k.changed && c.tx != txOutside
	return k.at, nil
}
