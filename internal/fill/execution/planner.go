package execution

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// PlanOn returns the plan of a query on a connection, from the text and the state of
// the connection. prepares reports whether the statement is prepared: it may be
// executed after the session has changed its schema or search path.
func PlanOn(ctx context.Context, c *Conn, e *table.Engine, query string, prepares bool) (*plans.Plan, error) {
	e, p, err := c.PlanByCase(ctx, e, query)
	if err != nil {
		return nil, err
	}
	c.AlteredTables.Created = nil
	if e.Dialect.Transactions.DDL && p.Statements > 1 && p.Action != plans.Pass {
		c.AlteredTables.Created = effects.Made(e.Dialect, query)
	}
	on := planner{conn: c, engine: e, query: query}
	p, err = on.settled(ctx, p)
	if err != nil || p.Action == plans.Refuse && p.Refusal.Reason == rewrite.ErrSettings {
		return p, err
	}
	p, on.naming, err = c.PlanByPlace(ctx, e, query, p)
	if err != nil || p.Action == plans.Refuse && p.Refusal.Reason == rewrite.ErrPlace {
		return p, err
	}
	if moved := c.Place.Moved || c.Front.mayMove(); moved && p.Load {
		other, err := relation.AskNames(ctx, &c.Session, e, on.naming, query, p)
		if err != nil {
			return nil, err
		}
		if other {
			if p, on.naming, err = c.PlanByPlace(ctx, e, query, p); err != nil {
				return nil, err
			}
		}
	} else if moved || prepares {
		if p, on.naming, err = relation.ProvenNaming(ctx, &c.Session, e, on.naming, query, p, moved); err != nil {
			return nil, err
		}
	}
	if c.Temporary.Any() {
		beside, err := on.besideTemporary(ctx, p)
		if err != nil || beside != p {
			return beside, err
		}
	}
	p, err = on.listed(ctx, p)
	if err != nil {
		return nil, err
	}
	p = on.besideSoleKey(ctx, p)
	p, err = on.byServerUUID(ctx, p)
	if err != nil {
		return nil, err
	}
	return on.besideRules(ctx, p)
}

// planner makes the plan of a query on a connection from the plan for the text alone.
type planner struct {
	conn   *Conn
	engine *table.Engine
	query  string
	naming table.Naming // what the names of tables mean with the connection's schema or search path
}

// settled returns the plan under the settings of the connection's session. If they cannot
// be queried, it returns a refusal, or p if they do not matter: with the policy's mode
// off, and in a test without a database. An error is the driver's own.
func (on *planner) settled(ctx context.Context, p *plans.Plan) (*plans.Plan, error) {
	if !p.Ambiguous() || on.conn.DB.Detached {
		return p, nil
	}
	mode := policy.ModeOff
	for _, t := range p.Targets() {
		mode = min(mode, on.conn.DB.ModeOf(t.Owner.(*table.Table)))
	}
	switch {
	case mode == policy.ModeOff:
		return p, nil
	case !on.conn.Settings.Asked && p.ReadsAny()&effects.ReadsCount != 0:
		return p.Unsettled(), nil // querying the settings would change what the statement reads
	case on.conn.Front.maySet():
		return p.Unsettled(), nil // an earlier text of the batch may change the settings before this text runs
	}
	set, known, err := on.conn.SettingsNow(ctx, p.Dialect.Setting)
	switch {
	case err != nil && mode == policy.ModeDryRun:
		return p, nil // a dry run sends the query, and the engine itself will report the fault
	case err != nil:
		return nil, err
	case !known:
		return p.Unsettled(), nil
	}
	return p.Under(set), nil
}

// listed returns the plan with the table's columns, for a query that was refused because
// its only INSERT has no column list. It returns p if the columns must not be queried or
// the table is not found: with the policy's mode off, and for a text that reads the number
// of rows which the statement before it has changed. An error is the driver's own.
func (on *planner) listed(ctx context.Context, p *plans.Plan) (*plans.Plan, error) {
	in := Unlisted(p)
	if in == nil || on.conn.DB.Detached || p.Reads()&effects.ReadsCount != 0 || on.conn.Front.mayAlter() {
		return p, nil
	}
	t := table.Of(in)
	mode := on.conn.DB.ModeOf(t)
	if mode == policy.ModeOff {
		return p, nil
	}
	columns := on.conn.Columns.Of(in.Name.Unlisted)
	if columns == nil {
		if err := on.conn.DB.LockBeforeRead(ctx, &on.conn.Session, t, 0); err != nil {
			return p, err
		}
		var err error
		columns, err = catalog.Implied(ctx, on.engine.Dialect, catalog.Conn(on.conn.Own()),
			catalog.Name{Schema: t.Rule.Schema, Table: t.Rule.Name, Text: in.Name.Unlisted})
		if err != nil && mode == policy.ModeDryRun {
			return p, nil // a dry run sends the query, and the engine itself will report the fault
		}
		if err != nil || columns == nil {
			return p, err
		}
		on.conn.Columns.Keep(in.Name.Unlisted, columns)
	}
	return on.engine.ListedPlan(on.naming, p.Dialect, on.query, in.Target, columns), nil
}

