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

// StateStore keeps the states of sources (the stored counters) that do not count on the
// connection of each statement: in tables of a database ([TableStates]), or in a store
// without SQL ([plainStates]). Only the method OpenSeen does I/O.
type StateStore interface {
	// Numbers returns what reserves the integers of a sequence.
	Numbers(row sequence.Sequence) (NumberState, error)

	// Series returns what takes and uses the series (leased runs of integers) of one
	// owner.
	Series(o series.Options) SeriesState

	// Marker returns what raises the mark of a worker (until when it has reserved the time
	// for its keys).
	Marker(w worker.Worker) MarkState

	// OpenSeen makes sure that the stored counter of a sequence can be used, and compares
	// it with the greatest key in the database of row.At.
	OpenSeen(ctx context.Context, row sequence.Sequence) error
}

// binder is a stored counter that can be bound to more columns.
type binder interface {
	Bind(ctx context.Context, c store.Column) error
}

// NumberState reserves the integers of a sequence from its stored counter.
type NumberState interface {
	keysource.Reserver
	binder
	MaxKey(ctx context.Context) (int64, error)
}

// EndingState is a state (stored counter) whose row may leave the integers from some
// number on to another state.
type EndingState interface {
	// KeysEnd returns the integer from which on keys belong to another stored counter, as
	// far as that is known; 0 if there is none. KeysEndNow reads the row first.
	KeysEnd() int64
	KeysEndNow(ctx context.Context) (int64, error)

	// RaiseText returns the statement that raises the row to a number.
	RaiseText(to int64) string
}

// EndingOf returns s as an EndingState if its row may leave integers to another stored
// counter, else nil.
func EndingOf(s NumberState) EndingState {
	if watched, ok := s.(WatchedNumbers); ok {
		s = watched.NumberState
	}
	ending, _ := s.(EndingState)
	return ending
}

// SeriesState leases series, which are runs of integers of which one process at a time gives
// out keys, and records how far each has been used.
type SeriesState interface {
	keysource.SeriesStore
	binder
	MaxKey(ctx context.Context, from, to int64) (int64, error)
}

// MarkState raises the mark (the time up to which a worker may make keys) of a snowflake's
// worker.
type MarkState interface {
	keysource.Marker
	binder
}

// TableStates keeps stored counters in keyfill's tables of a database.
type TableStates struct{ At *store.Store }

// Numbers implements [StateStore].
func (t TableStates) Numbers(row sequence.Sequence) (NumberState, error) {
	return reserver.New(t.At, row), nil
}

// Series implements [StateStore].
func (t TableStates) Series(o series.Options) SeriesState { return series.New(t.At, o) }

// Marker implements [StateStore].
func (t TableStates) Marker(w worker.Worker) MarkState { return worker.New(t.At, w) }

// OpenSeen implements [StateStore].
func (t TableStates) OpenSeen(ctx context.Context, row sequence.Sequence) error {
	_, err := reserver.Open(ctx, t.At, row)
	return err
}

// TablesOf returns the database in which s keeps stored counters; nil if it is a store
// without SQL.
func TablesOf(s StateStore) *store.Store {
	if watched, ok := s.(WatchedStore); ok {
		s = watched.StateStore
	}
	tables, _ := s.(TableStates)
	return tables.At
}
