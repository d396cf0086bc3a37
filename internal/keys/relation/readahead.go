package relation

import (
	"cmp"
	"context"
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// readAhead holds the facts about a table that a connection has read for its statement,
// before the statement needs them. The zero value holds none.
type readAhead struct {
	schema, name string // as they were asked for
	table        *catalog.Table
}

// takeAhead removes and returns the facts that were read ahead about a table; nil if there
// are none.
func (g *Session) takeAhead(schema, name string) *catalog.Table {
	if g == nil || g.ahead.table == nil || g.ahead.schema != schema || g.ahead.name != name {
		return nil
	}
	t := g.ahead.table
	g.ahead = readAhead{}
	return t
}

// places returns the place (the schema or search path) of the connection, and home, the
// place that a connection has when the database is opened. at is nil if its question
// failed. Home is asked for once, on the first connection of keyfill's own. Both questions
// may read the facts about the table of the plan p too.
func (g *Session) places(ctx context.Context, e *table.Engine, p *plans.Plan) (at, home *session.Location, err error) {
	db := g.Tables
	var t *table.Table
	if g.Tx == session.Outside && db.Places.Home.Load() == nil && !db.StatesOnConnection() {
		t = g.needsFacts(e, p)
	}
	if t != nil && e.Dialect.LeavesNoTrace {
		return g.placesAtOnce(ctx, t)
	}
	if at, err = g.PlaceNow(ctx); err != nil {
		return nil, nil, err
	}
	if home = db.Places.Home.Load(); home != nil {
		return at, home, nil
	}
	home, found, err := db.homeReading(ctx, lender(g), t)
	g.keepAhead(t, found)
	return at, home, g.Held(err)
}

// placesAtOnce does what places does. While the connection of keyfill's own is opened, the
// one of the statement has nothing to do. So it is asked for its place, and for the facts
// about t if it answers as a connection of keyfill's own would.
func (g *Session) placesAtOnce(ctx context.Context, t *table.Table) (at, home *session.Location, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := make(chan struct{}) // closed when the other goroutine may use the connection of g
	done := make(chan error, 1)
	go func() {
		var err error
		home, _, err = g.Tables.homeReading(ctx, func() driver.Conn { <-idle; return LentConn(g) }, nil)
		done <- err
	}()
	var found *catalog.Table
	if at, err = g.PlaceNow(ctx); err != nil {
		at = nil
		cancel()
	} else if session.IsAsOpened(&g.Conn) {
		// An error is not returned: the catalog is asked again.
		found, _ = catalog.Read(ctx, g.Tables.Dialect(), catalog.Conn(g.Own()), t.Rule.Schema, t.Rule.Name)
	}
	close(idle)
	if err = cmp.Or(err, <-done); err != nil {
		return at, nil, err
	}
	if at == home && found != nil && !strings.HasPrefix(found.Schema, "pg_temp_") {
		g.keepAhead(t, found)
	}
	return at, home, nil
}

// keepAhead keeps the facts about a table for the statement that is about to need them.
func (g *Session) keepAhead(t *table.Table, found *catalog.Table) {
	if found != nil {
		g.ahead = readAhead{t.Rule.Schema, t.Rule.Name, found}
	}
}

// needsFacts returns the table of the first INSERT of a plan if the catalog is about to be
// asked for it, by the name in the policy; nil otherwise.
func (g *Session) needsFacts(e *table.Engine, p *plans.Plan) *table.Table {
	if len(p.Inserts) == 0 || e.Policy.Schemas() || mean(p, StateNeedsSchema) {
		return nil
	}
	t := table.Of(&p.Inserts[0])
	if !t.AsksCatalog || t.IsOfSession(e.Dialect) || g.GateOf(t).Facts.Load() != nil || g.Tables.ModeOf(t) != policy.ModeFill {
		return nil
	}
	return t
}