// besideSoleKey returns the plan of an INSERT with ON DUPLICATE KEY UPDATE. If the
// table has no unique index except on a key without gaps, no row can be skipped, and
// the plan ignores that clause. Otherwise, or if the indexes are not known,
// besideSoleKey returns p.
func (on *planner) besideSoleKey(ctx context.Context, p *plans.Plan) *plans.Plan {
	if p.Action != plans.Fill || len(p.Inserts) != 1 || !p.Dialect.Grammar.OnDuplicateKey || p.Inserts[0].Upsert.Conflict != plans.ConflictUpdate || on.conn.DB.Detached {
		return p
	}
	target := p.Inserts[0].Target
	t := table.Of(&p.Inserts[0])
	k := slices.IndexFunc(target.Keys, func(k plans.Key) bool { return k.Gapless })
	if k < 0 || on.conn.DB.ModeOf(t) != policy.ModeFill || p.Reads()&effects.ReadsCount != 0 {
		return p
	}
	if f, err := on.conn.DB.Facts(ctx, &on.conn.Session, t); err != nil || !f.Rows.IsSole(k, target.Keys[k].Scope) {
		return p // the INSERT is refused then, since a row may be skipped
	}
	return on.engine.SolePlan(on.naming, p.Dialect, on.query, target, k)
}

// Unlisted returns the INSERT of a plan that was refused only because it has no column
// list. It returns nil if the text has other statements, which may change the columns.
// A name of three parts may be in another database, whose catalog is not queried.
func Unlisted(p *plans.Plan) *plans.Insert {
	if p.Action != plans.Refuse || p.Refusal.Reason != rewrite.ErrNoColumnList || p.Statements != 1 || len(p.Inserts) != 1 {
		return nil
	}
	in := &p.Inserts[0]
	if in.Name.Unlisted == "" || strings.Count(in.Name.Unlisted, ".") > 1 {
		return nil
	}
	return in
}

// besideTemporary returns the plan of a query on a connection that has temporary
// tables. The plan is p, unless a table that p treats as a configured table is
// temporary, or may be temporary when the INSERT runs. An error is the driver's own.
func (on *planner) besideTemporary(ctx context.Context, p *plans.Plan) (*plans.Plan, error) {
	names := &on.conn.Temporary
	if p.Action == plans.Pass && !names.Every || on.conn.DB.Detached || policy.Mode(on.conn.DB.Mode.Load()) == policy.ModeOff {
		return p, nil
	}
	var (
		d      = on.engine.Dialect
		ask    = catalog.Conn(on.conn.Own())
		failed error
		known  = map[plans.TableName]plans.Standing{}
		hides  = false
		counts = p.Reads()&effects.ReadsCount != 0
	)
	standing := func(n plans.TableName) plans.Standing {
		named := names.Names[d.Fold(n.Table, true)]
		if failed != nil || !named && !names.Every {
			return plans.IsConfigured
		}
		s, asked := known[n]
		if asked {
			return s
		}
		is := false
		if !counts {
			var err error
			is, err = catalog.Temporary(ctx, d, ask, catalog.Name(n))
			if err != nil && !sqlcode.Answered(err) {
				failed = err
			}
		}
		switch {
		case counts:
			s = plans.Unasked
		case is:
			s = plans.IsTemporary
		case names.Every:
			s = plans.ByPath
		default:
			s = plans.WasTemporary
		}
		hides = hides || is || counts
		known[n] = s
		return s
	}
	beside := compile.QueryWithTemporary(p.Dialect, on.naming.Lookup, on.query, standing)
	if text := on.conn.Front.inFrontOf(on.query); text != on.query {
		// The earlier texts of the batch have not run yet, so they are compiled together
		// with the query, as one text.
		behind := compile.QueryWithTemporary(p.Dialect, on.naming.Lookup, text, standing)
		switch {
		case behind.Action == plans.Pass:
			beside = behind
		case behind.Action == plans.Refuse && beside.Action == plans.Pass:
			beside = p.Withheld(rewrite.ErrSeveral)
		}
	}
	switch {
	case failed != nil:
		return nil, failed
	case hides, beside.Action != p.Action:
		return beside, nil
	}
	return p, nil
}
