// Package reserver opens the row of a sequence and reserves from it, for a
// [keysource.Sequence]. To open a row means to find it or to make it, to compare it with
// the expected values, and to bind it to its columns. [Look] returns the result that
// opening would have, and changes nothing.
package reserver

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// Reserver is the row of one sequence, for a [keysource.Sequence]. It opens the
// row when it is first used, and anew after it was missing. It is safe for
// concurrent use and must not be copied.
type Reserver struct {
	store     *store.Store
	sequence  sequence.Sequence
	allOrNone bool // never fewer than asked for
	noWait    bool // does not wait for the upstream

	// All reservers that At returns share these.
	opened *atomic.Bool
	once   *atomic.Bool                          // it was opened before
	form   *atomic.Pointer[engine.RowStatements] // nil inside for a row that needs none

	// first is the answer of MaxKey before the row was opened; nil inside if there is
	// none.
	first *atomic.Pointer[firstLook]
}

var _ keysource.Reserver = (*Reserver)(nil)

// New returns the row of a sequence. It does no I/O.
func New(s *store.Store, q sequence.Sequence) *Reserver {
	if q.Table != nil {
		table := *q.Table
		q.Table = &table
	}
	q.KeepRow()
	return &Reserver{store: s, sequence: q, opened: new(atomic.Bool), once: new(atomic.Bool), form: new(atomic.Pointer[engine.RowStatements]), first: new(atomic.Pointer[firstLook])}
}

// At returns the same row in another view of the database: a store of [store.On] or
// [store.Within]. A row that one of them has opened, the others need not open.
func (r *Reserver) At(s *store.Store) *Reserver {
	other := *r
	other.store, other.first = s, new(atomic.Pointer[firstLook])
	return &other
}

// StartingAt returns a Reserver of the same row, which begins at start if it is made.
func (r *Reserver) StartingAt(start int64) *Reserver {
	other := *r
	other.sequence.Made.Start = start
	return &other
}

// Knowing returns a Reserver that knows what MaxKey of another one of the same row has found.
// The other one may be nil.
func (r *Reserver) Knowing(other *Reserver) *Reserver {
	if other == nil {
		return r
	}
	knowing := *r
	knowing.first = other.first
	return &knowing
}

// AllOrNone returns a Reserver of the same row that reserves all integers that it
// is asked for, or none. Fewer integers than one statement needs would be lost
// when its transaction commits.
func (r *Reserver) AllOrNone() *Reserver {
	other := *r
	other.allOrNone = true
	return &other
}

// NoWait returns a Reserver of the same row that returns [upstream.ErrNoBlock] instead of
// waiting for the upstream of the sequence: see [upstream.Upstream.Await].
func (r *Reserver) NoWait() *Reserver {
	other := *r
	other.noWait = true
	return &other
}

// Above returns a Reserver of the same row, which is made as [sequence.Sequence.Above] says.
func (r *Reserver) Above(least int64) *Reserver {
	other := *r
	other.sequence = r.sequence.Above(least)
	return &other
}

// Back returns the error of a row that stands at next although integers below least were
// reserved, or are keys.
func (r *Reserver) Back(next, least int64) error {
	q := &r.sequence
	if q.Table != nil {
		return q.Fail(store.ErrBack, "it stands at %d, and numbers below %d were committed: raise it to the greatest number that any process names", next, least)
	}
	e := q.Fail(store.ErrBack, "it stands at %d, and numbers below %d were committed: raise it to the greatest number that any process names, or let it advance", next, least)
	e.SQL = fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d WHERE name = %s", least, r.store.Literal(q.Name))
	return e
}

// Upstream returns the upstream of the sequence, or nil.
func (r *Reserver) Upstream() *upstream.Upstream { return r.sequence.Upstream }

// Reserve is [sequence.Reserve] with two differences. A row that stands below seen is
// an answer and not an error. Where fewer than n integers are left up to the Max
// of the sequence, or up to the greatest integer of its key table's column,
// Reserve reserves these, and N says how many, except for a Reserver of
// [Reserver.AllOrNone]. A sequence with an upstream takes another block then.
func (r *Reserver) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if u := r.sequence.Upstream; u != nil {
		return u.Reserve(ctx, blockRows{r}, n, seen)
	}
	return r.ReserveRow(ctx, n, seen)
}

