package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// Engine is a policy in one dialect: the compiled policy, the plans of queries and the
// sources of keys. It knows nothing of connections or modes.
type Engine struct {
	Dialect     *dialect.Dialect
	certain     bool // the policy says which settings all sessions have
	detached    bool // keys come from stand-ins for stores: see [session.Server]
	Policy      *policy.Policy
	NewError    errorMaker
	stateless   *StatelessSources
	Cache       *plans.Cache
	ListedPlans *plans.Cache // plans of INSERTs without a column list, made with the table's columns

	Names     Naming // what names mean by the text alone
	AsksPlace bool   // a session can be asked for its place (its schema or search path)
	UsesPlace bool   // AsksPlace is set, and the schema or search path matters to some table

	mu      sync.Mutex
	tables  map[string]*Table // by schema and table, with a NUL between them; has no nil values
	columns *atomic.Int64     // the greatest ID of a Column, over all engines of the database
}

// The cache of plans is large enough for every statement of a large program, and needs
// little memory.
const (
	CacheEntries = 4096
	CacheBytes   = 16 << 20

	// Few INSERTs have no column list, so these plans get a smaller cache.
	listedEntries = CacheEntries / 8
	listedBytes   = CacheBytes / 8
)

// NewEngine returns the engine of a dialect, or an error if the policy does not suit
// the dialect. columns counts the Columns of all engines of the database, to number
// them.
func NewEngine(a Options, d *dialect.Dialect, s *StatelessSources, columns *atomic.Int64) (*Engine, error) {
	p, err := a.Policy.Compile(d)
	if err != nil {
		return nil, err
	}
	set, certain := p.Settings()
	e := &Engine{
		Dialect:     d.With(set),
		certain:     certain,
		detached:    a.Reservers != nil,
		NewError:    a.NewError,
		Policy:      p,
		stateless:   s,
		Cache:       plans.NewCache(CacheEntries, CacheBytes),
		ListedPlans: plans.NewCache(listedEntries, listedBytes),
		tables:      map[string]*Table{},
		columns:     columns,
		AsksPlace:   d.Place.Query != "" && a.Reservers == nil,
	}
	e.UsesPlace = e.AsksPlace && (p.Schemas() || len(p.Sources()) > 0)
	e.Names = Naming{Lookup: e.lookup}
	return e, nil
}

// Plan returns the plan of a query: how keyfill treats it. Plans are cached.
func (e *Engine) Plan(query string) *plans.Plan {
	if p, ok := e.Cache.Get(query); ok {
		return p
	}
	p := e.read(e.lookup, query)
	e.Cache.Put(query, p)
	return p
}

// read makes the plan of a query. If settings of the session that change its meaning
// are not known, the plan covers all of them.
func (e *Engine) read(lookup plans.Lookup, query string) *plans.Plan {
	if e.certain {
		return compile.Query(e.Dialect, lookup, query)
	}
	return compile.Readings(e.Dialect, lookup, query)
}

// PlanOn returns the plan of a query for a version of the engine, which may have
// functions that make UUIDs for the rows of a query. Two zeros mean the newest version,
// which has all of these functions. An execution asks its server for the version.
func (e *Engine) PlanOn(query string, version [2]int) *plans.Plan {
	p := e.Plan(query)
	refused := p.Action == plans.Refuse && (errors.Is(p.Refusal, rewrite.ErrSelect) || errors.Is(p.Refusal, rewrite.ErrSelectValues))
	if !refused && !p.Tails() || e.detached || p.Reads()&effects.ReadsCount != 0 {
		return p
	}
	return e.read(func(schema, name string) *plans.Target {
		t := e.table(schema, name)
		if t == nil {
			return nil
		}
		made := t.Target
		made.Keys = slices.Clone(made.Keys)
		for i := range made.Keys {
			if f := t.KeyColumns[i].EngineFunction(e.Dialect); !IsBefore(version, f.Major, f.Minor) {
				made.Keys[i].Function = f.Text
			}
		}
		return &made
	}, query)
}

// IsBefore reports whether a version is known and older than major.minor.
func IsBefore(version [2]int, major, minor int) bool {
	return version != [2]int{} && (version[0] < major || version[0] == major && version[1] < minor)
}

// TransactionEffect returns what a text does to the transaction of its connection.
func (e *Engine) TransactionEffect(query string) effects.Transaction {
	if e.certain {
		return effects.TransactionOf(e.Dialect, query)
	}
	return effects.TransactionOfAny(e.Dialect, query)
}

// lookup returns the target (a table with its keys) that a name means, as the rewriting of
// the text needs it; nil if the table is not configured.
func (e *Engine) lookup(schema, name string) *plans.Target {
	if t := e.table(schema, name); t != nil {
		return &t.Target
	}
	return nil
}

// table returns the table with these folded names; nil if it is not configured, or if
// the engine itself makes its keys.
func (e *Engine) table(schema, name string) *Table {
	key := schema + "\x00" + name
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tables[key]; t != nil {
		return t
	}
	rule := e.Policy.Match(schema, name)
	if rule == nil || rule.Identity {
		return nil
	}
	return e.keep(key, rule)
}

