package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// stateStore is where the states of sources are that do not count on the connection of
// each statement: tables of a database ([tableStates]), or a store without SQL
// ([plainStates]). Its methods do no I/O but openSeen.
type stateStore interface {
	// numbers returns the state of a sequence.
	numbers(row sequence.Sequence) (numberState, error)

	// series returns the series of one owner.
	series(o series.Options) seriesState

	// marker returns the mark of a worker.
	marker(w worker.Worker) markState

	// openSeen makes sure that the state of a sequence can be used, and compares it
	// with the greatest key as row.At sees that.
	openSeen(ctx context.Context, row sequence.Sequence) error
}

// binder is a state that more columns can be bound to.
type binder interface {
	Bind(ctx context.Context, c store.Column) error
}

type numberState interface {
	keysource.Reserver
	binder
	MaxKey(ctx context.Context) (int64, error)
}

// endingState is a state whose row may leave the integers from one on to another state.
type endingState interface {
	// KeysEnd returns the integer from which on keys are not the state's, as far as that
	// is known, and KeysEndNow as the row says now; 0 for none.
	KeysEnd() int64
	KeysEndNow(ctx context.Context) (int64, error)
}

// endingOf returns a state that may have an end, nil for any other.
func endingOf(s numberState) endingState {
	if watched, ok := s.(watchedNumbers); ok {
		s = watched.numberState
	}
	ending, _ := s.(endingState)
	return ending
}

type seriesState interface {
	keysource.SeriesStore
	binder
	MaxKey(ctx context.Context, from, to int64) (int64, error)
}

type markState interface {
	keysource.Marker
	binder
}

// tableStates are states in the tables of a database.
type tableStates struct{ at *store.Store }

func (t tableStates) numbers(row sequence.Sequence) (numberState, error) {
	return reserver.New(t.at, row), nil
}

func (t tableStates) series(o series.Options) seriesState { return series.New(t.at, o) }

func (t tableStates) marker(w worker.Worker) markState { return worker.New(t.at, w) }

func (t tableStates) openSeen(ctx context.Context, row sequence.Sequence) error {
	_, err := reserver.Open(ctx, t.at, row)
	return err
}
