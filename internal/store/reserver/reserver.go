// Package reserver opens the row of a sequence and reserves integers from it, for a
// [counting.Sequence]. To open a row means to find or make it, to compare it with the
// expected values, and to bind it to its columns. [Look] returns the result that
// opening would have, and changes nothing.
package reserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// Reserver reserves integers from the row of one sequence, for a [counting.Sequence].
// It opens the row when it is first used, and again after the row was found missing. It
// is safe for concurrent use and must not be copied.
type Reserver struct {
	store     *store.Store
	sequence  sequence.Sequence
	allOrNone bool // reserve all integers that are asked for, or none
	noWait    bool // return an error instead of waiting for the upstream

	// All reservers that At returns share the fields below.
	opened *atomic.Bool
	once   *atomic.Bool                          // the row was opened before
	form   *atomic.Pointer[engine.RowStatements] // holds nil for a row that needs no statements of its own

	writer *writer // which server has written the row

	// first holds what MaxKey has found before the row was opened, or nil.
	first *atomic.Pointer[firstLook]
}

var _ keysource.Reserver = (*Reserver)(nil)

// New returns a Reserver for the row of a sequence. It does no I/O.
func New(s *store.Store, q sequence.Sequence) *Reserver {
	if q.Table != nil {
		table := *q.Table
		q.Table = &table
	}
	q.KeepRow()
	return &Reserver{store: s, sequence: q, opened: new(atomic.Bool), once: new(atomic.Bool), form: new(atomic.Pointer[engine.RowStatements]), writer: new(writer), first: new(atomic.Pointer[firstLook])}
}

// At returns a Reserver of the same row that uses another store of the same database:
// one of [store.On] or [store.Within]. A row that one of these reservers has opened is
// open for the others too.
func (r *Reserver) At(s *store.Store) *Reserver {
	other := *r
	other.store, other.first = s, new(atomic.Pointer[firstLook])
	return &other
}

// StartingAt returns a Reserver of the same row, which begins at start if it has to be
// made.
func (r *Reserver) StartingAt(start int64) *Reserver {
	other := *r
	other.sequence.Made.Start = start
	return &other
}

// Knowing returns a Reserver of the same row that uses what MaxKey of other has found,
// and need not ask again. other may be nil.
func (r *Reserver) Knowing(other *Reserver) *Reserver {
	if other == nil {
		return r
	}
	knowing := *r
	knowing.first = other.first
	return &knowing
}

// AllOrNone returns a Reserver of the same row that reserves all integers that it is
// asked for, or none. Fewer integers than one statement needs would be lost when its
// transaction commits.
func (r *Reserver) AllOrNone() *Reserver {
	other := *r
	other.allOrNone = true
	return &other
}

// NoWait returns a Reserver of the same row that returns [upstream.ErrNoBlock] instead
// of waiting for the upstream store of the sequence: see [upstream.Upstream.Await].
func (r *Reserver) NoWait() *Reserver {
	other := *r
	other.noWait = true
	return &other
}

// Above returns a Reserver of the same row. If the row has to be made, it begins at
// least or above: see [sequence.Sequence.Above].
func (r *Reserver) Above(least int64) *Reserver {
	other := *r
	other.sequence = r.sequence.Above(least)
	return &other
}

// Back returns the error of a row whose next value is next although integers below
// least were reserved, or are keys.
func (r *Reserver) Back(next, least int64) error {
	q := &r.sequence
	if q.Table != nil {
		return q.Fail(store.ErrBack, "it stands at %d, and numbers below %d were committed: raise it to the greatest number that any process names", next, least)
	}
	e := q.Fail(store.ErrBack, "it stands at %d, and numbers below %d were committed: raise it to the greatest number that any process names, or let it advance", next, least)
	e.SQL = r.RaiseText(least)
	return e
}

// RaiseText returns the statement that raises the next value of a row of keyfill_sequences to
// the integer to. It lowers nothing, so that the statements in the errors of several processes
// may be run in any order.
func (r *Reserver) RaiseText(to int64) string {
	return fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d WHERE name = %s AND next_value < %[1]d", to, r.store.Literal(r.sequence.Name))
}

// Upstream returns the upstream of the sequence, or nil.
func (r *Reserver) Upstream() *upstream.Upstream { return r.sequence.Upstream }

// Reserve reserves n integers as [sequence.Reserve] does, with two differences. If the row
// stands below seen, that is an answer and not an error. If fewer than n integers are left
// up to the Max of the sequence, or up to the greatest integer that the column of its key
// table can hold, Reserve reserves these and returns their number in N, except for a
// Reserver of [Reserver.AllOrNone]. If the sequence has an upstream store, it gets another
// block of integers from that store then.
func (r *Reserver) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if u := r.sequence.Upstream; u != nil {
		return u.Reserve(ctx, blockRows{r}, n, seen)
	}
	return r.ReserveRow(ctx, n, seen)
}