// TableAt returns the table that was found at f, as the method table does.
func (e *Engine) TableAt(f policy.Found, name string) *Table {
	key := f.Schema + "\x00" + name + "\x00" + strconv.FormatBool(f.Bare) + strconv.FormatBool(f.Home)
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tables[key]; t != nil {
		return t
	}
	rule := e.Policy.MatchFound(f, name)
	if rule == nil || rule.Identity {
		return nil
	}
	return e.keep(key, rule)
}

// keep makes the table of a rule, and remembers it unless MaxTables are remembered
// already.
func (e *Engine) keep(key string, rule *policy.Rule) *Table {
	t := e.newTable(rule)
	if len(e.tables) < report.MaxTables {
		e.tables[key] = t
		for i := range t.KeyColumns {
			if k := &t.KeyColumns[i]; len(k.StateValues()) == 0 {
				k.ID = e.columns.Add(1)
			}
		}
	}
	return t
}

func (e *Engine) newTable(rule *policy.Rule) *Table {
	t := &Table{Rule: rule, Mode: rule.Mode, NewError: e.NewError, Gate: NewGate(), LastIDKey: -1}
	t.Table = rule.Table
	t.Columns = rule.Columns
	t.Owner = t
	for i, k := range rule.Keys {
		key := Column{Rule: k, Name: k.Column, Layout: k.Layout, Shape: shapeOf(k)}
		key.InTransaction = k.Joined && !e.detached
		key.OnConnection = key.InTransaction || e.Dialect.OneWriter && k.Source.Store == "" && !e.detached
		key.text = policy.Stateful(k.Source) && (!k.Integer || k.Layout != "")
		if !policy.Stateful(k.Source) {
			key.Source = e.stateless.get(k)
			// A ULID is text, except in the layout of 16 bytes.
			key.text = key.Source.Traits().Text && k.Layout != dialect.SequentialAsBinary
		}
		session := k.LastInsertID == policy.LastInsertIDSession
		var scope []string
		for _, c := range k.Scope {
			scope = append(scope, c.Column)
		}
		for _, c := range k.From {
			scope = append(scope, c.Column)
		}
		if k.PeriodColumn != "" {
			scope = append(scope, k.PeriodColumn)
		}
		// A number within a parent does not identify a row, so LastInsertId does not return
		// it unless the policy says so.
		told := scope == nil || k.SaysLastInsertID
		if session = session && told; session || told && k.LastInsertID == policy.LastInsertIDResult {
			t.LastIDKey = i
		}
		if policy.Stateful(k.Source) || k.Prefix != "" || k.From != nil || k.Source.Kind == policy.KindCOMB && e.Dialect.Name == dialect.MariaDB().Name {
			t.AsksCatalog = true
		}
		t.KeyColumns = append(t.KeyColumns, key)
		t.Keys = append(t.Keys, plans.Key{
			Column: k.Column, Fill: fillOn(k.Fill), Integer: key.IsInteger(), Counted: k.Contiguous, Session: session,
			Follow: follows(&key, e.Dialect), Type: key.sqlType(), Scope: scope, Date: k.PeriodColumn, FromRow: k.From != nil, Number: numberIn(&key),
			Tail:    key.tail(e.Dialect),
			Gapless: key.GapFree(),
			Joined:  k.Joined && k.Source.Lock != policy.LockNone,
		})
	}
	if e.detached {
		t.detach()
	}
	return t
}

// ErrNotConfigured is returned for a table that the policy does not fill.
var ErrNotConfigured = anchor.New("not-configured", "the policy does not fill the table: configure it, or check the name")

// TableNamed returns a table by its name as it is written in the policy file.
func (e *Engine) TableNamed(name string) (*Table, error) {
	schema, bare, err := e.Policy.ParseName(name)
	if err != nil {
		var p *policy.Error
		if errors.As(err, &p) {
			// The caller's error already names the table.
			err = anchor.New("not-configured", "the name "+p.Msg)
		}
		return nil, err
	}
	t := e.table(schema, bare)
	if t == nil {
		return nil, fmt.Errorf("%w%s", ErrNotConfigured, nearest.DidYouMean(name, e.filled()))
	}
	return t, nil
}

// filled returns the names of the tables that the policy fills, as they are written in
// it.
func (e *Engine) filled() []string {
	var names []string
	for _, entry := range e.Policy.Entries() {
		if !entry.IsGlob && !entry.Rule.Identity {
			names = append(names, entry.Name)
		}
	}
	return names
}

func fillOn(f policy.Fill) plans.FillOn {
	var on plans.FillOn
	for _, pair := range []struct {
		has  policy.Fill
		gets plans.FillOn
	}{
		{policy.FillMissing, plans.FillMissing},
		{policy.FillNull, plans.FillNull},
		{policy.FillDefault, plans.FillDefault},
		{policy.FillZero, plans.FillZero},
	} {
		if f.Has(pair.has) {
			on |= pair.gets
		}
	}
	return on
}

// At returns the configured table that was found at f; nil if the policy does not fill
// it.
func (e *Engine) At(f policy.Found, name string) *Table { return e.TableAt(f, name) }

// OfSource wraps an error about a source with the first table and column that use the
// source.
func (e *Engine) OfSource(src policy.Source, err error) error {
	for _, entry := range e.Policy.Entries() {
		for _, k := range entry.Rule.Keys {
			if k.Source == src {
				return e.NewError(entry.Name, k.Column, -1, err)
			}
		}
	}
	return e.NewError("", "", -1, err)
}
