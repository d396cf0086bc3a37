package fill

import (
	"errors"
	"strconv"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// engine joins what is known of one database's dialect: the policy compiled for
// it, the plans of its queries and the sources of its keys. It knows neither
// connections nor modes.
type engine struct {
	dialect  *dialect.Dialect
	certain  bool // the policy says under which settings of the session
	standIn  bool // keys come from a stand-in for stores, and belong to no transaction
	policy   *policy.Policy
	newError errorMaker
	sources  *sources
	cache    *rewrite.Cache
	listed   *rewrite.Cache // of plans with columns that a connection was asked for

	names  naming // by what the text alone says
	placed bool   // the place of a session matters to some table

	mu     sync.Mutex
	tables map[string]*table // by schema and table, NUL between; nil values are not kept
}

// The plans that are kept: enough for every statement of a large program, small
// enough not to be noticed.
const (
	cacheEntries = 4096
	cacheBytes   = 16 << 20

	// Few INSERTs have no column list.
	listedEntries = cacheEntries / 8
	listedBytes   = cacheBytes / 8
)

// maxTables bounds the tables that are remembered under globs; past it they
// are made anew for each query text.
const maxTables = 10000

func newEngine(a Options, d *dialect.Dialect, s *sources) (*engine, error) {
	p, err := a.Policy.Compile(d)
	if err != nil {
		return nil, err
	}
	set, certain := p.Settings()
	e := &engine{
		dialect:  d.With(set),
		certain:  certain,
		standIn:  a.Reservers != nil,
		newError: a.NewError,
		policy:   p,
		sources:  s,
		cache:    rewrite.NewCache(cacheEntries, cacheBytes),
		listed:   rewrite.NewCache(listedEntries, listedBytes),
		tables:   map[string]*table{},
		placed:   p.Schemas() || len(p.Sources()) > 0,
	}
	e.names = naming{lookup: e.lookup}
	return e, nil
}

// plan returns the plan of a query.
func (e *engine) plan(query string) *rewrite.Plan {
	if p, ok := e.cache.Get(query); ok {
		return p
	}
	compile := rewrite.Readings
	if e.certain {
		compile = rewrite.Compile
	}
	p := compile(e.dialect, e.lookup, query)
	e.cache.Put(query, p)
	return p
}

// transaction returns what a text does to the transaction of its connection.
func (e *engine) transaction(query string) rewrite.Transaction {
	if e.certain {
		return rewrite.TransactionOf(e.dialect, query)
	}
	return rewrite.TransactionOfAny(e.dialect, query)
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
	return e.keep(key, rule)
}

// tableAt returns a table by where it was found, as table does.
func (e *engine) tableAt(f policy.Found, name string) *table {
	key := f.Schema + "\x00" + name + "\x00" + strconv.FormatBool(f.Bare) + strconv.FormatBool(f.Home)
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tables[key]; t != nil {
		return t
	}
	rule := e.policy.MatchFound(f, name)
	if rule == nil || rule.Identity {
		return nil
	}
	return e.keep(key, rule)
}

// keep makes the table of a rule, and remembers it while there is room.
func (e *engine) keep(key string, rule *policy.Rule) *table {
	t := e.newTable(rule)
	if len(e.tables) < maxTables {
		e.tables[key] = t
	}
	return t
}

func (e *engine) newTable(rule *policy.Rule) *table {
	t := &table{rule: rule, mode: rule.Mode, newError: e.newError, gate: newGate(len(rule.Keys)), lastID: -1}
	t.Table = rule.Table
	t.Columns = rule.Columns
	t.Owner = t
	for i, k := range rule.Keys {
		key := tableKey{rule: k, column: k.Column, layout: k.Layout, shape: shapeOf(k)}
		key.text = k.Source.Stateful() && (!k.Integer || k.Layout != "")
		if !k.Source.Stateful() {
			key.source = e.sources.get(k)
			// A ULID is text but for the layout of 16 bytes.
			key.text = key.source.Traits().Text && k.Layout != dialect.SequentialAsBinary
		}
		session := k.LastInsertID == policy.LastInsertIDSession
		var scope []string
		for _, c := range k.Scope {
			scope = append(scope, c.Column)
		}
		// A number within a parent finds no row, unless the file says so.
		told := scope == nil || k.SaysLastInsertID
		if session = session && told; session || told && k.LastInsertID == policy.LastInsertIDResult {
			t.lastID = i
		}
		if k.Source.Stateful() || k.Source.Kind == policy.KindCOMB && e.dialect.Name == dialect.MariaDB().Name {
			t.looked = true
		}
		t.keys = append(t.keys, key)
		t.Keys = append(t.Keys, rewrite.Key{
			Column: k.Column, Fill: fillOn(k.Fill), Integer: key.integer(), Counted: k.Contiguous && !k.Joined, Session: session,
			Follow: k.Source.FollowExplicit || mayFollow(k.Source), Type: key.sqlType(), Scope: scope,
			Joined: k.Joined && k.Source.Lock != policy.LockNone && !e.standIn,
		})
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
