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

// Row is the row of a sequence as it was when the sequence was opened.
type Row struct {
	Next    int64 // the lowest integer that is not reserved
	Created bool  // the row was made by this call, or by another call at the same time
	Behind  bool  // a key in the columns is not below Next; set with keysource.RemedyWarn
}

// Open makes sure that a sequence can be used: it has a row, or gets one if Create is
// set, the row serves its column with its parameters, and the next value is above the
// keys in use. Open must be called before the first [sequence.Reserve], by any number
// of processes at once.
//
// A fault of the row is returned as an [*store.Error]; a sequence that no row could
// serve as [store.ErrName] or keysource.ErrOptions; missing tables as
// [store.ErrTables], and a missing column as [store.ErrColumn].
//
// A row that is made within a transaction is removed by a rollback.
//
// If the stored counter is known only to a procedure of the application, the Row is
// empty, and nothing is compared.
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

// opener finds or makes the row of a sequence, and compares it with what the sequence
// expects.
type opener struct {
	store *store.Store
	q     *sequence.Sequence

	looked bool // a first look has found that no other stored counter has the column
}

// opening holds the results of opening a sequence.
type opening struct {
	row      Row
	known    bool                  // the row was read
	greatest int64                 // the greatest key in the columns; 0 if there is none to compare with
	bound    bool                  // the sequence was bound to a column
	form     *engine.RowStatements // nil for a row of keyfill_sequences that is not read before it is changed
}

// open does what [Open] does, except that it does not compare the row with the greatest
// key.
func (o opener) open(ctx context.Context) (opening, error) {
	return o.openKnowing(ctx, nil)
}

// openKnowing does what open does, for a caller that has queried the sequence already:
// look is the result, or nil.
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
	// Read the greatest key first: the keys that are in the column now were reserved
	// before, so a row that is read later is above them. In the other order, another
	// process could reserve and insert in between.
	greatest, ranked, err := sequence.ColumnsOf(o.store, q).Greatest(ctx)
	if err != nil {
		return got, err
	}
	stored, err := staterow.Read(ctx, o.store, q.Name)
	if err != nil {
		return got, err
	}
	if stored != nil && staterow.EndOf(stored.Incarnation) != q.End() && !q.HoldsBlocks() {
		// Keys from the end of the row on belong to another stored counter, so the greatest
		// key is read again without them.
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

// openSeen opens a row that was read before, or makes it if stored is nil. contested
// reports that another stored counter may have the column.
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

// raiseToStart raises an existing row to the StartAt of the sequence.
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

// ensure creates the tables that a sequence needs, and its procedure, if EnsureSchema
// is set.
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

// create makes the row and returns it as it is afterwards, since another process may
// have made and used it before. made is the same row, or nil if it was used. alone
// reports that no other stored counter has the column.
func (o opener) create(ctx context.Context, greatest int64, ranked bool) (stored, made *staterow.Row, alone bool, err error) {
	q := o.q
	if !q.Create {
		return nil, nil, false, o.row().NoRow(ctx, greatest)
	}
	claimed, gone := unused(ctx, q)
	if gone != nil {
		// Another process may have made and used the row since this one has looked for it.
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
			// Another process may have made and used the row since this one has looked for it.
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
	// Check this before the row is made: a row that is made by mistake would keep the
	// right sequence from using the column.
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
		// If two processes insert the row at once, Oracle reports a duplicate key to one of
		// them. The row of the other process can be used if it is not lower.
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

// start returns the next value for a row that is to be made.
func (o opener) start(ctx context.Context, greatest int64, ranked bool) (int64, error) {
	q := o.q
	start := q.Bounds.First(q.Made.Start)
	if start == 0 {
		var err error
		if greatest, err = sequence.ColumnsOf(o.store, q).InUse(ctx, greatest, ranked); err != nil {
			return 0, err
		}
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

// row returns the row of the sequence, with the statements that the engine has for every
// sequence.
func (o opener) row() *sequence.Row { return sequence.NewRow(o.store, o.q, nil) }

// checkRow compares a row with what the sequence expects, and binds a shared sequence
// to its columns. It marks the row of a sequence with StartAt. bound reports whether it
// has made a binding row. made is what create returned, nil for a row that existed
// before; contested is as in openSeen.
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
