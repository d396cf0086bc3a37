package relation

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// PlaceMatters reports whether the place of the session (its database, schema or search
// path) matters to the tables of a plan: to their facts and stored counters, or to
// which entry of the policy applies to them.
func (db *Tables) PlaceMatters(e *table.Engine, query string, p *plans.Plan) bool {
	if !e.AsksPlace || policy.Mode(db.Mode.Load()) == policy.ModeOff {
		return false
	}
	switch {
	case p.Action == plans.Keep && !p.AtExecution && !p.Follows() && !e.Policy.HasDefaultSchema():
		return false // the INSERT contains its own keys, and needs nothing more
	case p.Action == plans.Pass:
		return e.Policy.HasDefaultSchema() && e.MayMean(p, query)
	}
	return outside(p) || e.UsesPlace && mean(p, func(t *table.Table) bool {
		return db.ModeOf(t) != policy.ModeOff && (t.AsksCatalog || t.Rule.Schema == "" && e.Policy.Schemas())
	})
}

// mean reports whether holds returns true for a table into which a plan may insert.
func mean(p *plans.Plan, holds func(*table.Table) bool) bool {
	for i := range p.Inserts {
		if holds(table.Of(&p.Inserts[i])) {
			return true
		}
	}
	if p.Refusal == nil {
		return false
	}
	return holds(p.Refusal.Target.Owner.(*table.Table)) ||
		slices.ContainsFunc(p.Refusal.Others, func(o *plans.Target) bool { return holds(o.Owner.(*table.Table)) })
}

// outside reports whether a table's name is qualified by a database, on an engine whose
// server has several databases.
func outside(p *plans.Plan) bool {
	for i := range p.Inserts {
		if p.Inserts[i].Name.Database != "" && p.Dialect.Place.Database {
			return true
		}
	}
	return false
}

// PlanByPlace returns the plan of a query for the tables that its names mean on the
// connection, and what the names mean (the naming). p is the plan for the text alone.
// An error is the driver's own, or a store's.
func (g *Session) PlanByPlace(ctx context.Context, e *table.Engine, query string, p *plans.Plan) (*plans.Plan, table.Naming, error) {
	plain := e.Names
	g.ahead = readAhead{}
	if !g.Tables.PlaceMatters(e, query, p) {
		return p, plain, nil
	}
	if moves(g, p, query) {
		return p.Withheld(rewrite.ErrPlace), plain, nil
	}
	if !g.Place.Asked && p.Reads()&effects.ReadsCount != 0 && len(p.Inserts) > 0 {
		return p.Withheld(rewrite.ErrPlace), plain, nil
	}
	at, home, err := g.places(ctx, e, p)
	switch {
	case errors.Is(err, catalog.ErrPlace) && at == nil && len(p.Inserts) > 0:
		return p.Withheld(rewrite.ErrPlace), plain, nil
	case err != nil:
		return nil, plain, err
	}
	if e.Dialect.Place.Database && len(p.Inserts) > 0 && (at != home || elsewhere(e, p, at)) {
		return p.Withheld(rewrite.ErrPlace), plain, nil
	}
	if at == home && !e.Policy.Schemas() && !mean(p, StateNeedsSchema) {
		return p, plain, nil
	}
	r := &reading{engine: e, at: at, home: home, now: map[wanted]string{}, altered: g.IsAltered()}
	return r.plan(ctx, g, query, p)
}

// moves reports whether a text of several statements may change the place (the
// database, schema or search path) before one of its INSERTs.
func moves(g *Session, p *plans.Plan, query string) bool {
	if p.Statements < 2 || len(p.Inserts) == 0 {
		return false
	}
	last := 0
	for i := range p.Inserts {
		last = max(last, p.Inserts[i].Offset)
	}
	return effects.MovesPlace(p.Dialect, query[:last], g.Place.Changed)
}

// elsewhere reports whether a table's name is qualified by another database than the
// session's.
func elsewhere(e *table.Engine, p *plans.Plan, at *session.Location) bool {
	database, _, _ := strings.Cut(at.Answer, "\n")
	for i := range p.Inserts {
		if d := p.Inserts[i].Name.Database; d != "" && d != e.Dialect.Fold(database, true) {
			return true
		}
	}
	return false
}

// StateNeedsSchema reports whether the name of a stored counter contains the table's
// schema, and the text alone does not give it.
func StateNeedsSchema(t *table.Table) bool { return t.Rule.Loose }

