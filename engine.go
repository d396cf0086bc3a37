package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// engine joins what is known of one database's dialect: the policy compiled for
// it, the plans of its queries and the sources of its keys. It knows neither
// connections nor modes.
type engine struct {
	dialect *dialect.Dialect
	policy  *policy.Policy
	sources *sources
	cache   *rewrite.Cache

	mu     sync.Mutex
	tables map[string]*table // by schema and table, NUL between; nil values are not kept
}

// table is a configured table.
type table struct {
	rewrite.Target
	rule *policy.Rule
	mode policy.Mode
	keys []tableKey
}

// tableKey is a key column and where its keys come from.
type tableKey struct {
	column string
	layout dialect.Layout
	source keysource.Source
	traits keysource.Traits
}

// The plans that are kept: enough for every statement of a large program, small
// enough not to be noticed.
const (
	cacheEntries = 4096
	cacheBytes   = 16 << 20
)

// maxTables bounds the tables that are remembered under globs; past it they
// are made anew for each query text.
const maxTables = 10000

func newEngine(cfg *policy.Config, d *dialect.Dialect, s *sources) (*engine, error) {
	p, err := cfg.Compile(d)
	if err != nil {
		return nil, err
	}
	return &engine{
		dialect: d,
		policy:  p,
		sources: s,
		cache:   rewrite.NewCache(cacheEntries, cacheBytes),
		tables:  map[string]*table{},
	}, nil
}

// plan returns the plan of a query.
func (e *engine) plan(query string) *rewrite.Plan {
	if p, ok := e.cache.Get(query); ok {
		return p
	}
	p := rewrite.Compile(e.dialect, e.lookup, query)
	e.cache.Put(query, p)
	return p
}

// lookup is the rewriter's view of the policy.
func (e *engine) lookup(schema, name string) *rewrite.Target {
	if t := e.table(schema, name); t != nil {
		return &t.Target
	}
	return nil
}

// table returns a table by its folded names; nil when it is not configured or
// the engine makes its keys.
func (e *engine) table(schema, name string) *table {
	key := schema + "\x00" + name
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tables[key]; t != nil {
		return t
	}
	rule := e.policy.Match(schema, name)
	if rule == nil || rule.Identity {
		return nil
	}
	t := &table{rule: rule, mode: rule.Mode}
	t.Table = rule.Table
	t.Columns = rule.Columns
	t.Owner = t
	for _, k := range rule.Keys {
		src := e.sources.get(k)
		traits := src.Traits()
		t.keys = append(t.keys, tableKey{column: k.Column, layout: k.Layout, source: src, traits: traits})
		t.Keys = append(t.Keys, rewrite.Key{Column: k.Column, Fill: fillOn(k.Fill), Integer: traits.Integer})
	}
	if len(e.tables) < maxTables {
		e.tables[key] = t
	}
	return t
}

// errNotConfigured is for a table that the policy does not fill.
var errNotConfigured = errors.New("the policy does not fill the table: configure it, or check the name")

// named returns a table by its name as in the policy file.
func (e *engine) named(name string) (*table, error) {
	schema, bare, err := e.policy.ParseName(name)
	if err != nil {
		var p *policy.Error
		if errors.As(err, &p) {
			// The caller says which table it is about.
			err = errors.New("the name " + p.Msg)
		}
		return nil, err
	}
	t := e.table(schema, bare)
	if t == nil {
		return nil, errNotConfigured
	}
	return t, nil
}

// tableOf returns the table of an INSERT of a plan.
func tableOf(in *rewrite.Insert) *table { return in.Target.Owner.(*table) }

func fillOn(f policy.Fill) rewrite.FillOn {
	var on rewrite.FillOn
	for _, pair := range []struct {
		has  policy.Fill
		gets rewrite.FillOn
	}{
		{policy.FillMissing, rewrite.FillMissing},
		{policy.FillNull, rewrite.FillNull},
		{policy.FillDefault, rewrite.FillDefault},
		{policy.FillZero, rewrite.FillZero},
	} {
		if f.Has(pair.has) {
			on |= pair.gets
		}
	}
	return on
}

// sources are the key sources of one database. None of the kinds has a state
// that must be kept apart by table, so columns with equal sources share one:
// their keys ascend together, and globs cannot make it grow.
type sources struct {
	env keysource.Env
	mu  sync.Mutex
	all map[policy.Source]keysource.Source
}

func newSources(cfg *policy.Config) *sources {
	return &sources{
		env: keysource.Env{Now: cfg.Now, Rand: cfg.Rand},
		all: map[policy.Source]keysource.Source{},
	}
}

// get returns the source of a key column.
func (s *sources) get(k policy.RuleKey) keysource.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src := s.all[k.Source]; src != nil {
		return src
	}
	src, err := k.Source.New(s.env)
	if err != nil {
		// Compile has made sure that it can be made.
		panic(fmt.Sprintf("keyfill: source %q: %v", k.State, err))
	}
	s.all[k.Source] = src
	return src
}

// draw asks the sources for the keys that an execution takes, one call for
// each column of each INSERT.
func draw(ctx context.Context, p *rewrite.Plan, h rewrite.Holes) ([][]driver.Value, error) {
	keys := make([][]driver.Value, len(p.Draws))
	for i, d := range p.Draws {
		if h.Counts[i] == 0 {
			continue
		}
		t := tableOf(&p.Inserts[d.Insert])
		k := &t.keys[d.Key]
		drawn, err := k.source.Next(ctx, keysource.Request{N: h.Counts[i], Layout: k.layout})
		if err != nil {
			return nil, &Error{Table: t.Table, Column: k.column, Offset: -1, Err: err}
		}
		keys[i] = drawn
	}
	return keys, nil
}
