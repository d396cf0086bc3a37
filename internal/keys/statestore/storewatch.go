package statestore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// ownStore is the name of the application's database in the log, since the policy has
// no name for it.
const ownStore = "the application's database"

// FailuresBeforeDown is how many attempts in a row a store must fail before it is
// logged as down: a connection that broke while it was idle fails one attempt, and the
// next attempt succeeds 50 milliseconds later.
const FailuresBeforeDown = 2

// StoreWatches holds what watches the stores of a database, by their names in the
// policy.
type StoreWatches struct {
	mu  sync.Mutex
	all map[string]*storeWatch
}

// storeWatch logs once that a store does not answer, once more when an INSERT gets no
// key for that reason, and once that the store answers again. It is safe for concurrent
// use.
type storeWatch struct {
	log  report.Log
	name string

	lines   report.InTurn
	failing atomic.Bool // the last attempt has failed
	mu      sync.Mutex
	count   int       // attempts that have failed since the store last answered
	since   time.Time // when the first failed attempt since the store last answered ended
	said    string    // the part of the last attempt's error that may be shown
	noKeys  bool      // an INSERT got no key since the store last answered
	told    bool      // it was logged that the store is down
	worse   bool      // that the store is down was logged as an error, and not only as a warning
}

// SourceWatch is a storeWatch for one source.
type SourceWatch struct {
	*storeWatch
	source string
}

// Of returns the watch of a store, for a source that uses the store.
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

// Note records the result of an attempt to use the store.
func (w SourceWatch) Note(ctx context.Context, err error) {
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return // the caller has cancelled the attempt, which says nothing about the store
	case err != nil && !isStoreAnswer(err):
		w.failed(ctx, err)
	case w.failing.Load():
		w.answered(ctx)
	}
}

// isStoreAnswer reports whether an error shows that the store works.
func isStoreAnswer(err error) bool {
	var upstream *upstream.Error // such an error says that the upstream store has failed, not this one
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

// NoKey records that an INSERT got no key because its store does not answer.
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

// tell logs that the store is down: as a warning while INSERTs still have reserved
// keys, and as an error after an INSERT got none. The caller holds w.mu.
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

// WatchedStore is a StateStore that records whether the store answers.
type WatchedStore struct {
	StateStore
	Watch  SourceWatch
	Leases *LeaseLog
}

// Numbers implements [StateStore]; calls of the result are watched.
func (s WatchedStore) Numbers(row sequence.Sequence) (NumberState, error) {
	state, err := s.StateStore.Numbers(row)
	if err != nil {
		return nil, err
	}
	return WatchedNumbers{state, s.Watch}, nil
}

// Series implements [StateStore]; calls of the result are watched.
func (s WatchedStore) Series(o series.Options) SeriesState {
	rows := s.StateStore.Series(o)
	return watchedSeriesState{WatchedSeries{rows, &HeldLines{Of: s.Leases, now: true}, &s.Watch}, rows}
}

// Marker implements [StateStore]; calls of the result are watched.
func (s WatchedStore) Marker(w worker.Worker) MarkState {
	return watchedMark{s.StateStore.Marker(w), s.Watch}
}

// WatchedNumbers is a NumberState that records whether its store answers.
type WatchedNumbers struct {
	NumberState
	Watch SourceWatch
}

// Reserve implements [keysource.Reserver].
func (n WatchedNumbers) Reserve(ctx context.Context, count, seen int64) (keysource.Reservation, error) {
	got, err := n.NumberState.Reserve(ctx, count, seen)
	if strings.Contains(got.Server, store.ForeignMark) {
		n.Watch.log.Write(ctx, report.MessageElsewhere, n.Watch.name, n.Watch.source)
	}
	if err != nil || n.Watch.failing.Load() {
		n.Watch.Note(ctx, err)
	}
	return got, err
}

// watchedMark is a MarkState that records whether its store answers.
type watchedMark struct {
	MarkState
	watch SourceWatch
}

func (m watchedMark) Mark(ctx context.Context, until int64) (int64, error) {
	before, err := m.MarkState.Mark(ctx, until)
	m.watch.Note(ctx, err)
	return before, err
}
