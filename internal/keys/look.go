package keys

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// What package check asks: what the policy expects of a table and of the states of its
// keys, as the run expects it, without a statement of an application.

// Config returns the policy that the tables are made of, which must not be changed.
func (db *Tables) Config() *policy.Config { return db.config }

// EngineFor returns what the policy says in a dialect; exact says that the server
// compares the names of tables as they are written.
func EngineFor(db *Tables, d *dialect.Dialect, exact bool) *Engine {
	engines := db.Candidates
	if exact && db.ExactCandidates != nil {
		engines = db.ExactCandidates
	}
	for _, e := range engines {
		if e.Dialect.Name == d.Name {
			return e
		}
	}
	return engines[0]
}

// At returns the configured table of a place; nil where the policy does not fill it.
func (e *Engine) At(f policy.Found, name string) *Table { return e.tableAt(f, name) }

// HasStandIn reports whether keys come from a stand-in for stores, and no database is
// asked for anything.
func (db *Tables) HasStandIn() bool { return db.Detached }

// State is the state of a key as the run would open it. One of the fields is set.
type State struct {
	Row    *sequence.Sequence // a row, or a key table
	Native *native.Sequence   // a sequence of the engine
	Worker *worker.Worker     // a snowflake's

	// Claim is what says in the application's own database whose the column is: the state
	// itself for the greatest key and one, and else there only beside a state that a store
	// of the policy keeps.
	Claim *binding.Claim

	Max    int64  // the greatest integer of the greatest key and one; 0 for other sources
	Store  string // where it is, as in [policy.Source]
	Maps   bool   // keys are made of its numbers
	Series bool   // it has series, which processes lease
}