// ReserveRow reserves as Reserve does, but never asks an upstream store.
func (r *Reserver) ReserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if !r.opened.Load() {
		if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
			return keysource.Reservation{}, err
		}
	}
	again := true // open a row that is gone at most once
	for asked := n; ; {
		var got keysource.Reservation
		var err error
		row := sequence.NewRow(r.store, &r.sequence, r.form.Load())
		switch {
		case n < 1:
			err = keysource.ErrCount
		case r.sequence.Bounds.Skip.Last > 0:
			got, err = row.TakeOutside(ctx, n, seen)
		default:
			got, err = row.Take(ctx, n, seen)
		}
		if err == nil && r.allOrNone && row.IsBeyond(got, n) {
			err = row.Exhausted(got.First)
		}
		if err == nil {
			if n < asked {
				got.N = n
			}
			if r.store.Pooled && (!r.writer.settled.Load() || strings.Contains(got.Server, store.ForeignMark)) {
				if err := noteWriter(ctx, r, &got); err != nil {
					return keysource.Reservation{}, err
				}
			}
			return got, nil
		}
		if r.store.Pooled && again && r.lost(ctx, err) {
			again = false
			if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
				return keysource.Reservation{}, err
			}
			continue
		}
		var e *store.Error
		if !errors.As(err, &e) {
			return got, r.toldApart(ctx, err)
		}
		switch left := e.Limit - e.Next + 1; {
		case e.Err == store.ErrBack && e.Next < 1:
			return keysource.Reservation{}, row.BelowOne(e.Next)
		case e.Err == store.ErrBack:
			return keysource.Reservation{First: e.Next, Server: e.Server}, nil
		case e.Err == keysource.ErrExhausted && 0 < left && left < n && !r.allOrNone:
			n = left
			continue
		case e.Err == store.ErrNoRow && again && !r.store.Pooled:
			// The transaction that has made the row was rolled back, or the row was removed.
			// Another goroutine may have found that out at the same time.
			again = false
			r.opened.Store(false)
			if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
				return keysource.Reservation{}, err
			}
			continue
		}
		return got, err
	}
}

// toldApart returns err, or a refusal if keyfill_sequences is missing but the engine's
// error code does not say so: then the table is read once more. On a connection of the
// store's pool it returns err, since the row is read again anyway.
func (r *Reserver) toldApart(ctx context.Context, err error) error {
	if r.store.Pooled || r.store.Dialect.Errors.Generic == 0 || r.sequence.Table != nil || r.sequence.Procedure != "" {
		return err
	}
	return r.store.ToldGone(ctx, r.sequence.Name, err)
}

// lost reports whether a reservation has failed because the row or the table was
// removed after it had been opened, and may be made again. The next call then opens it
// again.
func (r *Reserver) lost(ctx context.Context, err error) bool {
	q := &r.sequence
	if q.IsForeign() || store.IsBroken(err) || ctx.Err() != nil {
		return false
	}
	var e *store.Error
	switch {
	case errors.As(err, &e):
		if e.Err != store.ErrNoRow || !q.Create {
			return false
		}
	case !q.EnsureSchema:
		return false
	default:
		// Another process may have made the table again already, and then the error has
		// another cause.
		code, known := sqlcode.Of(err)
		if known && code.Class(r.store.Dialect) != dialect.ErrorNoObject || !known && r.store.Probe(ctx, engine.SequencesTable) == nil {
			return false
		}
	}
	r.opened.Store(false)
	return true
}

// remadeGap is the gap that is left below a row that is made again, as a multiple of
// the number of integers that are asked for. Other processes may still hold integers of
// the former row, and cannot be asked for them.
const remadeGap = 100

// resume returns the sequence with which the row is opened. If the row was removed
// after this process had reserved integers up to seen, it is made again above these. On
// a connection of the application, the transaction that had made the row may have been
// rolled back instead, and then no process has integers of it: a seen of 1 means that
// nothing was reserved.
func (r *Reserver) resume(n, seen int64) sequence.Sequence {
	q := r.sequence
	if r.once.Load() && (seen > 1 || seen > 0 && r.store.Pooled) {
		q.Made.Least, q.Made.Gap = seen, remadeGap*min(n, math.MaxInt32)
	}
	if q.HoldsBlocks() {
		q.Made.Gap = 0 // the next block from the upstream is above all others
	}
	return q
}

// row returns the row of the sequence, with the statements that were found when it was
// opened.
func (r *Reserver) row() *sequence.Row { return sequence.NewRow(r.store, &r.sequence, r.form.Load()) }

