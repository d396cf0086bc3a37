package keyfill

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// A temporary table of the name of a configured one is not the configured table
// where its connection has sent the CREATE. The names of those go by here; what
// one of them means at an INSERT (DROP, ROLLBACK, ON COMMIT DROP, a search path)
// is asked on the connection.

// temporaryNames are the folded names, without a schema, of the tables that a
// connection may have made temporary ones. They are kept to its end: a
// connection that is used again has its temporary tables still.
type temporaryNames struct {
	names map[string]bool
	every bool // any name may be one's: a search path may have their schema first
}

// maxTemporary bounds the names that a connection keeps; with one more any name
// may be one.
const maxTemporary = 1000

// any reports whether there may be a temporary table.
func (n *temporaryNames) any() bool { return n.every || n.names != nil }

// add notes the names that a text makes.
func (n *temporaryNames) add(d *dialect.Dialect, query string) {
	for _, name := range rewrite.TemporaryOfAny(d, query) {
		if n.names == nil {
			n.names = map[string]bool{}
		}
		name = d.Fold(name, true) // more names than those that hide the table
		if len(n.names) == maxTemporary {
			n.every = true
			return
		}
		n.names[name] = true
	}
}

// sends notes that a text is sent, or prepared: it may give a temporary table
// another name.
func (n *temporaryNames) sends(d *dialect.Dialect, query string) {
	if n.any() && containsFold(query, "rename") {
		n.add(d, query)
	}
}

// containsFold reports whether the word, in lower case, is in the text.
func containsFold(text, word string) bool {
	return strings.Contains(strings.ToLower(text), word)
}

// makes notes that a text is sent, or prepared, which may make temporary
// tables.
func (g *guard) makes(query string, what rewrite.Concern) {
	d := g.db.known().dialect
	if what&rewrite.ConcernsTemporary == 0 {
		g.temporary.sends(d, query)
		return
	}
	g.temporary.add(d, query)
	g.temporary.every = g.temporary.every || containsFold(query, "search_path")
}

// beside returns the plan of a query on a connection that has temporary tables:
// p, unless a table that it takes for a configured one is a temporary one, or may
// be one when the INSERT runs. An
// error is the driver's own.
func (db *database) beside(ctx context.Context, g *guard, e *engine, n naming, query string, p *rewrite.Plan) (*rewrite.Plan, error) {
	names := &g.temporary
	if p.Action == rewrite.Pass && !names.every || db.standIn != nil || policy.Mode(db.mode.Load()) == policy.ModeOff {
		return p, nil
	}
	var (
		failed error
		known  = map[rewrite.TableName]rewrite.Standing{}
		hides  = false
		counts = p.Reads()&rewrite.ReadsCount != 0
	)
	standing := func(n rewrite.TableName) rewrite.Standing {
		named := names.names[e.dialect.Fold(n.Table, true)]
		if failed != nil || !named && !names.every {
			return rewrite.IsConfigured
		}
		s, asked := known[n]
		if asked {
			return s
		}
		is := false
		if !counts {
			var err error
			is, err = catalog.Temporary(ctx, e.dialect, catalog.Conn(g.conn), catalog.Name(n))
			if err != nil && !sqlcode.Answered(err) {
				failed = err
			}
		}
		switch {
		case counts:
			s = rewrite.Unasked
		case is:
			s = rewrite.IsTemporary
		case names.every:
			s = rewrite.ByPath
		default:
			s = rewrite.WasTemporary
		}
		hides = hides || is || counts
		known[n] = s
		return s
	}
	beside := rewrite.CompileBeside(p.Dialect(), n.lookup, query, standing)
	switch {
	case failed != nil:
		return nil, failed
	case hides, beside.Action != p.Action:
		return beside, nil
	}
	return p, nil
}

// planOn returns the plan of a query on a connection: what its text says, with
// what only the connection knows.
func (db *database) planOn(ctx context.Context, g *guard, e *engine, query string) (*rewrite.Plan, error) {
	e, p, err := db.cased(ctx, g, e, query)
	if err != nil {
		return nil, err
	}
	g.altered.made = nil
	if e.dialect.Transactions.DDL && p.Statements > 1 && p.Action != rewrite.Pass {
		g.altered.made = rewrite.Made(e.dialect, query)
	}
	p, err = db.settled(ctx, g, p)
	if err != nil || p.Action == rewrite.Refuse && p.Refusal.Reason == rewrite.ErrSettings {
		return p, err
	}
	p, n, err := db.inPlace(ctx, g, e, query, p)
	if err != nil || p.Action == rewrite.Refuse && p.Refusal.Reason == rewrite.ErrPlace {
		return p, err
	}
	if g.temporary.any() {
		beside, err := db.beside(ctx, g, e, n, query, p)
		if err != nil || beside != p {
			return beside, err
		}
	}
	p, err = db.listed(ctx, g, e, n, query, p)
	if err != nil {
		return nil, err
	}
	return db.functional(ctx, g, e, n, query, p)
}