// StateOf returns the state of the key column of index i of a table, which the catalog shows
// as found. It returns nil if the column has no state, or the state's name depends on a value
// of the execution. find finds the other tables that share the state.
func StateOf(e *Engine, t *Table, i int, found *catalog.Table, find func(schema, name string) *catalog.Table) (*State, error) {
	k := &t.KeyColumns[i]
	src := k.Rule.Source
	column := found.Column(e.Dialect, k.Name)
	if k.Source != nil || column == nil || len(k.StateValues()) > 0 {
		return nil, nil
	}
	facts := &Facts{Columns: make([]ColumnFacts, len(t.KeyColumns))}
	facts.Columns[i] = factsOfColumn(found, column)
	own := facts.Columns[i].StoreColumn(t.Rule, k, e.Dialect.OneWriter && src.Store != "")
	st := &State{Store: src.Store, Maps: k.shape != nil}
	switch {
	case src.Kind == policy.KindMaxPlusOne:
		claim := binding.ClaimOfMax(own)
		claim.Exclusive = src.Exclusive
		st.Claim, st.Max = &claim, k.Limit()
		return st, nil
	case src.Store == policy.StoreNone, ofWorkers(src) && src.Store == "" && e.Dialect.OneWriter:
		return nil, nil
	}
	name, err := k.Rule.StateFor(func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	columns := append([]store.Column{own}, sharedColumns(e, t, k, find)...)
	row := k.row(name, facts, columns)
	row.EnsureSchema = src.EnsureSchema
	if src.Store != "" {
		claim := binding.Claim{State: stateElsewhere(name, src.Store), Exclusive: src.Exclusive}
		if ofWorkers(src) {
			claim.State = worker.State(name)
		}
		claim.Column = facts.Columns[i].StoreColumn(t.Rule, k, false)
		st.Claim = &claim
	}
	switch {
	case ofWorkers(src):
		st.Worker = &worker.Worker{Name: name, EnsureSchema: src.EnsureSchema, Columns: row.Columns, Exclusive: row.Exclusive}
		return st, nil
	case src.Kind == policy.KindNative:
		st.Native = &native.Sequence{Sequence: src.Sequence, Columns: row.Columns, Block: src.Block, Exclusive: src.Exclusive}
		return st, nil
	}
	return st, complete(k, e.Dialect, st, &row, facts.Columns[i].numbers, found)
}

// complete completes the row of the state of a key column.
func complete(k *Column, d *dialect.Dialect, st *State, row *sequence.Sequence, numbers bool, found *catalog.Table) error {
	src := k.Rule.Source
	mapping, last, err := k.bounded(row.Name)
	if err != nil {
		return err
	}
	row.Max, row.OnBehind = last, onBehind(src, d, numbers)
	mapTo(row, src, mapping)
	st.Row = row
	switch {
	case src.Kind == policy.KindRecycled:
		row.Parameters = fmt.Sprintf("series=%d", cmp.Or(src.Series, keysource.DefaultSeries))
		st.Series = true
	case len(k.Rule.Scope) > 0:
		scope := scope.Scope{Name: row.Name, Column: row.Columns[0]}
		var types []string
		for _, rc := range k.Rule.Scope {
			column, err := newScopeColumn(d, found, rc)
			if err != nil {
				return err
			}
			scope.Within, types = append(scope.Within, column.found.Name), append(types, rc.Type)
		}
		row.Start, row.Parameters = 1, scope.Parameters(types)
		for i := range row.Columns {
			row.Columns[i].Unranked = true
		}
	}
	return nil
}

// sharedColumns returns the columns of other tables that the state of a key column serves.
func sharedColumns(e *Engine, t *Table, k *Column, find func(schema, name string) *catalog.Table) []store.Column {
	var columns []store.Column
	if !k.Rule.Shared {
		return nil
	}
	for _, c := range k.Rule.Columns {
		if c.Table == t.Rule.Name && c.Column == k.Name && (c.Schema == "" || c.Schema == t.Rule.Schema) {
			continue
		}
		found := find(c.Schema, c.Table)
		if found == nil {
			continue
		}
		if column := found.Column(e.Dialect, c.Column); column != nil {
			f := factsOfColumn(found, column)
			columns = append(columns, f.StoreColumn(nil, nil, false))
		}
	}
	return columns
}

// Worker returns the error of a snowflake's number that cannot be found here: its
// variable is not set, or the host's name does not end in it.
func (k *Column) Worker() error {
	src := k.Rule.Source
	if !ofWorkers(src) || src.Spread != "" || src.WorkerLease > 0 {
		return nil
	}
	_, err := src.SnowflakeOptions().Number()
	return err
}

// aheadAllowed is how far the time of the greatest key may be ahead of the clock: so long a
// snowflake waits ([keysource.Snowflake.Above]).
const aheadAllowed = 10 * time.Second

var (
	errAhead  = anchor.New("clock", "the greatest key is ahead of the clock: say on_behind: warn if it is another program's, or take another source")
	errNoTime = anchor.New("options", "the column holds keys of more bits than this source makes: give the source their bits, or its keys another column")
)

// LookFloor returns the error of a snowflake without a store that can give no key above the
// keys in its column, and nil if it can, or if the two are not compared.
func LookFloor(ctx context.Context, e *Engine, t *Table, i int, found *catalog.Table, home *store.Store, now time.Time) error {
	k := &t.KeyColumns[i]
	src := k.Rule.Source
	column := found.Column(e.Dialect, k.Name)
	isMarkless := ofWorkers(src) && (src.Store == policy.StoreNone || src.Store == "" && e.Dialect.OneWriter)
	if !isMarkless || column == nil || src.Spread != "" || src.WorkerLease > 0 || src.OnBehind == keysource.RemedyWarn {
		return nil
	}
	facts, o := factsOfColumn(found, column), src.SnowflakeOptions()
	number, err := o.Number()
	composite, isText := k.shape.(*keysource.Composite)
	if err != nil || !facts.leads || !isText && !facts.ranked {
		return nil
	}
	f := &floor{column: facts.StoreColumn(t.Rule, k, false), composite: composite, number: number}
	key, err := f.read(ctx, home)
	if err != nil || key < 1 {
		return err
	}
	reading, err := keysource.InspectSnowflake(strconv.FormatInt(key, 10), o.Bits)
	switch {
	case err != nil:
		return errNoTime
	case reading.Time.Sub(now) > aheadAllowed:
		return errAhead
	}
	return nil
}

// OpenStore returns the way to a store that the policy names; nil for one that is no
// database of SQL. It does no I/O. Errors of its driver are left out: they may repeat
// the DSN.
func OpenStore(c policy.Store) (driver.Connector, *dialect.Dialect, error) {
	opened, err := openConfigured(c)
	if err == nil && opened.plain != nil {
		return nil, nil, opened.close()
	}
	return opened.connector, opened.dialect, err
}

// ReachStore asks a store that the policy names and that is no database of SQL whether it would
// take a change, which is not made. asked is false for one whose driver cannot tell. The error
// is as it may be shown.
func ReachStore(ctx context.Context, c policy.Store) (asked bool, err error) {
	opened, err := openConfigured(c)
	if err != nil || opened.plain == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	at, asked := opened.plain.(interface{ Reach(context.Context) error })
	if !asked {
		return false, nil
	}
	if err := at.Reach(ctx); err != nil {
		return true, errors.New(shownError(err))
	}
	return true, nil
}

// IsInMemory reports whether a database of SQLite is in no file.
func IsInMemory(ctx context.Context, q catalog.Querier) bool { return inMemory(ctx, q) }
