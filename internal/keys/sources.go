package keys

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Sources are the configured tables of one database, with the sources of their keys.
//
// Sources with a state have a counter for each name of a state. The sources that have
// none are kept by [statelessSources].
type Sources struct {
	*Tables
	counters *Counters
	found    foundCounters
	flakes   *SharedSnowflakes
	taken    []int                                 // the workers' numbers that this database has taken in flakes
	maxima   sync.Map                              // of *keysource.Meter, by the name of the source: of maxplusone
	standIn  func(state string) keysource.Reserver // for stores; nil outside tests
	early    *earlyOpening
	forgets  atomic.Uint64 // counts ForgetStates
}

// New returns the tables and sources of a database, which speaks one of the dialects. It
// does no I/O. It keeps the policy, which must not be changed.
func New(a Options, facts drivers.Facts, dialects []*dialect.Dialect) (*Sources, error) {
	tables, err := NewTables(a, facts, dialects)
	if err != nil {
		return nil, err
	}
	return &Sources{Tables: tables, counters: newCounters(), standIn: a.Reservers, early: newEarlyOpening()}, nil
}

// Open checks stores and snowflakes, and takes the workers' numbers of snowflakes
// without a store. It does no I/O. For an [explain.Database] it does neither: there is the
// application's database to ask, and no more.
func (s *Sources) Open(cfg *policy.Config, own driver.Connector, shared *SharedSnowflakes) error {
	if err := s.OpenStores(cfg, own); err != nil || s.stores == nil || s.explains {
		return err
	}
	s.flakes = shared
	for _, src := range s.Candidates[0].Policy.Sources() {
		if !ofWorkers(src) || src.Spread != "" || src.WorkerLease > 0 || s.Detached {
			continue // there is no number yet
		}
		if err := s.openSnowflake(src); err != nil {
			return errors.Join(s.Candidates[0].ofSource(src, err), s.Close(context.Background(), nil))
		}
	}
	return nil
}

// ofSource returns an error about a source with the first table and column that use it.
func (e *Engine) ofSource(src policy.Source, err error) error {
	for _, entry := range e.Policy.Entries() {
		for _, k := range entry.Rule.Keys {
			if k.Source == src {
				return e.NewError(entry.Name, k.Column, -1, err)
			}
		}
	}
	return e.NewError("", "", -1, err)
}

// ofWorkers reports whether the numbers of a source are made of the time and the number
// of a worker, or of another spread.
func ofWorkers(src policy.Source) bool {
	return src.Kind == policy.KindSnowflake || src.Kind == policy.KindComposite
}

// markless reports whether a snowflake has no store. Either the policy says so, or states
// are kept on the statements' connections: there a transaction may undo a mark, which
// then reserves no time.
func (db *Tables) markless(src policy.Source) bool {
	return src.Store == policy.StoreNone || src.Store == "" && db.StatesOnConnection()
}

// openSnowflake takes the worker's number of a snowflake without a store, and checks any
// other.
func (s *Sources) openSnowflake(src policy.Source) error {
	o := src.SnowflakeOptions()
	if s.markless(src) {
		number, err := s.flakes.take(o, s.env)
		if err == nil {
			s.taken = append(s.taken, number)
		}
		return err
	}
	probe, err := keysource.NewSnowflake(o, s.env)
	if err != nil {
		return err
	}
	return probe.Close(context.Background())
}

// Close gives back series and leases, and gives up reserved numbers; callers who wait for a
// key get an error. onOwn calls a function with a connection of our own.
func (s *Sources) Close(ctx context.Context, onOwn onOwnConn) error {
	series := s.counters.recycledOn()
	errs := []error{s.counters.close(ctx)}
	giveBack(ctx, series, onOwn)
	for _, number := range s.taken {
		errs = append(errs, s.flakes.release(ctx, number))
	}
	s.taken = nil
	return errors.Join(append(errs, s.CloseStores())...)
}

// ForgetStates makes the sources take their states as they stand: see keyfill.Mount.Forget.
func ForgetStates(ctx context.Context, s *Sources) error {
	s.forgets.Add(1)
	return s.counters.forgetStates(ctx)
}

// SourceStates returns the states of the sources of some databases, in the order of the
// entries of the first one's policy. Sources of one name are summed up, and the counts of
// closed databases are added.
func SourceStates(all []*Sources, past PastSources) []SourceState {
	sum := newSums()
	for _, s := range all {
		sum.addPolicy(s.AnyEngine().Policy)
	}
	sum.addPast(past)
	for _, s := range all {
		s.addTo(sum)
	}
	return sum.total()
}

// AddPast returns the sum of p and the counts of the sources, whose database is closed.
func (s *Sources) AddPast(p PastSources) PastSources {
	sum := p.begin(s.AnyEngine().Policy)
	s.addTo(sum)
	return p.end(sum)
}

// addTo adds the states of the sources.
func (s *Sources) addTo(sum *sums) {
	s.counters.addTo(sum)
	s.maxima.Range(func(name, meter any) bool {
		one := SourceState{Source: name.(string), States: 1, Worker: -1}
		one.fetched(meter.(*keysource.Meter).Fetching(sum.now, 0))
		sum.add(one)
		return true
	})
	s.losses.all.Range(func(name, lost any) bool {
		of := lost.(*losses)
		sum.add(SourceState{Source: name.(string), LeasesLost: of.count.Load(), LeaseLostAt: timeOf(of.last.Load())})
		return true
	})
}

