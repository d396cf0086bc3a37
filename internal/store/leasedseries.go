package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
)

// takeTries is how often another abandoned series is looked for when others have
// been faster.
const takeTries = 16

// SeriesRows are the series of one owner, for a [keysource.Recycled]. They look
// for their tables and the counter's row when they are first used. They are safe
// for concurrent use where their store is, and must not be copied.
type SeriesRows struct {
	store   *Store
	series  Series
	counter *Reserver
	err     error // of what no database could serve
}

var _ keysource.SeriesStore = (*SeriesRows)(nil)

// NewSeries returns the series of an owner. It does no I/O.
func NewSeries(r *Store, o Series) *SeriesRows {
	o.Size = cmp.Or(o.Size, keysource.DefaultSeries)
	o.Lease = cmp.Or(o.Lease, keysource.DefaultLease)
	err := o.check()
	o.Sequence.Parameters = fmt.Sprintf("series=%d", o.Size)
	return &SeriesRows{store: r, series: o, counter: NewReserver(r, o.Sequence), err: err}
}

// At returns the same series as another view of the database finds them: a store
// of [On] or [Within]. What one of them has opened, the others need not.
func (r *SeriesRows) At(s *Store) *SeriesRows {
	return &SeriesRows{store: s, series: r.series, counter: r.counter.At(s), err: r.err}
}

// Bind is [Reserver.Bind], for series that are shared.
func (r *SeriesRows) Bind(ctx context.Context, c Column) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.counter.Bind(ctx, c)
}

// MaxKey returns the greatest key in the columns from from to to, both included,
// for [keysource.RecycledOptions]; 0 where there is none, or none can be asked
// for.
func (r *SeriesRows) MaxKey(ctx context.Context, from, to int64) (int64, error) {
	return columnsOf(r.store, &r.series.Sequence).greatestFrom(ctx, from, to)
}

// open looks for the tables and opens the counter's row, once.
func (r *SeriesRows) open(ctx context.Context) error {
	if r.err != nil || r.counter.isOpen() {
		return r.err
	}
	q := &r.series.Sequence
	if q.EnsureSchema {
		if err := SchemaOf(r.store).ensureFor(ctx, columnsOf(r.store, q).reachable()); err != nil {
			return err
		}
	}
	if r.store.inside {
		if err := lockOfRows(r.store).first(ctx); err != nil {
			return r.failed(err)
		}
	}
	if err := r.store.probe(ctx, seriesTable); err != nil {
		return r.failed(r.store.judge(ctx, ErrTables, err, probeText(seriesTable), nil))
	}
	counter, err := r.starting(ctx)
	if err != nil {
		return err
	}
	return counter.Open(ctx)
}

// starting returns the counter, whose row begins with a whole series if it is
// made.
func (r *SeriesRows) starting(ctx context.Context) (*Reserver, error) {
	if q := &r.series.Sequence; q.Start != 0 || !q.Create {
		return r.counter, nil
	}
	greatest, ranked, err := columnsOf(r.store, &r.series.Sequence).greatest(ctx)
	counter := r.counter.At(r.store)
	if err == nil && ranked {
		var last int64
		last, err = columnsOf(r.store, &r.series.Sequence).counted(ctx)
		greatest = max(greatest, last)
	}
	if ranked && greatest >= r.series.Sequence.max() {
		// Whether that matters depends on whether there is a row already, which is
		// looked for first: a start of 0 leaves the error to that.
		return counter, err
	}
	if ranked {
		counter = counter.startingAt(r.aligned(greatest + 1))
	}
	return counter, err
}

// aligned returns the first integer of the first series that has none below to.
func (r *SeriesRows) aligned(to int64) int64 {
	if to < 2 {
		return 1
	}
	size := r.series.Size
	before := (to-2)/size + 1 // series that begin below to
	if before > (r.series.Sequence.max()-1)/size {
		return to // within the last one, or beyond it: exhausted
	}
	return before*size + 1
}

// values returns the arguments of statements about one series.
func (r *SeriesRows) values(s keysource.Series) seriesValues {
	return seriesValues{
		"name": r.series.Sequence.Name, "owner": r.series.Owner, "later": r.series.Lease.Milliseconds(),
		"first": s.First, "last": s.Last, "next": s.Next, "epoch": s.Epoch,
	}
}

