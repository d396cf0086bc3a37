package statestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// plainStates keeps states (stored counters) in a store without SQL. Such a store
// cannot know the greatest key of a column, which is therefore read in the
// application's database.
type plainStates struct{ at keysource.Store }

// errPlain is returned for options that need a database: tables and procedures that
// keep a stored counter, and the engine's own counter, which has to be queried whenever
// a stored counter is opened.
var errPlain = anchor.New("store-driver", "the source's store keeps states without SQL: leave lock, via, table, below and skip_range out, or name a store that is a database")

// errGone is returned if a stored counter is missing although this process has used it.
var errGone = fmt.Errorf("%w: it was there and is gone, and other processes may hold its numbers: stop them, and make it again above all of these", keysource.ErrStoreState)

func (p plainStates) Numbers(row sequence.Sequence) (NumberState, error) {
	if row.Table != nil || row.Lock != "" || row.Procedure != "" || row.Bounds.ArePart() {
		return nil, errPlain
	}
	b := p.state(row, row.Parameters)
	return &plainNumbers{b, p.at.Reserver(b.state)}, nil
}

func (p plainStates) Series(o series.Options) SeriesState {
	size, lease := cmp.Or(o.Size, counting.DefaultSeries), cmp.Or(o.Lease, counting.DefaultLease)
	b := p.state(o.Sequence, fmt.Sprintf("series=%d", size))
	return &plainSeries{b, p.at.Series(b.state, keysource.SeriesOwner{Size: size, Lease: lease, Owner: o.Owner})}
}

func (p plainStates) Marker(w worker.Worker) MarkState {
	b := p.state(sequence.Sequence{
		Name: worker.State(w.Name), Columns: w.Columns, Exclusive: w.Exclusive, Create: true, Made: sequence.MadeRow{Start: 1},
	}, w.Parameters)
	return &plainMark{plainState: b, in: p.at.Marker(b.state, w.Number, w.Owner), past: w.Past}
}

// OpenSeen reserves one integer, and returns an error if the store stands at or below
// the greatest key, unless the row's OnBehind raises the store or ignores that. It does
// not raise the store above the greatest possible integer.
func (p plainStates) OpenSeen(ctx context.Context, row sequence.Sequence) error {
	numbers, err := p.Numbers(row)
	if err != nil {
		return err
	}
	greatest, err := numbers.MaxKey(ctx)
	if err != nil {
		return err
	}
	above := greatest + min(1, math.MaxInt64-greatest)
	got, err := numbers.Reserve(ctx, 1, above)
	switch {
	case err != nil || got.First > greatest || row.OnBehind == keysource.RemedyWarn:
		return err
	case row.OnBehind == keysource.RemedyAdvance && greatest >= lastOf(row):
		return fmt.Errorf("%w: %q", keysource.ErrExhausted, row.Name)
	case row.OnBehind == keysource.RemedyAdvance:
		return numbers.Advance(ctx, above)
	}
	return fmt.Errorf("%w: %q", keysource.ErrStoreBehind, row.Name)
}

// state returns the stored counter for row, which holds its options.
func (p plainStates) state(row sequence.Sequence, parameters string) *plainState {
	b := &plainState{at: p.at, row: row}
	b.state = keysource.State{
		Name: row.Name, Parameters: parameters, Max: lastOf(row), First: b.begin,
	}
	return b
}

// lastOf returns the greatest integer that the stored counter of a row gives.
func lastOf(row sequence.Sequence) int64 {
	return min(cmp.Or(row.Bounds.Max, math.MaxInt64), math.MaxInt64-1)
}

// plainState is a state (a stored counter) that is bound to its columns when it is
// first used.
type plainState struct {
	at    keysource.Store
	row   sequence.Sequence
	state keysource.State

	bound atomic.Bool // the stored counter is bound to the columns of row
	used  atomic.Bool // the stored counter was found or made
}

// Bind binds the stored counter to one more column.
func (s *plainState) Bind(ctx context.Context, c store.Column) error {
	if s.row.Exclusive {
		return nil
	}
	return s.at.Bind(ctx, s.state, c.String())
}

// use calls do, after binding the stored counter to its columns if it is not bound yet.
func (s *plainState) use(ctx context.Context, do func() error) error {
	if !s.bound.Load() {
		for _, c := range s.row.Columns {
			if err := s.Bind(ctx, c); err != nil {
				return err
			}
		}
		s.bound.Store(true)
	}
	return do()
}

// make does what use does, for a call that makes the stored counter if it is missing.
func (s *plainState) make(ctx context.Context, do func() error) error {
	err := s.use(ctx, do)
	if errors.Is(err, store.ErrGone) || errors.Is(err, store.ErrFresh) {
		// Another process may have made and used the stored counter since this one has
		// looked for it, so try once more.
		err = do()
	}
	if err == nil {
		s.used.Store(true)
	}
	return err
}

// begin returns the first integer of a stored counter that does not exist yet and has
// to be created: see [keysource.State].First.
func (s *plainState) begin(ctx context.Context) (int64, error) {
	if s.used.Load() {
		return 0, errGone
	}
	return reserver.First(ctx, s.row)
}

// plainNumbers reserves the integers of a sequence in a store without SQL.
type plainNumbers struct {
	*plainState
	in keysource.Reserver
}

func (s *plainNumbers) Reserve(ctx context.Context, n, seen int64) (got keysource.Reservation, err error) {
	err = s.make(ctx, func() error {
		got, err = s.in.Reserve(ctx, n, seen)
		return err
	})
	return got, err
}

func (s *plainNumbers) Advance(ctx context.Context, to int64) error {
	return s.make(ctx, func() error { return s.in.Advance(ctx, to) })
}

func (s *plainNumbers) MaxKey(ctx context.Context) (int64, error) {
	return reserver.GreatestKey(ctx, s.row, 1, math.MaxInt64)
}

// plainMark raises the mark (the time up to which a worker may make keys) of a worker in a
// store without SQL.
type plainMark struct {
	*plainState
	in     keysource.Marker
	past   *worker.Past
	marked bool // the mark was raised by this process; the source makes one call at a time
}

// Mark implements [keysource.Marker]. The first call returns until, as the call of a
// [worker.Marker] does, if the mark was never raised although the application's database
// has a claim of the stored counter: the store may have been emptied.
func (s *plainMark) Mark(ctx context.Context, until int64) (before int64, err error) {
	err = s.use(ctx, func() error {
		before, err = s.in.Mark(ctx, until)
		return err
	})
	first := !s.marked
	s.marked = s.marked || err == nil
	if first && err == nil && before == 0 && s.past.Found() {
		before = until
	}
	return before, err
}