// valueKey is the key of a value that WithValue puts into a context.
type valueKey struct{ name string }

// WithValue returns a context that holds the value of a name in the names of states.
func WithValue(ctx context.Context, name, value string) context.Context {
	return context.WithValue(ctx, valueKey{name}, value)
}

// ValuesOf returns what WithValue has put into ctx.
func ValuesOf(ctx context.Context) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := ctx.Value(valueKey{name}).(string)
		return v, ok && v != ""
	}
}

// counters returns the set that keeps the counter of the key column. only is the place
// where the counter is found without the name of its state; nil if the state has several
// names, the counter is the connection's own, or the table is not remembered.
func (dr Drawing) counters(ctx context.Context) (set *Counters, only *atomic.Pointer[counter]) {
	set, only = dr.sources.counters, dr.sources.found.of(dr.key)
	if dr.on != nil {
		if dr.on.DetectOwnMemory(ctx); dr.on.InMemory {
			set, only = dr.own.inMemoryNow(ctx, dr.sources.forgets.Load()), nil
		}
	}
	if dr.on.isAltered() {
		set, only = dr.own.here(dr.key, set), nil
	}
	if len(dr.key.StateValues()) > 0 {
		only = nil
	}
	return set, only
}

// Counter returns the counter of a key column, which is made at its first use.
func (dr Drawing) Counter(ctx context.Context) (*counter, error) {
	set, only := dr.counters(ctx)
	if only != nil {
		if c := only.Load(); c != nil {
			return c, nil
		}
	}
	state, err := dr.key.Rule.StateFor(ValuesOf(ctx))
	if err != nil {
		return nil, err
	}
	create := func() (*counter, error) {
		made, err := making{Site: dr.Site, state: state, flakes: dr.sources.flakes, standIn: dr.sources.standIn}.newCounter(ctx)
		if err == nil {
			made.source = SourceName(dr.table.Rule.Entry, &dr.key.Rule)
			_, flake := made.numbers.(*snowflake)
			made.ofValue = only == nil && len(dr.key.Rule.Values) > 0 && !flake
		}
		return made, err
	}
	id := state
	if spread := dr.key.Rule.Source.Spread; spread != "" {
		number, err := spreadIn(ctx, spread)
		if err != nil {
			return nil, err
		}
		id += "\x00" + strconv.Itoa(number)
	}
	c, err := set.get(ctx, id, create)
	if err == nil && c.unseen != nil {
		return dr.seenSince(ctx, c, func() (*counter, error) {
			if err := set.forget(ctx, id, c); err != nil {
				return nil, err
			}
			return set.get(ctx, id, create)
		})
	}
	if err == nil {
		err = dr.atHome(ctx, c)
	}
	if err == nil {
		err = dr.bindTo(ctx, c)
	}
	done := false
	if err == nil {
		done, err = dr.claim(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if only != nil && done {
		only.Store(c)
	}
	return c, nil
}

// errHomes is returned when tables of one name in two schemas have the same state: an
// entry of a bare name matches a table in every schema.
var errHomes = anchor.New("shared-state", "its state numbers a table of that name in another schema: write schema.table into the policy, or {schema} into the name of the state")

// atHome returns an error when the counter numbers another table.
func (dr Drawing) atHome(ctx context.Context, c *counter) error {
	if c.home == "" {
		return nil
	}
	f, err := dr.db.Facts(ctx, dr.on, dr.table)
	if err != nil {
		return err
	}
	if here := f.Columns[dr.index].home(); here != "" && here != c.home {
		return errHomes
	}
	return nil
}

// home returns the column's table as the catalog names it, "" where it was not found.
func (f *ColumnFacts) home() string {
	if f.table == "" {
		return ""
	}
	return f.schema + "." + f.table
}

// seenSince returns the counter of a table that was not there when the counter was made;
// where the table is there now, it returns a new counter.
func (dr Drawing) seenSince(ctx context.Context, c *counter, anew func() (*counter, error)) (*counter, error) {
	f, err := dr.db.Facts(ctx, dr.on, dr.table)
	switch {
	case err != nil:
		return nil, err
	case f.unseen != nil:
		return c, nil
	}
	return anew()
}

// StoreColumn returns the column as a store names it. A column that the catalog does not
// show has the folded name of the policy. elsewhere says that the store cannot see the
// table.
func (f *ColumnFacts) StoreColumn(r *policy.Rule, k *Column, elsewhere bool) store.Column {
	c := store.Column{Schema: f.schema, Table: f.table, Name: f.column, Unranked: !f.ranked || elsewhere, Unindexed: f.unindexed && !elsewhere, Counted: f.counts, Live: f.live}
	if c.Table == "" {
		c.Schema, c.Table, c.Name = r.Schema, r.Name, k.Name
	}
	return c
}

// owner names this process for people who look into the store.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if len(host) > 150 {
		host = host[:150]
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