// Own returns the lowest series that is this owner's.
func (r *SeriesRows) Own(ctx context.Context) (keysource.Series, error) {
	if err := r.open(ctx); err != nil {
		return keysource.Series{}, err
	}
	locked := r.lockInside(ctx)
	own, err := r.lowest(ctx, seriesOwn, r.values(keysource.Series{}))
	if err == nil && locked != nil {
		return keysource.Series{}, locked
	}
	return own, err
}

// lockInside takes the lock to write inside a transaction of SQLite. Where that
// fails although the rows can be read, the transaction sees the rows of the time
// when it began to read, and others have written since.
func (r *SeriesRows) lockInside(ctx context.Context) error {
	if !r.store.inside {
		return nil
	}
	if err := lockOfRows(r.store).take(ctx); err != nil {
		return r.failed(err)
	}
	return nil
}

// lowest returns the series that a query finds; the zero one where it finds
// none.
func (r *SeriesRows) lowest(ctx context.Context, text string, v seriesValues) (keysource.Series, error) {
	first, err := r.first(ctx, text, v)
	return r.found(ctx, first, err)
}

// first returns the first integer of the series that a query finds, 0 where it finds none.
func (r *SeriesRows) first(ctx context.Context, text string, v seriesValues) (int64, error) {
	first, err := r.ask(ctx, text, v)
	if err != nil || first == nil || first[0] == nil {
		return 0, err
	}
	n, err := toInteger(first[0])
	if err != nil {
		return 0, r.failed(err)
	}
	return n, nil
}

// row returns a series as its row stands.
func (r *SeriesRows) row(ctx context.Context, first int64) (keysource.Series, error) {
	row, err := r.ask(ctx, seriesRow, r.values(keysource.Series{First: first}))
	if err != nil || row == nil {
		return keysource.Series{}, err
	}
	last, err1 := toInteger(row[0])
	next, err2 := toInteger(row[1])
	epoch, err3 := toInteger(row[3])
	if err := cmp.Or(err1, err2, err3); err != nil {
		return keysource.Series{}, r.failed(err)
	}
	return keysource.Series{First: first, Last: last, Next: next, Epoch: epoch, Own: toText(row[2]) == r.series.Owner}, nil
}

func (r *SeriesRows) ask(ctx context.Context, text string, v seriesValues) ([]any, error) {
	query, args := r.store.engine.seriesText(text, v)
	row, err := r.store.conn.query(ctx, query, args)
	if err != nil {
		r.lost(err)
		return nil, r.failed(r.store.judge(ctx, ErrTables, err, query, args))
	}
	return row, nil
}

// lost has the next call look for the tables again, and make them, where an error says
// that keyfill_series has gone since. The counter of new series stands above those that
// were in it.
func (r *SeriesRows) lost(err error) {
	if r.series.Sequence.EnsureSchema && !r.store.inside && sqlcode.ClassOf(r.store.dialect, err) == dialect.ErrorNoObject {
		r.counter.reopen()
	}
}

// change runs a statement and reports whether it has found its row.
func (r *SeriesRows) change(ctx context.Context, text string, v seriesValues) (bool, error) {
	query, args := r.store.engine.seriesText(text, v)
	n, err := r.store.conn.exec(ctx, query, args)
	switch {
	case err != nil:
		r.lost(err)
		return false, r.failed(r.store.judge(ctx, ErrTables, err, query, args))
	case n > 1:
		return false, ErrRows
	}
	return n == 1, nil
}

func (r *SeriesRows) failed(err error) error {
	return r.store.failed(r.series.Sequence.Name, r.store.refuseGone(ErrTables, err))
}

// Move sets the next integer of a series, and renews its lease.
func (r *SeriesRows) Move(ctx context.Context, s keysource.Series, to int64) (now keysource.Series, moved bool, err error) {
	if err := r.open(ctx); err != nil {
		return now, false, err
	}
	v := r.values(s)
	v["to"] = to
	moved, err = r.change(ctx, seriesMove, v)
	if err != nil || moved {
		s.Next, s.Own = to, true
		return s, moved, err
	}
	now, err = r.row(ctx, s.First)
	// A renewal in the same instant as another one changes nothing, which is
	// what some drivers count.
	moved = err == nil && to == s.Next && now.Own && now.Epoch == s.Epoch && now.Next == to
	return now, moved, err
}

