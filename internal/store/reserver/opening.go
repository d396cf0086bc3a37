package reserver

import (
	"cmp"
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Row is the state of a sequence when it was opened.
type Row struct {
	Next    int64 // the lowest integer that is not reserved
	Created bool  // by this call, or another one at the same time
	Behind  bool  // with keysource.RemedyWarn: a key in the columns is as great as Next or greater
}

// Open makes sure that a sequence can be used: it has a row, or gets one if Create is
// set, the row serves its column with its parameters, and the next value is above the
// keys in use. It is to be called before the first [sequence.Reserve], by any number of
// processes at once.
//
// A fault of the row is an [*store.Error]; a sequence that no row could serve is
// [store.ErrName] or keysource.ErrOptions; missing tables are [store.ErrTables], a
// missing column is [store.ErrColumn].
//
// Within a transaction a row that is made is undone with it.
//
// If only a procedure of the application's knows the state, the Row is empty, and nothing
// is compared.
func Open(ctx context.Context, s *store.Store, q sequence.Sequence) (Row, error) {
	o, err := opener{store: s, q: &q}.open(ctx)
	row, state := o.row, sequence.NewRow(s, &q, o.form)
	if err == nil && o.known && row.Next < 1 && q.OnBehind != keysource.RemedyAdvance {
		return Row{}, state.BelowOne(row.Next)
	}
	if err != nil || !o.known || row.Next > o.greatest {
		return row, err
	}
	switch q.OnBehind {
	case keysource.RemedyWarn:
		row.Behind = true
		return row, nil
	case keysource.RemedyAdvance:
		limit := state.Limit()
		if q.HoldsBlocks() {
			limit = q.Ceiling()
		}
		if o.greatest >= limit {
			return Row{}, state.Exhausted(row.Next)
		}
		row.Next = o.greatest + 1
		return row, sequence.Advance(ctx, s, q, row.Next)
	}
	e := q.Fail(store.ErrBehind, "")
	e.Next = row.Next
	return Row{}, e
}

// opener finds the row of a sequence, or makes it, and compares its content.
type opener struct {
	store *store.Store
	q     *sequence.Sequence

	looked bool // a first look has found no other state of the column
}

// opening holds the results of opening a sequence.
type opening struct {
	row      Row
	known    bool                  // whether the row was read
	greatest int64                 // key in the columns, 0 where there is none to be compared with
	bound    bool                  // the sequence was bound to a column
	form     *engine.RowStatements // nil for a row of keyfill_sequences that is not read first
}

// open is [Open] without the comparison with the greatest key.
func (o opener) open(ctx context.Context) (opening, error) {
	return o.openKnowing(ctx, nil)
}

// openKnowing is open for a caller that has looked at the sequence; look may be nil.
func (o opener) openKnowing(ctx context.Context, look *firstLook) (got opening, err error) {
	q := o.q
	if err := q.Check(o.store.Dialect); err != nil {
		return got, err
	}
	if q.IsForeign() {
		return o.openForeign(ctx)
	}
	switch {
	case look != nil && time.Now().Before(look.until) && (firstLooker{o.store, q}).may() && (look.stored != nil || !o.store.Inside):
	case o.store.Inside:
		look = nil // rows that are read before the transaction writes may be old: see LockFirst
	default:
		look = firstLooker{o.store, q}.look(ctx)
	}
	if look != nil {
		o.looked = true
		o.store.Found.Note()
		return o.openSeen(ctx, look.stored, look.stored == nil, look.greatest, true)
	}
	if err := o.ensure(ctx); err != nil {
		return got, err
	}
	if o.store.Inside {
		if err := store.LockOfRows(o.store).TakeFirst(ctx); err != nil {
			return got, err
		}
	}
	// The keys come first: those that are in the column now were reserved
	// before, so that a row read later is above them. The other way round,
	// another process could reserve and insert in between.
	greatest, ranked, err := sequence.ColumnsOf(o.store, q).Greatest(ctx)
	if err != nil {
		return got, err
	}
	stored, err := staterow.Read(ctx, o.store, q.Name)
	if err != nil {
		return got, err
	}
	if stored != nil && staterow.EndOf(stored.Incarnation) != q.End() && !q.HoldsBlocks() {
		// From its end on keys are another state's.
		q.Remember(stored)
		if greatest, ranked, err = sequence.ColumnsOf(o.store, q).Greatest(ctx); err != nil {
			return got, err
		}
		if stored, err = staterow.Read(ctx, o.store, q.Name); err != nil {
			return got, err
		}
	}
	return o.openSeen(ctx, stored, true, greatest, ranked)
}

// openSeen opens a row as it was read, or makes it. contested reports that another state
// may have the column.
func (o opener) openSeen(ctx context.Context, stored *staterow.Row, contested bool, greatest int64, ranked bool) (got opening, err error) {
	q := o.q
	created := stored == nil
	var made *staterow.Row
	if created {
		var alone bool
		if stored, made, alone, err = o.create(ctx, greatest, ranked); err != nil {
			return got, err
		}
		contested = contested && !alone
	}
	if got.bound, err = o.checkRow(ctx, stored, made, contested); err != nil {
		return got, err
	}
	if stored, err = o.raiseToStart(ctx, stored); err != nil {
		return got, err
	}
	q.Remember(stored)
	got.row, got.known, got.greatest = Row{Next: stored.Next, Created: created}, true, greatest
	got.form, err = sequence.StatementsOf(ctx, o.store, q)
	return got, err
}

// raiseToStart raises a row that is there already to where the sequence begins.
func (o opener) raiseToStart(ctx context.Context, stored *staterow.Row) (*staterow.Row, error) {
	if o.q.Bounds.StartAt == 0 || stored.Next >= o.q.Bounds.StartAt {
		return stored, nil
	}
	if err := sequence.AdvanceRow(ctx, o.store, o.q, o.q.Bounds.StartAt); err != nil {
		return nil, err
	}
	raised, err := staterow.Read(ctx, o.store, o.q.Name)
	if err == nil && raised == nil {
		err = o.store.Failed(o.q.Name, staterow.ErrRemoved)
	}
	return raised, err
}

// ensure creates the tables that a sequence needs, if EnsureSchema is set.
func (o opener) ensure(ctx context.Context) error {
	if !o.q.EnsureSchema {
		return nil
	}
	schema := schema.Of(o.store)
	if err := schema.EnsureFor(ctx, sequence.ColumnsOf(o.store, o.q).Reachable()); err != nil || o.q.Procedure == "" {
		return err
	}
	return schema.EnsureProcedure(ctx)
}

// create makes the row and returns it as it then is: another process may have made it,
// and used it, before. made is the row unless it was used. alone reports that no other
// state has the column.
func (o opener) create(ctx context.Context, greatest int64, ranked bool) (stored, made *staterow.Row, alone bool, err error) {
	q := o.q
	if !q.Create {
		return nil, nil, false, o.row().NoRow(ctx, greatest)
	}
	claimed, gone := unused(ctx, q)
	if gone != nil {
		// Another process may have made the row, and used it, since it was looked for.
		if stored, err := staterow.Read(ctx, o.store, q.Name); err != nil || stored != nil {
			return stored, nil, false, err
		}
		return nil, nil, false, gone
	}
	if gone := o.wasThere(ctx); gone != nil {
		if stored, err := staterow.Read(ctx, o.store, q.Name); err != nil || stored != nil {
			return stored, nil, false, err
		}
		return nil, nil, false, gone
	}
	if q.Fresh {
		if used, err := sequence.ColumnsOf(o.store, q).Used(ctx); err != nil {
			return nil, nil, false, err
		} else if used {
			// Another process may have made the row, and used it, since it was
			// looked for.
			if stored, err := staterow.Read(ctx, o.store, q.Name); err != nil || stored != nil {
				return stored, nil, false, err
			}
			return nil, nil, false, o.row().NoRow(ctx, 0)
		}
	}
	start, err := o.start(ctx, greatest, ranked)
	if err != nil {
		return nil, nil, false, err
	}
	start = max(start, claimed)
	// A row that is made in error would keep out the sequence that is right.
	if !o.looked {
		if err := (binding.Binder{Store: o.store}).CheckAll(ctx, q.Binding()); err != nil {
			return nil, nil, false, err
		}
	}
	table, column := q.Bound()
	createErr := staterow.Make(ctx, o.store, q.Name, start, table, column, q.Parameters)
	if createErr != nil && o.store.Inside {
		return nil, nil, false, o.store.Failed(q.Name, createErr)
	}
	if createErr != nil {
		// If two processes make it at once, Oracle gives one of them the error of the unique
		// key. The row of the other is as good when it is no lower.
		if err := sequence.AdvanceRow(ctx, o.store, q, start); err != nil {
			return nil, nil, false, o.store.Failed(q.Name, createErr)
		}
	}
	if o.looked {
		if look := (firstLooker{o.store, q}).look(ctx); look != nil && look.stored != nil {
			return look.stored, nil, true, nil
		}
	}
	for try := 1; err == nil && stored == nil; try++ {
		if stored, err = staterow.Read(ctx, o.store, q.Name); stored != nil || err != nil {
			break
		}
		if createErr != nil || try == staterow.SeenTries || o.store.Inside || store.Pause(ctx, o.store.Random, try) != nil {
			err = o.store.Failed(q.Name, cmp.Or(createErr, staterow.ErrRemoved))
		}
	}
	if err == nil && stored.Next == start {
		made = stored
	}
	return stored, made, false, err
}

// start returns the next value of a row that is made.
func (o opener) start(ctx context.Context, greatest int64, ranked bool) (int64, error) {
	q := o.q
	start := max(q.Made.Start, q.Bounds.StartAt)
	if start == 0 && q.Bounds.Below > 0 {
		if err := sequence.ColumnsOf(o.store, q).StartKnown(); err != nil {
			return 0, err
		}
	} else if start == 0 && ranked {
		counted, err := sequence.ColumnsOf(o.store, q).Counted(ctx)
		if err != nil {
			return 0, err
		}
		greatest = max(greatest, counted)
	}
	switch {
	case q.Fresh:
		start = cmp.Or(start, 1)
	case start != 0:
	case !ranked:
		if err := sequence.ColumnsOf(o.store, q).AllShown(ctx); err != nil {
			return 0, err
		}
		return 0, sequence.ColumnsOf(o.store, q).NoStart()
	case greatest >= q.Ceiling():
		return 0, o.row().Exhausted(0)
	default:
		start = greatest + 1
	}
	if q.Made.Least > 0 && !(q.Made.Afresh && ranked && greatest == 0) {
		start = max(start, q.Made.Least)
		if ranked {
			start = max(start, min(greatest, q.Ceiling())+1)
		}
		if start <= q.Ceiling()-q.Made.Gap {
			start += q.Made.Gap
		}
	}
	return start, nil
}

// row returns the row without statements of its own.
func (o opener) row() *sequence.Row { return sequence.NewRow(o.store, o.q, nil) }

// checkRow compares a row with the sequence, and binds a shared one to its
// columns. It marks the row of a sequence with StartAt, and reports whether it has made a row.
// made is as create returns it, nil for a row that was there; contested is as in openSeen.
func (o opener) checkRow(ctx context.Context, row, made *staterow.Row, contested bool) (bound bool, err error) {
	q := o.q
	if !q.Serves(row) {
		serves := row.Table + "." + row.Column
		if row.Table == "" {
			serves = "several"
		}
		return false, q.Fail(store.ErrBound, "%s", serves)
	}
	if row.Parameters != q.Parameters {
		return false, q.Fail(store.ErrParameters, "%q, not %q", row.Parameters, q.Parameters)
	}
	if q.Shared {
		return binding.Binder{Store: o.store}.Bind(ctx, q.Binding())
	}
	if q.Bounds.StartAt > 0 {
		if err := (binding.Binder{Store: o.store}).Begin(ctx, q.Binding(), row); err != nil {
			return false, err
		}
	}
	if !contested {
		return false, nil
	}
	return false, binding.Binder{Store: o.store}.Keep(ctx, q.Binding(), q.Columns[0], made)
}
