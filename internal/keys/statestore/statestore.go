package statestore

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// StateStore keeps the states of sources that do not count on the connection of each
// statement: in tables of a database ([TableStates]), or in a store without SQL
// ([plainStates]). Its methods do no I/O but OpenSeen.
type StateStore interface {
	// Numbers returns the state of a sequence.
	Numbers(row sequence.Sequence) (NumberState, error)

	// Series returns the series of one owner.
	Series(o series.Options) SeriesState

	// Marker returns the mark of a worker.
	Marker(w worker.Worker) MarkState

	// OpenSeen makes sure that the state of a sequence can be used, and compares it
	// with the greatest key as row.At sees that.
	OpenSeen(ctx context.Context, row sequence.Sequence) error
}

// binder is a state that more columns can be bound to.
type binder interface {
	Bind(ctx context.Context, c store.Column) error
}

// NumberState is the state of a source of integers.
type NumberState interface {
	keysource.Reserver
	binder
	MaxKey(ctx context.Context) (int64, error)
}

// EndingState is a state whose row may leave the integers from some number on to another
// state.
type EndingState interface {
	// KeysEnd returns the integer from which keys are not the state's, as far as that is
	// known, and KeysEndNow as the row says now; 0 for none.
	KeysEnd() int64
	KeysEndNow(ctx context.Context) (int64, error)
}

// EndingOf returns a state that may have an end, nil for any other.
func EndingOf(s NumberState) EndingState {
	if watched, ok := s.(WatchedNumbers); ok {
		s = watched.NumberState
	}
	ending, _ := s.(EndingState)
	return ending
}

// SeriesState is the state of a recycled source.
type SeriesState interface {
	keysource.SeriesStore
	binder
	MaxKey(ctx context.Context, from, to int64) (int64, error)
}

// MarkState is the state of a snowflake.
type MarkState interface {
	keysource.Marker
	binder
}

// TableStates are states in the tables of a database.
type TableStates struct{ At *store.Store }

// Numbers is the method of [StateStore].
func (t TableStates) Numbers(row sequence.Sequence) (NumberState, error) {
	return reserver.New(t.At, row), nil
}

// Series is the method of [StateStore].
func (t TableStates) Series(o series.Options) SeriesState { return series.New(t.At, o) }

// Marker is the method of [StateStore].
func (t TableStates) Marker(w worker.Worker) MarkState { return worker.New(t.At, w) }

// OpenSeen is the method of [StateStore].
func (t TableStates) OpenSeen(ctx context.Context, row sequence.Sequence) error {
	_, err := reserver.Open(ctx, t.At, row)
	return err
}