// free returns the lowest series that can be taken over, or any of them by chance where
// that is wanted.
func (r *SeriesRows) free(ctx context.Context, v seriesValues, any bool) (keysource.Series, error) {
	lowest, err := r.first(ctx, seriesFree, v)
	if err != nil || lowest == 0 || !any {
		return r.found(ctx, lowest, err)
	}
	last, err := r.first(ctx, seriesFreeLast, v)
	if err != nil || last <= lowest {
		return r.found(ctx, lowest, err)
	}
	v["from"] = lowest + r.store.random(last-lowest+1)
	one, err := r.first(ctx, seriesFreeFrom, v)
	return r.found(ctx, cmp.Or(one, lowest), err)
}

// found returns the series with a first integer; the zero one for 0.
func (r *SeriesRows) found(ctx context.Context, first int64, err error) (keysource.Series, error) {
	if err != nil || first == 0 {
		return keysource.Series{}, err
	}
	return r.row(ctx, first)
}

// TakeOver makes the lowest abandoned series with n integers left this owner's. Where
// another owner is faster, it tries one by chance: hundreds of processes that begin at once,
// each of which wants a worker's number, would else meet at every one of them.
func (r *SeriesRows) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	if err := r.open(ctx); err != nil {
		return keysource.Series{}, err
	}
	locked := r.lockInside(ctx)
	for try := range takeTries {
		spent, err := r.lowest(ctx, seriesSpent, r.values(keysource.Series{}))
		if err == nil {
			err = locked
		}
		if err == nil && spent.First > 0 {
			_, err = r.change(ctx, seriesSweep, r.values(spent))
		}
		if err != nil {
			return keysource.Series{}, err
		}
		v := r.values(keysource.Series{})
		v["more"] = n - 1
		free, err := r.free(ctx, v, try > 0)
		if err != nil || free.First == 0 {
			return keysource.Series{}, err
		}
		v["first"] = free.First
		taken, err := r.change(ctx, seriesTake, v)
		if err != nil {
			return keysource.Series{}, err
		}
		if !taken {
			continue // somebody else was faster
		}
		now, err := r.row(ctx, free.First)
		if err != nil || now.Own {
			return now, err
		}
	}
	return keysource.Series{}, r.failed(anchor.New("contention", "others were faster to take over each abandoned series"))
}

// Open makes a new series this owner's: the counter moves on, and the row is
// made, in one transaction.
func (r *SeriesRows) Open(ctx context.Context, seen int64) (made keysource.Series, err error) {
	if err := r.open(ctx); err != nil {
		return made, err
	}
	// An engine may have no answer, which would abort the transaction.
	if _, err := r.store.server.expression(ctx); err != nil {
		return made, r.failed(err)
	}
	err = r.store.conn.transact(ctx, func(c conn) error {
		made, err = r.At(r.store.within(c)).make(ctx, seen)
		return err
	})
	var e *Error
	if err != nil && !errors.As(err, &e) {
		err = r.failed(err)
	}
	if err != nil {
		return keysource.Series{}, err
	}
	return made, nil
}

// make is Open within its transaction.
func (r *SeriesRows) make(ctx context.Context, seen int64) (keysource.Series, error) {
	size, counter := r.series.Size, r.counter
	if !r.store.pooled {
		// The transaction that had made the counter's row may have been rolled
		// back: it is made again.
		var err error
		if counter, err = r.starting(ctx); err != nil {
			return keysource.Series{}, err
		}
	}
	got, err := counter.Reserve(ctx, size, seen)
	if err != nil || got.First < seen {
		return keysource.Series{First: got.First}, err
	}
	s := keysource.Series{First: got.First, Next: got.First, Epoch: 1, Own: true}
	// The sum of the first integer and the size may not fit an int64.
	s.Last = min(got.First-1, r.series.Sequence.max()-size) + size
	there, err := r.row(ctx, s.First)
	if err != nil {
		return keysource.Series{}, err
	}
	if there.First > 0 {
		return keysource.Series{}, r.series.Sequence.fail(ErrBack, "there is a series that it has not counted: raise it above all rows of keyfill_series")
	}
	_, err = r.change(ctx, seriesMake, r.values(s))
	return s, err
}

// GiveUp ends this owner's right to a series, and removes one that is used up.
func (r *SeriesRows) GiveUp(ctx context.Context, s keysource.Series, to int64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	text, v := seriesGiveUp, r.values(s)
	if v["to"] = to; to > s.Last {
		text = seriesEnd
	}
	done, err := r.change(ctx, text, v)
	if err == nil && !done {
		_, err = r.change(ctx, seriesLeave, v)
	}
	return err
}

// Advance makes every series that is opened from now on begin at to or above.
func (r *SeriesRows) Advance(ctx context.Context, to int64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.counter.Advance(ctx, r.aligned(to))
}
