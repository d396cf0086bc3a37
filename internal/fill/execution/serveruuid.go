package execution

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Only the engine can make a UUID for each row of an INSERT … SELECT, by a function
// that makes the policy's kind of UUID. Which functions a server has depends on its
// version, which is queried when such a statement comes.

// byServerUUID returns the plan of an INSERT … SELECT that gets UUIDs: if the server
// has functions for them, the plan uses these functions. Otherwise the plan is p. An
// error is the driver's own.
func (on *planner) byServerUUID(ctx context.Context, p *plans.Plan) (*plans.Plan, error) {
	refused := p.Action == plans.Refuse && (p.Refusal.Reason == rewrite.ErrSelect || p.Refusal.Reason == rewrite.ErrSelectValues)
	if !refused && !p.Tails() || !on.hasFunctions(p) || on.conn.DB.Detached ||
		p.Reads()&effects.ReadsCount != 0 { // the query for the version would change what the statement reads
		return p, nil
	}
	made := map[*plans.Target]*plans.Target{}
	key := on.naming.Key + "\x00" + string(rune(p.Dialect.Settings))
	for i := range p.Inserts {
		target, t := p.Inserts[i].Target, table.Of(&p.Inserts[i])
		if on.conn.DB.ModeOf(t) != policy.ModeFill {
			return p, nil // a dry run does not query the server for this, and reports a refusal
		}
		if made[target] != nil {
			continue
		}
		with, err := on.withFunctions(ctx, target, t)
		if err != nil {
			return nil, err
		}
		made[target] = with
		key += strings.Join(target.Columns, "\x00") + "\x00\x00"
	}
	key += on.query
	if p, ok := on.engine.ListedPlans.Get(key); ok {
		return p, nil
	}
	lookup := on.naming.Lookup
	p = compile.Query(p.Dialect, func(schema, name string) *plans.Target {
		found := lookup(schema, name)
		for target, with := range made {
			if found != nil && found.Owner == target.Owner {
				return with
			}
		}
		return found
	}, on.query)
	on.engine.ListedPlans.Put(key, p)
	return p, nil
}

// hasFunctions reports whether some version of the engine has a function for a key of
// the plan.
func (on *planner) hasFunctions(p *plans.Plan) bool {
	return slices.ContainsFunc(p.Targets(), func(target *plans.Target) bool {
		columns := target.Owner.(*table.Table).KeyColumns
		return slices.ContainsFunc(columns, func(k table.Column) bool { return k.EngineFunction(on.engine.Dialect).Text != "" })
	})
}

// withFunctions returns a copy of a table's target (a table with its keys) that uses the
// functions which the server has for its keys.
func (on *planner) withFunctions(ctx context.Context, target *plans.Target, t *table.Table) (*plans.Target, error) {
	made := *target
	made.Keys = append([]plans.Key(nil), target.Keys...)
	for i := range made.Keys {
		f := t.KeyColumns[i].EngineFunction(on.engine.Dialect)
		if f.Text == "" {
			continue
		}
		has, err := on.serverHas(ctx, f)
		if err != nil {
			return nil, err
		}
		if has {
			made.Keys[i].Function = f.Text
		}
	}
	return &made, nil
}

// serverHas reports whether the server's version has a function. It queries the version
// once.
func (on *planner) serverHas(ctx context.Context, f dialect.Function) (bool, error) {
	version := on.conn.DB.ServerVersion.Load()
	if version == nil {
		text, err := on.conn.AskVersion(ctx)
		if err != nil {
			return false, err
		}
		version = &[2]int{}
		text = strings.TrimPrefix(text, "PostgreSQL ")
		var read int
		if version[0], version[1], read = dbconn.MajorMinor(text); read == 0 {
			return false, nil // the text of the version is of another form
		}
		on.conn.DB.ServerVersion.Store(version)
	}
	return version[0] > f.Major || version[0] == f.Major && version[1] >= f.Minor, nil
}