// ReserveRow is Reserve without an upstream.
func (r *Reserver) ReserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if !r.opened.Load() {
		if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
			return keysource.Reservation{}, err
		}
	}
	again := true // to open a row that has gone
	for asked := n; ; {
		got, err := r.ask(ctx, n, seen)
		if err != nil && r.store.Pooled && again && r.lost(ctx, err) {
			again = false
			if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
				return keysource.Reservation{}, err
			}
			continue
		}
		var e *store.Error
		if !errors.As(err, &e) {
			if err == nil && n < asked {
				got.N = n
			}
			return got, r.toldApart(ctx, err)
		}
		switch left := e.Limit - e.Next + 1; {
		case e.Err == store.ErrBack && e.Next < 1:
			return keysource.Reservation{}, r.row().BelowOne(e.Next)
		case e.Err == store.ErrBack:
			return keysource.Reservation{First: e.Next, Server: e.Server}, nil
		case e.Err == keysource.ErrExhausted && 0 < left && left < n && !r.allOrNone:
			n = left
			continue
		case e.Err == store.ErrNoRow && again && !r.store.Pooled:
			// The transaction that had made it was rolled back, or it was removed. Another
			// goroutine may have found that at the same time.
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

// toldApart returns err, or a refusal if keyfill_sequences is missing and the engine's number
// does not say so: the table is read once more. On a connection of our own it returns err,
// since the row is looked at again anyway.
func (r *Reserver) toldApart(ctx context.Context, err error) error {
	if r.store.Pooled || r.store.Dialect.Errors.Generic == 0 || r.sequence.Table != nil || r.sequence.Procedure != "" {
		return err
	}
	return r.store.ToldGone(ctx, r.sequence.Name, err)
}

// lost reports whether a reservation has failed because the row, or the table, that
// had been opened is not there any more, and may be made again. The next call opens
// it anew.
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
		// Another process may have made the table again already.
		code, known := sqlcode.Of(err)
		if known && code.Class(r.store.Dialect) != dialect.ErrorNoObject || !known && r.store.Probe(ctx, engine.SequencesTable) == nil {
			return false
		}
	}
	r.opened.Store(false)
	return true
}

// remadeGap is the size of the gap below a row that is made again, in multiples
// of the number of integers that are asked for. Other processes may still hold
// integers of the row before, and cannot be asked for them.
const remadeGap = 100

// resume returns the sequence as it is opened: a row that was removed, while this process
// had reserved up to seen, is made again above that. On a connection of the application
// the transaction that had made it may have been rolled back instead, and no process has
// integers of it: a seen of 1 means that nothing was reserved.
func (r *Reserver) resume(n, seen int64) sequence.Sequence {
	q := r.sequence
	if r.once.Load() && (seen > 1 || seen > 0 && r.store.Pooled) {
		q.Made.Least, q.Made.Gap = seen, remadeGap*min(n, math.MaxInt32)
	}
	if q.HoldsBlocks() {
		q.Made.Gap = 0 // its next block is above all others
	}
	return q
}

// row returns the row, with the statements that opening it has found.
func (r *Reserver) row() *sequence.Row { return sequence.NewRow(r.store, &r.sequence, r.form.Load()) }

// ask reserves once.
func (r *Reserver) ask(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	switch {
	case n < 1:
		return keysource.Reservation{}, keysource.ErrCount
	case r.allOrNone:
		return r.row().TakeAll(ctx, n, seen)
	}
	return r.row().TakeOutside(ctx, n, seen)
}

// Bind binds a shared sequence to one more column, as opening the sequence binds each of
// its Columns. It returns [store.ErrTaken] if another state serves the column. Bound
// columns stay bound. Within a transaction the binding is undone with it.
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

// Advance is [sequence.Advance].
func (r *Reserver) Advance(ctx context.Context, to int64) error {
	if err := r.Open(ctx); err != nil {
		return err
	}
	if u := r.sequence.Upstream; u != nil {
		return u.Advance(ctx, blockRows{r}, to)
	}
	return r.row().Advance(ctx, to)
}

// Raise is Advance of a row that has no upstream. It locks no row that stands there
// already, where the engine can do that.
func (r *Reserver) Raise(ctx context.Context, to int64) error {
	if err := r.Open(ctx); err != nil {
		return err
	}
	return r.row().Raise(ctx, to)
}

// MaxKey returns the greatest key in the sequence's columns, for
// [keysource.SequenceOptions]; 0 where there is none, or none can be asked for.
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
	// The row may have got an end since it was read last, and keys from there on are
	// another state's.
	end := r.sequence.KeysEnd()
	now, err := r.KeysEndNow(ctx)
	if err != nil || now == end {
		return key, nil // the reservation reports the fault of the row
	}
	key, _, err = sequence.ColumnsOf(r.store, &r.sequence).Greatest(ctx)
	return key, err
}

// KeysEndNow is KeysEnd of the row as it stands.
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

// KeysEnd returns the integer from which on keys are not the sequence's, as far as it is
// known; 0 for none.
func (r *Reserver) KeysEnd() int64 { return r.sequence.KeysEnd() }

// Open does the first part of a reservation: it makes sure that the row can be used, and
// makes it if the sequence has Create. Inside a transaction with a snapshot, a later row
// is not found, unless it was opened on another store, before [Reserver.At]. Several
// goroutines may call it at the same time.
func (r *Reserver) Open(ctx context.Context) error {
	if r.opened.Load() {
		return nil
	}
	return r.openAs(ctx, r.sequence)
}

// IsOpen reports whether the row was opened and not found missing since.
func (r *Reserver) IsOpen() bool { return r.opened.Load() }

// Reopen has the next call open the row again.
func (r *Reserver) Reopen() { r.opened.Store(false) }

// openAs is Open for the sequence of [Reserver.resume].
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
		// What binds it may be rolled back without notice: the next call
		// looks again.
		return nil
	}
	r.once.Store(true)
	if (q.Bounds.Below > 0 || q.Bounds.StartAt > 0) && r.store.Inside {
		// The transaction may have raised the counter of the engine itself, and a
		// rollback lowers it again, as it takes away the end that another state was
		// given: the proof counts for this call alone.
		return nil
	}
	r.opened.Store(true)
	return nil
}
