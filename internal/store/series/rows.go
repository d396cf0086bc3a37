package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// takeTries is how often an abandoned series of integers is looked for while other
// owners are faster.
const takeTries = 16

// Rows are the series (runs of integers that one process owns) of one owner, for a
// [counting.Recycled]. They look for their tables and the counter's row when they are
// first used. They are safe for concurrent use if their store is, and must not be
// copied.
type Rows struct {
	store   *store.Store
	series  Options
	counter *reserver.Reserver
	err     error // the error of options that no database could serve
}

var _ keysource.SeriesStore = (*Rows)(nil)

// New returns the Rows of an owner. It does no I/O.
func New(s *store.Store, o Options) *Rows {
	o.Size = cmp.Or(o.Size, counting.DefaultSeries)
	o.Lease = cmp.Or(o.Lease, counting.DefaultLease)
	err := o.check()
	o.Sequence.Parameters = fmt.Sprintf("series=%d", o.Size)
	return &Rows{store: s, series: o, counter: reserver.New(s, o.Sequence), err: err}
}

// At returns the Rows of the same owner, on another store of the same database: one of
// [store.On] or [store.Within]. A counter that one of these Rows has opened is open for the
// others too.
func (r *Rows) At(s *store.Store) *Rows {
	return &Rows{store: s, series: r.series, counter: r.counter.At(s), err: r.err}
}

// Bind binds the series of integers to one more column, as [reserver.Reserver.Bind]
// does, if they are shared.
func (r *Rows) Bind(ctx context.Context, c store.Column) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.counter.Bind(ctx, c)
}

// MaxKey returns the greatest key in the columns between from and to, both included,
// for [counting.RecycledOptions]. It is 0 if there is none, or if the greatest key of
// no column can be queried.
func (r *Rows) MaxKey(ctx context.Context, from, to int64) (int64, error) {
	return sequence.ColumnsOf(r.store, &r.series.Sequence).GreatestFrom(ctx, from, to)
}

// open looks for the tables and opens the counter's row, once.
func (r *Rows) open(ctx context.Context) error {
	if r.err != nil || r.counter.IsOpen() {
		return r.err
	}
	q := &r.series.Sequence
	if q.EnsureSchema {
		if err := schema.Of(r.store).EnsureFor(ctx, sequence.ColumnsOf(r.store, q).Reachable()); err != nil {
			return err
		}
	}
	if r.store.Inside {
		if err := store.LockOfRows(r.store).TakeFirst(ctx); err != nil {
			return r.failed(err)
		}
	}
	if err := r.store.Probe(ctx, engine.SeriesTable); err != nil {
		return r.failed(r.store.Judge(ctx, store.ErrTables, err, store.ProbeText(engine.SeriesTable), nil))
	}
	counter, err := r.starting(ctx)
	if err != nil {
		return err
	}
	return counter.Open(ctx)
}

// starting returns the counter of new series of integers. If its row has to be made,
// the row begins with a whole series.
func (r *Rows) starting(ctx context.Context) (*reserver.Reserver, error) {
	if q := &r.series.Sequence; q.Made.Start != 0 || !q.Create {
		return r.counter, nil
	}
	greatest, ranked, err := sequence.ColumnsOf(r.store, &r.series.Sequence).Greatest(ctx)
	counter := r.counter.At(r.store)
	if err == nil && ranked {
		var last int64
		last, err = sequence.ColumnsOf(r.store, &r.series.Sequence).Counted(ctx)
		greatest = max(greatest, last)
	}
	if ranked && greatest >= r.series.Sequence.Greatest() {
		// The keys leave no room for a new series (a range of integers), which matters only
		// if the row does not exist. The counter, which is left without a start here, looks
		// for its row first, and returns that error itself if it needs a start.
		return counter, err
	}
	if ranked {
		counter = counter.StartingAt(r.aligned(greatest + 1))
	}
	return counter, err
}

// aligned returns the first integer of the lowest series of integers that has no
// integer below to.
func (r *Rows) aligned(to int64) int64 {
	if to < 2 {
		return 1
	}
	size := r.series.Size
	before := (to-2)/size + 1 // how many series (ranges of integers) begin below to
	if before > (r.series.Sequence.Greatest()-1)/size {
		return to // to is in the last series (a range of integers), or beyond it: no series is left
	}
	return before*size + 1
}

// RaiseText returns the statement that raises a series of the counter called name to the
// integer to, and lowers nothing.
func RaiseText(s *store.Store, name string, one keysource.Series, to int64) string {
	return fmt.Sprintf("UPDATE keyfill_series SET next_value = %d WHERE name = %s AND series_first = %d AND next_value < %[1]d", to, s.Literal(name), one.First)
}