// TableAtHome returns the table that a name in the policy file means with the schema or
// search path that a connection has when the database is opened. t is the table by its name
// alone; it is the result if no state (stored counter) depends on the schema.
func (db *Tables) TableAtHome(ctx context.Context, t *table.Table) (*table.Table, error) {
	e := db.AnyEngine()
	if db.Detached || !t.Rule.Loose {
		return t, nil
	}
	f := policy.Found{Schema: t.Rule.Schema, Bare: t.Rule.Schema == ""}
	schema := "main"
	if !db.StatesOnConnection() {
		home, err := db.home(ctx, nil)
		if err == nil {
			schema, _, err = db.locate(ctx, nil, home, t.Rule.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.Bare {
		f.Schema = schema
	}
	f.Home = f.Schema == schema
	if found := e.TableAt(f, t.Rule.Name); found != nil {
		return found, nil
	}
	return nil, table.ErrNotConfigured
}

// reading finds the tables that the names of a text mean in a place (a database, schema
// or search path).
type reading struct {
	engine   *table.Engine
	at, home *session.Location

	altered bool              // the transaction has changed tables, so a name may mean another table
	now     map[wanted]string // the schemas of tables that do not exist yet
	missing []wanted          // names whose schemas have to be queried
}

// wanted is a name without a schema, with the schema or search path in which it is
// used.
type wanted struct {
	place *session.Location
	name  string
}

// plan returns the plan of a query with the schema or search path r.at. It caches the plan if every table
// that the query names exists. p is the plan for the text alone.
func (r *reading) plan(ctx context.Context, g *Session, query string, p *plans.Plan) (*plans.Plan, table.Naming, error) {
	e := r.engine
	n := table.Naming{Lookup: r.lookup, Key: r.at.Answer + "\x00" + string(rune(p.Dialect.Settings)) + doubtsOf(r.at, r.home) + "\x00at\x00"}
	if known, ok := e.Cache.Get(n.Key + query); ok && !r.altered {
		return known, n, nil
	}
	for {
		read := compile.Query(p.Dialect, r.lookup, query)
		if len(r.missing) == 0 {
			if len(r.now) == 0 {
				e.Cache.Put(n.Key+query, read)
			}
			if r.altered {
				n.Now = map[string]string{}
				for w, schema := range r.now {
					if w.place == r.at {
						n.Now[w.name] = schema
					}
				}
				n.Key += table.KeyOfNow(n.Now)
			}
			return read, n, nil
		}
		for _, w := range r.missing {
			schema, lasts, err := g.Tables.locate(ctx, g, w.place, w.name)
			if err != nil {
				return nil, n, g.Held(err)
			}
			if !lasts || r.altered {
				r.now[w] = schema
			}
		}
		r.missing = nil
	}
}

// doubtsOf returns a part of a cache key that changes whenever a name was found to mean
// another table than was known, in at or in home, each of which is a schema or search
// path.
func doubtsOf(at, home *session.Location) string {
	return strconv.FormatInt(at.Doubts(), 10) + "\x00" + strconv.FormatInt(home.Doubts(), 10)
}

// lookup returns the target (a table with its keys) that a name means with the schema or
// search path r.at, as the rewriting of the text needs it.
func (r *reading) lookup(schema, name string) *plans.Target {
	e := r.engine
	if !e.Policy.Anywhere(name) {
		return nil
	}
	f := policy.Found{Schema: schema, Bare: schema == ""}
	if f.Bare {
		var known bool
		if f.Schema, known = r.schema(wanted{r.at, name}); !known {
			return nil
		}
	}
	switch {
	case f.Bare && r.at == r.home:
		f.Home = true
	case e.Dialect.OneWriter:
		f.Home = f.Schema == "main"
	default:
		home, known := r.schema(wanted{r.home, name})
		if !known {
			return nil
		}
		f.Home = f.Schema == home
	}
	if t := e.TableAt(f, name); t != nil {
		return &t.Target
	}
	return nil
}

// schema returns the schema of the table that a name means, and whether it is known.
func (r *reading) schema(w wanted) (string, bool) {
	if d := r.engine.Dialect; !d.Place.Path && !d.Place.Database {
		return d.FoldTable(w.place.Answer, true), true
	}
	if schema, ok := r.now[w]; ok {
		return schema, true
	}
	schema := ""
	if !r.altered {
		schema = w.place.SchemaOf(w.name)
	}
	if schema == "" {
		r.missing = append(r.missing, w)
	}
	return schema, schema != ""
}
