package keys

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// ownStore stands in the log for the application's database, which has no name in the
// policy.
const ownStore = "the application's database"

// failuresBeforeDown is how many attempts in a row a store has to fail before it is called
// down: a connection that broke while it was idle fails one, and the next one mends that
// 50 milliseconds later.
const failuresBeforeDown = 2

// storeWatches watch the stores of a database, by their names in the policy.
type storeWatches struct {
	mu  sync.Mutex
	all map[string]*storeWatch
}

// storeWatch logs that a store does not answer, once, and again once an INSERT gets no key
// since it does not, and that it is back. It is safe for concurrent use.
type storeWatch struct {
	log  Log
	name string

	lines   inTurn
	failing atomic.Bool // the last attempt has failed
	mu      sync.Mutex
	count   int       // attempts that have failed since the last answer
	since   time.Time // when the first of them ended
	said    string    // what may be said of the last one's error
	noKeys  bool      // an INSERT has got no key since then
	told    bool      // that the store is down
	worse   bool      // that was told as an error
}

// sourceWatch is a storeWatch for one source.
type sourceWatch struct {
	*storeWatch
	source string
}

// of returns the watch of a store for a source.
func (w *storeWatches) of(log Log, name, source string) sourceWatch {
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
	return sourceWatch{one, source}
}

// note notes how an attempt has ended.
func (w sourceWatch) note(ctx context.Context, err error) {
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

func (w sourceWatch) failed(ctx context.Context, err error) {
	w.mu.Lock()
	w.failing.Store(true)
	if w.count++; w.count == 1 {
		w.since = time.Now()
	}
	w.said = shownError(err)
	w.tell(ctx)
	w.mu.Unlock()
	w.lines.run()
}

// noKey notes that an INSERT has got no key, since its store does not answer.
func (w sourceWatch) noKey(ctx context.Context) {
	if !w.failing.Load() {
		return
	}
	w.mu.Lock()
	w.noKeys = w.count > 0
	w.tell(ctx)
	w.mu.Unlock()
	w.lines.run()
}

// tell logs that the store is down: as a warning while INSERTs have keys in hand, and as an
// error once one has got none. w.mu must be held.
func (w sourceWatch) tell(ctx context.Context) {
	level := messageStoreDown.Level
	switch {
	case w.count < failuresBeforeDown, w.worse, w.told && !w.noKeys:
		return
	case w.noKeys:
		level, w.worse = slog.LevelError, true
	}
	w.told = true
	said := w.said
	w.lines.add(func() { w.log.WriteAt(ctx, level, messageStoreDown, w.name, w.source, said) })
}

func (w sourceWatch) answered(ctx context.Context) {
	w.mu.Lock()
	if down, failures := time.Since(w.since), w.count; failures >= failuresBeforeDown {
		w.lines.add(func() { w.log.Write(ctx, messageStoreBack, w.name, down, failures) })
	}
	w.failing.Store(false)
	w.count, w.noKeys, w.told, w.worse = 0, false, false, false
	w.mu.Unlock()
	w.lines.run()
}

// watchedStore is where states are, whose store is watched.
type watchedStore struct {
	stateStore
	watch  sourceWatch
	leases *leaseLog
}

func (s watchedStore) numbers(row sequence.Sequence) (numberState, error) {
	state, err := s.stateStore.numbers(row)
	if err != nil {
		return nil, err
	}
	return watchedNumbers{state, s.watch}, nil
}

func (s watchedStore) series(o series.Options) seriesState {
	rows := s.stateStore.series(o)
	return watchedSeriesState{watchedSeries{rows, &heldLines{of: s.leases, now: true}, &s.watch}, rows}
}

func (s watchedStore) marker(w worker.Worker) markState {
	return watchedMark{s.stateStore.marker(w), s.watch}
}

// watchedNumbers is the state of a sequence whose store is watched.
type watchedNumbers struct {
	numberState
	watch sourceWatch
}

func (n watchedNumbers) Reserve(ctx context.Context, count, seen int64) (keysource.Reservation, error) {
	got, err := n.numberState.Reserve(ctx, count, seen)
	n.watch.note(ctx, err)
	return got, err
}

// watchedMark is the mark of a worker whose store is watched.
type watchedMark struct {
	markState
	watch sourceWatch
}

func (m watchedMark) Mark(ctx context.Context, until int64) (int64, error) {
	before, err := m.markState.Mark(ctx, until)
	m.watch.note(ctx, err)
	return before, err
}