// values returns the arguments of a statement about one series of integers.
func (r *Rows) values(s keysource.Series) engine.SeriesValues {
	return engine.SeriesValues{
		"name": r.series.Sequence.Name, "owner": r.series.Owner, "later": r.series.Lease.Milliseconds(),
		"first": s.First, "last": s.Last, "next": s.Next, "epoch": s.Epoch,
	}
}

// Own returns the lowest series of integers that belongs to this owner.
func (r *Rows) Own(ctx context.Context) (keysource.Series, error) {
	if err := r.open(ctx); err != nil {
		return keysource.Series{}, err
	}
	locked := r.lockInside(ctx)
	own, err := r.lowest(ctx, engine.SeriesOwn, r.values(keysource.Series{}))
	if err == nil && locked != nil {
		return keysource.Series{}, locked
	}
	return own, err
}

// lockInside takes the lock to write inside a transaction of SQLite. If that fails
// although the rows can be read, the transaction sees the rows as they were when it
// began to read, and another connection has written since.
func (r *Rows) lockInside(ctx context.Context) error {
	if !r.store.Inside {
		return nil
	}
	if err := store.LockOfRows(r.store).Take(ctx); err != nil {
		return r.failed(err)
	}
	return nil
}

// lowest returns the series of integers that a query finds; the zero Series if it finds
// none.
func (r *Rows) lowest(ctx context.Context, text string, v engine.SeriesValues) (keysource.Series, error) {
	first, err := r.first(ctx, text, v)
	return r.found(ctx, first, err)
}

// first returns the first integer of the series of integers that a query finds; 0 if it
// finds none.
func (r *Rows) first(ctx context.Context, text string, v engine.SeriesValues) (int64, error) {
	first, err := r.ask(ctx, text, v)
	if err != nil || first == nil || first[0] == nil {
		return 0, err
	}
	n, err := store.Integer(first[0])
	if err != nil {
		return 0, r.failed(err)
	}
	return n, nil
}

// row reads the series of integers that begins at first.
func (r *Rows) row(ctx context.Context, first int64) (keysource.Series, error) {
	row, err := r.ask(ctx, engine.SeriesRow, r.values(keysource.Series{First: first}))
	if err != nil || row == nil {
		return keysource.Series{}, err
	}
	last, err1 := store.Integer(row[0])
	next, err2 := store.Integer(row[1])
	epoch, err3 := store.Integer(row[3])
	if err := cmp.Or(err1, err2, err3); err != nil {
		return keysource.Series{}, r.failed(err)
	}
	return keysource.Series{First: first, Last: last, Next: next, Epoch: epoch, Own: store.Text(row[2]) == r.series.Owner}, nil
}

func (r *Rows) ask(ctx context.Context, text string, v engine.SeriesValues) ([]any, error) {
	query, args := r.store.Engine.SeriesText(text, v)
	row, err := r.store.Conn.Query(ctx, query, args)
	if err != nil {
		r.lost(err)
		return nil, r.failed(r.store.Judge(ctx, store.ErrTables, err, query, args))
	}
	return row, nil
}

// lost makes the next call look for the tables again, and create them, if err says that
// keyfill_series was removed. The counter of new series of integers is above all series
// that were in it.
func (r *Rows) lost(err error) {
	if r.series.Sequence.EnsureSchema && !r.store.Inside && sqlcode.ClassOf(r.store.Dialect, err) == dialect.ErrorNoObject {
		r.counter.Reopen()
	}
}

// change executes a statement that changes one row, and reports whether it has found
// the row.
func (r *Rows) change(ctx context.Context, text string, v engine.SeriesValues) (bool, error) {
	query, args := r.store.Engine.SeriesText(text, v)
	n, err := r.store.Conn.Exec(ctx, query, args)
	switch {
	case err != nil:
		r.lost(err)
		return false, r.failed(r.store.Judge(ctx, store.ErrTables, err, query, args))
	case n > 1:
		return false, store.ErrRows
	}
	return n == 1, nil
}

func (r *Rows) failed(err error) error {
	return r.store.Failed(r.series.Sequence.Name, r.store.RefuseGone(store.ErrTables, err))
}

// Move sets the next integer of a series of integers, and renews its lease.
func (r *Rows) Move(ctx context.Context, s keysource.Series, to int64) (now keysource.Series, moved bool, err error) {
	if err := r.open(ctx); err != nil {
		return now, false, err
	}
	v := r.values(s)
	v["to"] = to
	moved, err = r.change(ctx, engine.SeriesMove, v)
	if err != nil || moved {
		s.Next, s.Own = to, true
		return s, moved, err
	}
	now, err = r.row(ctx, s.First)
	// A renewal at the same instant as another one changes nothing, and some drivers count
	// only changed rows.
	moved = err == nil && to == s.Next && now.Own && now.Epoch == s.Epoch && now.Next == to
	return now, moved, err
}

