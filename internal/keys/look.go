package keys

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Package check calls the functions below. They describe what the policy expects of a
// table and of the states of its keys (the stored counters), as an INSERT would find
// it, but without a statement of an application.

// State describes the stored counter of a key, as drawing a key would open it. One of the first
// three fields is set, unless the column has only a Claim.
type State struct {
	Row    *sequence.Sequence // the stored counter is a row of keyfill_sequences, or of a key table (an existing table of the application's)
	Native *native.Sequence   // the stored counter is a sequence of the engine
	Worker *worker.Worker     // the stored counter belongs to a snowflake source

	// Claim is the row in the application's own database that says which stored counter
	// fills the column. A source of the greatest key plus one has no other row; Claim is
	// also set if the stored counter is in another store of the policy.
	Claim *binding.Claim

	// Scope is the numbering within parents and in periods, if the rows of the table have one.
	Scope *scope.Scope

	Max    int64  // the greatest integer, for a source of the greatest key plus one; 0 for other sources
	Store  string // the store that has the stored counter, as in [policy.Source]
	Maps   bool   // the keys are made from the stored counter's numbers
	Series bool   // the stored counter has series (ranges of integers), which processes lease
}

// StateOf returns the stored counter of key column i of a table, of which found is the
// catalog's description. It returns nil if the column has no stored counter, or if the
// stored counter's name depends on a value of the execution. find returns the catalog's
// description of other tables that share the stored counter.
func StateOf(e *table.Engine, t *table.Table, i int, found *catalog.Table, find func(schema, name string) *catalog.Table) (*State, error) {
	k := &t.KeyColumns[i]
	src := k.Rule.Source
	column := found.Column(e.Dialect, k.Name)
	if k.Source != nil || column == nil || len(k.StateValues()) > 0 {
		return nil, nil
	}
	facts := &table.Facts{Columns: make([]table.ColumnFacts, len(t.KeyColumns))}
	facts.Columns[i] = table.FactsOfColumn(found, column)
	own := facts.Columns[i].StoreColumn(t.Rule, k, e.Dialect.OneWriter && src.Store != "")
	st := &State{Store: src.Store, Maps: k.Shape != nil}
	switch {
	case src.Kind == policy.KindMaxPlusOne:
		claim := binding.ClaimOfMax(own)
		claim.Exclusive = src.Exclusive
		st.Claim, st.Max = &claim, k.Limit()
		return st, nil
	case src.Store == policy.StoreNone, table.OfWorkers(src) && src.Store == "" && e.Dialect.OneWriter:
		return nil, nil
	}
	name, err := k.Rule.StateFor(func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	columns := append([]store.Column{own}, sharedColumns(e, t, k, find)...)
	row := k.Row(name, facts, columns)
	row.EnsureSchema = src.EnsureSchema
	if src.Store != "" {
		claim := binding.Claim{State: table.StateElsewhere(name, src.Store), Exclusive: src.Exclusive}
		if table.OfWorkers(src) {
			claim.State = worker.State(name)
		}
		claim.Column = facts.Columns[i].StoreColumn(t.Rule, k, false)
		st.Claim = &claim
	}
	switch {
	case table.OfWorkers(src):
		st.Worker = &worker.Worker{Name: name, EnsureSchema: src.EnsureSchema, Columns: row.Columns, Exclusive: row.Exclusive}
		return st, nil
	case src.Kind == policy.KindNative:
		st.Native = &native.Sequence{Sequence: src.Sequence, Columns: row.Columns, Block: src.Block, Exclusive: src.Exclusive}
		return st, nil
	}
	return st, complete(k, e.Dialect, st, &row, facts.Columns[i].Numbers, found)
}

// complete sets the limit, the remedy and the parameters of row, as the kind of the key
// column's source needs them, and sets st.Row to it.
func complete(k *table.Column, d *dialect.Dialect, st *State, row *sequence.Sequence, numbers bool, found *catalog.Table) error {
	src := k.Rule.Source
	mapping, last, err := k.Bounded(row.Name)
	if err != nil {
		return err
	}
	row.Bounds.Max, row.OnBehind = last, table.OnBehind(src, d, numbers)
	table.MapTo(row, src, mapping)
	if texts := k.Texts(); texts != nil {
		row.Columns = texts.In(row.Columns, numberformat.Parts{})
	}
	st.Row = row
	switch {
	case src.Kind == policy.KindRecycled:
		row.Parameters = fmt.Sprintf("series=%d", cmp.Or(src.Series, counting.DefaultSeries))
		st.Series = true
	case k.IsWithin():
		rows, err := numbering.ScopeRowsOf(d, found, k, row)
		if err != nil {
			return err
		}
		st.Scope = &rows.Scope
	}
	return nil
}

// sharedColumns returns the columns of other tables that the stored counter of a key
// column serves.
func sharedColumns(e *table.Engine, t *table.Table, k *table.Column, find func(schema, name string) *catalog.Table) []store.Column {
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
			f := table.FactsOfColumn(found, column)
			columns = append(columns, f.StoreColumn(nil, nil, false))
		}
	}
	return columns
}

// aheadAllowed is how far the time of the greatest key may be ahead of the clock: a
// snowflake waits that long ([counting.Snowflake.Above]).
const aheadAllowed = 10 * time.Second

var (
	errAhead  = anchor.New("clock", "the greatest key is ahead of the clock: say on_behind: warn if it is another program's, or take another source")
	errNoTime = anchor.New("options", "the column holds keys of more bits than this source makes: give the source their bits, or its keys another column")
)

// LookFloor returns an error if a snowflake without a store cannot give a key above the
// keys in its column. It returns nil if it can, or if its keys are not compared with
// the column.
func LookFloor(ctx context.Context, e *table.Engine, t *table.Table, i int, found *catalog.Table, home *store.Store, now time.Time) error {
	k := &t.KeyColumns[i]
	src := k.Rule.Source
	column := found.Column(e.Dialect, k.Name)
	isMarkless := table.OfWorkers(src) && (src.Store == policy.StoreNone || src.Store == "" && e.Dialect.OneWriter)
	if !isMarkless || column == nil || src.Spread != "" || src.WorkerLease > 0 || src.OnBehind == keysource.RemedyWarn {
		return nil
	}
	facts, o := table.FactsOfColumn(found, column), src.SnowflakeOptions()
	number, err := o.Number()
	composite, isText := k.Shape.(*keysource.Composite)
	if err != nil || !facts.Leads || !isText && !facts.Ranked {
		return nil
	}
	f := &numbering.Floor{Column: facts.StoreColumn(t.Rule, k, false), Composite: composite, Number: number}
	key, err := f.Read(ctx, home)
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
