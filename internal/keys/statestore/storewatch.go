package statestore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// ownStore stands in the log for the application's database, which has no name in the
// policy.
const ownStore = "the application's database"

// FailuresBeforeDown is how many attempts in a row a store has to fail before it is called
// down: a connection that broke while it was idle fails one, and the next one mends that
// 50 milliseconds later.
const FailuresBeforeDown = 2

// StoreWatches watch the stores of a database, by their names in the policy.
type StoreWatches struct {
	mu  sync.Mutex
	all map[string]*storeWatch
}

// storeWatch logs once that a store does not answer, once more when an INSERT gets no key for
// that reason, and that the store is back. It is safe for concurrent use.
type storeWatch struct {
	log  report.Log
	name string

	lines   report.InTurn
	failing atomic.Bool // the last attempt has failed
	mu      sync.Mutex
	count   int       // attempts that have failed since the last answer
	since   time.Time // when the first of them ended
	said    string    // the part of the last one's error that may be shown
	noKeys  bool      // an INSERT has got no key since then
	told    bool      // the log said that the store is down
	worse   bool      // the log said so as an error
}

// SourceWatch is a storeWatch for one source.
type SourceWatch struct {
	*storeWatch
	source string
}

// Of returns the watch of a store for a source.
func (w *StoreWatches) Of(log report.Log, name, source string) SourceWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]*storeWatch{}
	}
	one := w.all[name]
	if one == nil {
		one = &storeWatch{log: log, name: name}
		if name == "" {
			one.name = ownStore
		}
		w.all[name] = one
	}
	return SourceWatch{one, source}
}

// Note notes how an attempt has ended.
func (w SourceWatch) Note(ctx context.Context, err error) {
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return // it was given up
	case err != nil && !isStoreAnswer(err):
		w.failed(ctx, err)
	case w.failing.Load():
		w.answered(ctx)
	}
}

// isStoreAnswer reports whether an error is the answer of a store that works.
func isStoreAnswer(err error) bool {
	var upstream *upstream.Error // another store's failure
	return errors.Is(err, keysource.ErrExhausted) || errors.As(err, &upstream) ||
		errors.Is(err, keysource.ErrStoreState) && !errors.Is(err, keysource.ErrStoreRefused)
}

func (w SourceWatch) failed(ctx context.Context, err error) {
	w.mu.Lock()
	w.failing.Store(true)
	if w.count++; w.count == 1 {
		w.since = time.Now()
	}
	w.said = report.ShownError(err)
	w.tell(ctx)
	w.mu.Unlock()
	w.lines.Run()
}

// NoKey notes that an INSERT has got no key, since its store does not answer.
func (w SourceWatch) NoKey(ctx context.Context) {
	if !w.failing.Load() {
		return
	}
	w.mu.Lock()
	w.noKeys = w.count > 0
	w.tell(ctx)
	w.mu.Unlock()
	w.lines.Run()
}

// tell logs that the store is down: as a warning while INSERTs have keys in hand, and as an
// error once one has got none. w.mu must be held.
func (w SourceWatch) tell(ctx context.Context) {
	level := report.MessageStoreDown.Level
	switch {
	case w.count < FailuresBeforeDown, w.worse, w.told && !w.noKeys:
		return
	case w.noKeys:
		level, w.worse = slog.LevelError, true
	}
	w.told = true
	said := w.said
	w.lines.Add(func() { w.log.WriteAt(ctx, level, report.MessageStoreDown, w.name, w.source, said) })
}

func (w SourceWatch) answered(ctx context.Context) {
	w.mu.Lock()
	if down, failures := time.Since(w.since), w.count; failures >= FailuresBeforeDown {
		w.lines.Add(func() { w.log.Write(ctx, report.MessageStoreBack, w.name, down, failures) })
	}
	w.failing.Store(false)
	w.count, w.noKeys, w.told, w.worse = 0, false, false, false
	w.mu.Unlock()
	w.lines.Run()
}

// WatchedStore is a StateStore whose answers are watched.
type WatchedStore struct {
	StateStore
	Watch  SourceWatch
	Leases *LeaseLog
}

// Numbers is the method of [StateStore], whose result is watched.
func (s WatchedStore) Numbers(row sequence.Sequence) (NumberState, error) {
	state, err := s.StateStore.Numbers(row)
	if err != nil {
		return nil, err
	}
	return WatchedNumbers{state, s.Watch}, nil
}

// Series is the method of [StateStore], whose result is watched.
func (s WatchedStore) Series(o series.Options) SeriesState {
	rows := s.StateStore.Series(o)
	return watchedSeriesState{WatchedSeries{rows, &HeldLines{Of: s.Leases, now: true}, &s.Watch}, rows}
}

// Marker is the method of [StateStore], whose result is watched.
func (s WatchedStore) Marker(w worker.Worker) MarkState {
	return watchedMark{s.StateStore.Marker(w), s.Watch}
}

// WatchedNumbers is the state of a sequence whose store is watched.
type WatchedNumbers struct {
	NumberState
	Watch SourceWatch
}

// Reserve is the method of [keysource.Reserver].
func (n WatchedNumbers) Reserve(ctx context.Context, count, seen int64) (keysource.Reservation, error) {
	got, err := n.NumberState.Reserve(ctx, count, seen)
	n.Watch.Note(ctx, err)
	return got, err
}

// watchedMark is the mark of a worker whose store is watched.
type watchedMark struct {
	MarkState
	watch SourceWatch
}

func (m watchedMark) Mark(ctx context.Context, until int64) (int64, error) {
	before, err := m.MarkState.Mark(ctx, until)
	m.watch.Note(ctx, err)
	return before, err
}
