package store

import (
	"cmp"
	"context"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// Row is the state of a sequence when it was opened.
type Row struct {
	Next    int64 // the lowest integer that is not reserved
	Created bool  // by this call, or another one at the same time
	Behind  bool  // with keysource.RemedyWarn: a key in the columns is as great as Next or greater
}

// Open makes sure that a sequence can be used: it has a row, or gets one where
// Create says so, the row serves its column with its parameters, and the next
// value is above the keys in use. It is to be called before the first
// [Store.Reserve]; by how many processes at once does not matter.
//
// What is wrong with the row is an [*Error]; what no row could be is [ErrName]
// or keysource.ErrOptions; tables that are not there are [ErrTables], a column
// that is not there is [ErrColumn].
//
// Within a transaction a row that is made is undone with it.
//
// Where only a procedure of the application's knows the state, the Row is empty,
// and nothing is compared.
func Open(ctx context.Context, s *Store, q Sequence) (Row, error) {
	o, err := opener{store: s, q: &q}.open(ctx)
	row, state := o.row, newRow(s, &q, o.form)
	if err == nil && o.known && row.Next < 1 && q.OnBehind != keysource.RemedyAdvance {
		return Row{}, state.belowOne(row.Next)
	}
	if err != nil || !o.known || row.Next > o.greatest {
		return row, err
	}
	switch q.OnBehind {
	case keysource.RemedyWarn:
		row.Behind = true
		return row, nil
	case keysource.RemedyAdvance:
		limit := state.limit()
		if q.holdsBlocks() {
			limit = q.ceiling()
		}
		if o.greatest >= limit {
			return Row{}, state.exhausted(row.Next)
		}
		row.Next = o.greatest + 1
		return row, Advance(ctx, s, q, row.Next)
	}
	e := q.fail(ErrBehind, "")
	e.Next = row.Next
	return Row{}, e
}

// opener finds the row of a sequence, or makes it, and compares what the row says.
type opener struct {
	store *Store
	q     *Sequence

	looked bool // a first look has found no other state of the column
}

// opening holds the results of opening a sequence.
type opening struct {
	row      Row
	known    bool           // row is
	greatest int64          // key in the columns, 0 where there is none to be compared with
	bound    bool           // the sequence was bound to a column
	form     *rowStatements // nil for a row of keyfill_sequences that is not read first
}

// open is [Store.Open] but for the comparison with the greatest key.
func (o opener) open(ctx context.Context) (opening, error) {
	return o.openKnowing(ctx, nil)
}

// openKnowing is open for who has looked at the sequence; look may be nil.
func (o opener) openKnowing(ctx context.Context, look *firstLook) (got opening, err error) {
	q := o.q
	if err := q.check(o.store.dialect); err != nil {
		return got, err
	}
	if q.foreign() {
		return o.openForeign(ctx)
	}
	switch {
	case look != nil && time.Now().Before(look.until) && (firstLooker{o.store, q}).may() && (look.stored != nil || !o.store.inside):
	case o.store.inside:
		look = nil // what is read before the transaction writes may be old: see LockFirst
	default:
		look = firstLooker{o.store, q}.look(ctx)
	}
	if look != nil {
		o.looked = true
		o.store.found.note()
		return o.openSeen(ctx, look.stored, look.stored == nil, look.greatest, true)
	}
	if err := o.ensure(ctx); err != nil {
		return got, err
	}
	if o.store.inside {
		if err := lockOfRows(o.store).first(ctx); err != nil {
			return got, err
		}
	}
	// The keys come first: those that are in the column now were reserved
	// before, so that a row read later is above them. The other way round,
	// another process could reserve and insert in between.
	greatest, ranked, err := columnsOf(o.store, q).greatest(ctx)
	if err != nil {
		return got, err
	}
	stored, err := readRow(ctx, o.store, q.Name)
	if err != nil {
		return got, err
	}
	if stored != nil && endOf(stored.incarnation) != q.end() && !q.holdsBlocks() {
		// From its end on keys are another state's.
		q.remember(stored)
		if greatest, ranked, err = columnsOf(o.store, q).greatest(ctx); err != nil {
			return got, err
		}
		if stored, err = readRow(ctx, o.store, q.Name); err != nil {
			return got, err
		}
	}
	return o.openSeen(ctx, stored, true, greatest, ranked)
}

// openSeen opens a row as it was read, or makes it. contested says that another state may
// have the column.
func (o opener) openSeen(ctx context.Context, stored *storedRow, contested bool, greatest int64, ranked bool) (got opening, err error) {
	q := o.q
	created := stored == nil
	var made *storedRow
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
	q.remember(stored)
	got.row, got.known, got.greatest = Row{Next: stored.next, Created: created}, true, greatest
	got.form, err = formOf(ctx, o.store, q)
	return got, err
}

// raiseToStart raises a row that is there already to where the sequence begins.
func (o opener) raiseToStart(ctx context.Context, stored *storedRow) (*storedRow, error) {
	if o.q.StartAt == 0 || stored.next >= o.q.StartAt {
		return stored, nil
	}
	if err := advanceRow(ctx, o.store, o.q, o.q.StartAt); err != nil {
		return nil, err
	}
	raised, err := readRow(ctx, o.store, o.q.Name)
	if err == nil && raised == nil {
		err = o.store.failed(o.q.Name, errRemoved)
	}
	return raised, err
}

// ensure creates what a sequence needs where it says so.
func (o opener) ensure(ctx context.Context) error {
	if !o.q.EnsureSchema {
		return nil
	}
	schema := SchemaOf(o.store)
	if err := schema.ensureFor(ctx, columnsOf(o.store, o.q).reachable()); err != nil || o.q.Procedure == "" {
		return err
	}
	return schema.ensureProcedure(ctx)
}

// create makes the row and returns it as it then is: another process may have
// made it, and used it, before. made is the row unless it was used. alone says that no other
// state has the column.
func (o opener) create(ctx context.Context, greatest int64, ranked bool) (stored, made *storedRow, alone bool, err error) {
	q := o.q
	if !q.Create {
		return nil, nil, false, o.row().noRow(ctx, greatest)
	}
	claimed, gone := unused(ctx, q)
	if gone != nil {
		// Another process may have made the row, and used it, since it was looked for.
		if stored, err := readRow(ctx, o.store, q.Name); err != nil || stored != nil {
			return stored, nil, false, err
		}
		return nil, nil, false, gone
	}
	if gone := o.wasThere(ctx); gone != nil {
		if stored, err := readRow(ctx, o.store, q.Name); err != nil || stored != nil {
			return stored, nil, false, err
		}
		return nil, nil, false, gone
	}
	if q.Fresh {
		if used, err := columnsOf(o.store, q).used(ctx); err != nil {
			return nil, nil, false, err
		} else if used {
			// Another process may have made the row, and used it, since it was
			// looked for.
			if stored, err := readRow(ctx, o.store, q.Name); err != nil || stored != nil {
				return stored, nil, false, err
			}
			return nil, nil, false, o.row().noRow(ctx, 0)
		}
	}
	start, err := o.start(ctx, greatest, ranked)
	if err != nil {
		return nil, nil, false, err
	}
	start = max(start, claimed)
	// A row that is made in error would keep out the sequence that is right.
	if !o.looked {
		if err := (binder{o.store}).checkAll(ctx, q.binding()); err != nil {
			return nil, nil, false, err
		}
	}
	table, column := q.bound()
	createErr := makeRow(ctx, o.store, q.Name, start, table, column, q.Parameters)
	if createErr != nil && o.store.inside {
		return nil, nil, false, o.store.failed(q.Name, createErr)
	}
	if createErr != nil {
		// Of two who make it at once, Oracle gives one the error of the unique
		// key. The row of the other is as good when it is no lower.
		if err := advanceRow(ctx, o.store, q, start); err != nil {
			return nil, nil, false, o.store.failed(q.Name, createErr)
		}
	}
	if o.looked {
		if look := (firstLooker{o.store, q}).look(ctx); look != nil && look.stored != nil {
			return look.stored, nil, true, nil
		}
	}
	for try := 1; err == nil && stored == nil; try++ {
		if stored, err = readRow(ctx, o.store, q.Name); stored != nil || err != nil {
			break
		}
		if createErr != nil || try == seenTries || o.store.inside || pause(ctx, o.store.random, try) != nil {
			err = o.store.failed(q.Name, cmp.Or(createErr, errRemoved))
		}
	}
	if err == nil && stored.next == start {
		made = stored
	}
	return stored, made, false, err
}

// start returns the next value of a row that is made.
func (o opener) start(ctx context.Context, greatest int64, ranked bool) (int64, error) {
	q := o.q
	start := max(q.Start, q.StartAt)
	if start == 0 && q.Below > 0 {
		if err := columnsOf(o.store, q).startKnown(); err != nil {
			return 0, err
		}
	} else if start == 0 && ranked {
		counted, err := columnsOf(o.store, q).counted(ctx)
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
		if err := columnsOf(o.store, q).allShown(ctx); err != nil {
			return 0, err
		}
		return 0, columnsOf(o.store, q).noStart()
	case greatest >= q.ceiling():
		return 0, o.row().exhausted(0)
	default:
		start = greatest + 1
	}
	if q.least > 0 && !(q.afresh && ranked && greatest == 0) {
		start = max(start, q.least)
		if ranked {
			start = max(start, min(greatest, q.ceiling())+1)
		}
		if start <= q.ceiling()-q.gap {
			start += q.gap
		}
	}
	return start, nil
}

// row returns the row without statements of its own.
func (o opener) row() *sequenceRow { return newRow(o.store, o.q, nil) }

// checkRow compares a row with the sequence, and binds a shared one to its
// columns. It marks the row of a sequence with StartAt, and reports whether it has made a row.
// made is as create returns it, nil for a row that was there; contested is as in openSeen.
func (o opener) checkRow(ctx context.Context, row, made *storedRow, contested bool) (bound bool, err error) {
	q := o.q
	if !q.serves(row) {
		serves := row.table + "." + row.column
		if row.table == "" {
			serves = "several"
		}
		return false, q.fail(ErrBound, "%s", serves)
	}
	if row.parameters != q.Parameters {
		return false, q.fail(ErrParameters, "%q, not %q", row.parameters, q.Parameters)
	}
	if q.Shared {
		return binder{o.store}.bind(ctx, q.binding())
	}
	if q.StartAt > 0 {
		if err := (binder{o.store}).begin(ctx, q.binding(), row); err != nil {
			return false, err
		}
	}
	if !contested {
		return false, nil
	}
	return false, binder{o.store}.keep(ctx, q.binding(), q.Columns[0], made)
}