// free returns the lowest series of integers that can be taken over; if any is set, it
// returns a random one of those that can be taken over.
func (r *Rows) free(ctx context.Context, v engine.SeriesValues, any bool) (keysource.Series, error) {
	lowest, err := r.first(ctx, engine.SeriesFree, v)
	if err != nil || lowest == 0 || !any {
		return r.found(ctx, lowest, err)
	}
	last, err := r.first(ctx, engine.SeriesFreeLast, v)
	if err != nil || last <= lowest {
		return r.found(ctx, lowest, err)
	}
	v["from"] = lowest + r.store.Random(last-lowest+1)
	one, err := r.first(ctx, engine.SeriesFreeFrom, v)
	return r.found(ctx, cmp.Or(one, lowest), err)
}

// found reads the series of integers that begins at first; it returns the zero Series
// if first is 0.
func (r *Rows) found(ctx context.Context, first int64, err error) (keysource.Series, error) {
	if err != nil || first == 0 {
		return keysource.Series{}, err
	}
	return r.row(ctx, first)
}

// TakeOver gives this owner the lowest abandoned series of integers that has n integers
// left. If another owner is faster, it tries a random one: otherwise hundreds of
// processes that begin at once, each of which wants a worker's number, would compete
// for every series.
func (r *Rows) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	if err := r.open(ctx); err != nil {
		return keysource.Series{}, err
	}
	locked := r.lockInside(ctx)
	for try := range takeTries {
		spent, err := r.lowest(ctx, engine.SeriesSpent, r.values(keysource.Series{}))
		if err == nil {
			err = locked
		}
		if err == nil && spent.First > 0 {
			_, err = r.change(ctx, engine.SeriesSweep, r.values(spent))
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
		taken, err := r.change(ctx, engine.SeriesTake, v)
		if err != nil {
			return keysource.Series{}, err
		}
		if !taken {
			continue // another owner was faster
		}
		now, err := r.row(ctx, free.First)
		if err != nil || now.Own {
			return now, err
		}
	}
	return keysource.Series{}, r.failed(anchor.New("contention", "other processes took over each abandoned series first"))
}

// Open makes a new series of integers that belongs to this owner: it raises the counter
// and inserts the row, in one transaction.
func (r *Rows) Open(ctx context.Context, seen int64) (made keysource.Series, err error) {
	if err := r.open(ctx); err != nil {
		return made, err
	}
	// Ask for the server's identity before the transaction begins: if the engine refuses
	// the query, that would abort the transaction.
	if _, err := r.store.Server.Expression(ctx); err != nil {
		return made, r.failed(err)
	}
	err = r.store.Conn.Transact(ctx, func(c store.Conn) error {
		made, err = r.At(r.store.InTransaction(c)).make(ctx, seen)
		return err
	})
	var e *store.Error
	if err != nil && !errors.As(err, &e) {
		err = r.failed(err)
	}
	if err != nil {
		return keysource.Series{}, err
	}
	return made, nil
}

// make makes a new series of integers, inside the transaction of Open.
func (r *Rows) make(ctx context.Context, seen int64) (keysource.Series, error) {
	size, counter := r.series.Size, r.counter
	if !r.store.Pooled {
		// The transaction that had made the counter's row may have been rolled back, so the
		// row may have to be made again.
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
	// First plus size might not fit an int64, so First is limited before size is added.
	s.Last = min(got.First-1, r.series.Sequence.Greatest()-size) + size
	there, err := r.row(ctx, s.First)
	if err != nil {
		return keysource.Series{}, err
	}
	if there.First > 0 {
		return keysource.Series{}, r.series.Sequence.Fail(store.ErrBack, "there is a series that it has not counted: raise it above all rows of keyfill_series")
	}
	_, err = r.change(ctx, engine.SeriesMake, r.values(s))
	return s, err
}

// GiveUp ends this owner's right to a series of integers, and deletes the series if it
// is used up.
func (r *Rows) GiveUp(ctx context.Context, s keysource.Series, to int64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	text, v := engine.SeriesGiveUp, r.values(s)
	if v["to"] = to; to > s.Last {
		text = engine.SeriesEnd
	}
	done, err := r.change(ctx, text, v)
	if err == nil && !done {
		_, err = r.change(ctx, engine.SeriesLeave, v)
	}
	return err
}

// Advance makes every series of integers that is made from now on begin at to or above.
func (r *Rows) Advance(ctx context.Context, to int64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.counter.Advance(ctx, r.aligned(to))
}