// Bind binds a shared sequence to one more column, as opening the sequence binds each
// of its Columns. It returns [store.ErrTaken] if another stored counter serves the
// column. Bound columns stay bound. A rollback of the transaction undoes the binding.
func (r *Reserver) Bind(ctx context.Context, c store.Column) error {
	if err := r.Open(ctx); err != nil || !r.sequence.Shared {
		return err
	}
	if r.store.Inside {
		if err := store.LockOfRows(r.store).TakeFirst(ctx); err != nil {
			return err
		}
	}
	q := r.sequence
	q.Columns = []store.Column{c}
	if err := sequence.ColumnsOf(r.store, &q).ProveBelow(ctx); err != nil {
		return err
	}
	if q.IsForeign() {
		return opener{store: r.store, q: &q}.checkForeign(ctx)
	}
	_, err := binding.Binder{Store: r.store}.Bind(ctx, q.Binding())
	return err
}

// Advance raises the next value of the row to at least to, as [sequence.Advance] does.
func (r *Reserver) Advance(ctx context.Context, to int64) error {
	if err := r.Open(ctx); err != nil {
		return err
	}
	if u := r.sequence.Upstream; u != nil {
		return u.Advance(ctx, blockRows{r}, to)
	}
	return r.row().Advance(ctx, to)
}

// Raise raises the next value as Advance does, for a row without an upstream store. If
// the engine can do that, it locks no row that need not be raised.
func (r *Reserver) Raise(ctx context.Context, to int64) error {
	if err := r.Open(ctx); err != nil {
		return err
	}
	return r.row().Raise(ctx, to)
}

// MaxKey returns the greatest key in the sequence's columns, for
// [counting.SequenceOptions]. It is 0 if there is none, or if the greatest key of no
// column can be queried.
func (r *Reserver) MaxKey(ctx context.Context) (int64, error) {
	if !r.opened.Load() {
		look := firstLooker{r.store, &r.sequence}.lookMaking(ctx)
		r.first.Store(look)
		if look != nil {
			return look.greatest, nil
		}
	}
	key, _, err := sequence.ColumnsOf(r.store, &r.sequence).Greatest(ctx)
	if key == 0 || err != nil {
		return key, err
	}
	// The row may have got an end since it was last read, and keys from the end on belong
	// to another stored counter.
	end := r.sequence.KeysEnd()
	now, err := r.KeysEndNow(ctx)
	if err != nil || now == end {
		return key, nil // if the row is at fault, the reservation returns the error
	}
	key, _, err = sequence.ColumnsOf(r.store, &r.sequence).Greatest(ctx)
	return key, err
}

// KeysEndNow reads the row, and returns the lowest integer from which on keys belong to
// another stored counter now; 0 if there is none.
func (r *Reserver) KeysEndNow(ctx context.Context) (int64, error) {
	if r.sequence.Binding().Ends {
		row, err := staterow.Read(ctx, r.store, r.sequence.Name)
		if err != nil {
			return 0, err
		}
		if row != nil && staterow.EndOf(row.Incarnation) != r.sequence.End() {
			r.sequence.Remember(row)
		}
	}
	return r.sequence.KeysEnd(), nil
}

// KeysEnd returns the lowest integer from which on keys belong to another stored
// counter, as far as it is known; 0 if there is none.
func (r *Reserver) KeysEnd() int64 { return r.sequence.KeysEnd() }

// Open makes sure that the row can be used, and makes the row if the sequence has
// Create; a reservation does the same first. Inside a transaction with a snapshot a row
// that is made later is not found, unless it was opened on another store, before
// [Reserver.At]. Several goroutines may call Open at the same time.
func (r *Reserver) Open(ctx context.Context) error {
	if r.opened.Load() {
		return nil
	}
	return r.openAs(ctx, r.sequence)
}

// IsOpen reports whether the row was opened and not found missing since.
func (r *Reserver) IsOpen() bool { return r.opened.Load() }

// Reopen makes the next call open the row again.
func (r *Reserver) Reopen() { r.opened.Store(false) }

// openAs opens the row as Open does, for the sequence that [Reserver.resume] returns.
func (r *Reserver) openAs(ctx context.Context, q sequence.Sequence) error {
	if r.opened.Load() {
		return nil
	}
	o, err := opener{store: r.store, q: &q}.openKnowing(ctx, r.first.Swap(nil))
	if err != nil {
		return err
	}
	r.form.Store(o.form)
	if o.bound && r.store.Inside {
		// A rollback may remove the binding without notice, so the next call checks it again.
		return nil
	}
	r.once.Store(true)
	if q.Bounds.EndWithTransaction() && r.store.Inside {
		// The transaction may have raised the engine's own counter, or given another stored
		// counter its end. A rollback undoes both, so the check counts for this call alone.
		return nil
	}
	r.opened.Store(true)
	return nil
}
