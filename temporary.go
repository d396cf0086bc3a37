package keyfill

import (
	"context"

	"github.com/keyfill/keyfill/catalog"
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
type temporaryNames map[string]bool

// maxTemporary bounds the names that a connection keeps; with one more it
// begins anew.
const maxTemporary = 1000

// makes takes in that a text is sent, or prepared, which may make temporary
// tables.
func (g *guard) makes(query string, what rewrite.Concern) {
	if what&rewrite.ConcernsTemporary == 0 {
		return
	}
	for _, name := range rewrite.TemporaryOfAny(g.mount.known().dialect, query) {
		if g.temporary == nil || len(g.temporary) == maxTemporary {
			g.temporary = temporaryNames{}
		}
		g.temporary[name] = true
	}
}

// beside returns the plan of a query on a connection that has temporary tables:
// p, unless a table that it takes for a configured one is a temporary one. An
// error is the driver's own.
func (m *Mount) beside(ctx context.Context, g *guard, e *engine, query string, p *rewrite.Plan) (*rewrite.Plan, error) {
	if p.Action == rewrite.Pass || m.standIn != nil || policy.Mode(m.mode.Load()) == policy.ModeOff ||
		p.Reads()&rewrite.ReadsCount != 0 {
		return p, nil
	}
	var (
		failed error
		known  = map[rewrite.TableName]bool{}
		hides  = false
	)
	hidden := func(n rewrite.TableName) bool {
		if failed != nil || !g.temporary[n.Table] {
			return false
		}
		is, asked := known[n]
		if !asked {
			var err error
			is, err = catalog.Temporary(ctx, e.dialect, catalog.Conn(g.conn), catalog.Name(n))
			if err != nil && !engineAnswered(err) {
				failed = err
			}
			known[n] = is
			hides = hides || is
		}
		return is
	}
	beside := rewrite.CompileBeside(p.Dialect(), e.lookup, query, hidden)
	switch {
	case failed != nil:
		return nil, failed
	case hides:
		return beside, nil
	}
	return p, nil
}

// planOn returns the plan of a query on a connection: what its text says, with
// what only the connection knows.
func (m *Mount) planOn(ctx context.Context, g *guard, e *engine, query string) (*rewrite.Plan, error) {
	p, err := m.settled(ctx, g, e.plan(query))
	if err != nil || p.Action == rewrite.Refuse && p.Refusal.Reason == rewrite.ErrSettings {
		return p, err
	}
	if len(g.temporary) > 0 {
		beside, err := m.beside(ctx, g, e, query, p)
		if err != nil || beside != p {
			return beside, err
		}
	}
	p, err = m.listed(ctx, g, e, query, p)
	if err != nil {
		return nil, err
	}
	return m.functional(ctx, g, e, query, p)
}
