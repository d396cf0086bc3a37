package keys

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// leaseLog logs the leases of one source: of workers' numbers, or of series. It is safe
// for concurrent use.
type leaseLog struct {
	log    Log
	source string
	size   int64 // of a series; 0 where a worker's number is leased
	lease  time.Duration
	lost   *losses // the leases of the source that were lost

	lines inTurn
	mu    sync.Mutex
	held  int64 // the first integer of the series that was taken last; 0 where none is held
}

// losses counts the leases of a source that other processes had taken. It is safe for
// concurrent use.
type losses struct {
	count atomic.Uint64
	last  atomic.Int64 // in nanoseconds of the Unix time
}

func (l *losses) add() {
	l.last.Store(time.Now().UnixNano())
	l.count.Add(1)
}

// leaseLosses are the losses of a database, by the name of the source.
type leaseLosses struct{ all sync.Map }

// of returns the losses of a source.
func (l *leaseLosses) of(source string) *losses {
	one, _ := l.all.LoadOrStore(source, new(losses))
	return one.(*losses)
}

// number returns the worker's number of a series, or the series' own.
func (l *leaseLog) number(first int64) (worker, series any) {
	if l.size == 0 {
		return first - 1, nil
	}
	return nil, (first-1)/l.size + 1
}

// has notes that the source has a lease, or with 0 that it has none.
func (l *leaseLog) has(ctx context.Context, first int64) {
	l.mu.Lock()
	if before := l.held; first > 0 && first != before {
		worker, series := l.number(first)
		l.lines.add(func() { l.log.Write(ctx, messageLeaseTaken, l.source, worker, series, l.lease) })
	} else if first != before {
		l.ends(ctx, messageLeaseLost, before)
	}
	l.held = first
	l.mu.Unlock()
	l.lines.run()
}

// ended notes that a lease was lost or given back.
func (l *leaseLog) ended(ctx context.Context, m Message, first int64) {
	l.mu.Lock()
	if first == l.held {
		l.ends(ctx, m, first)
		l.held = 0
	}
	l.mu.Unlock()
	l.lines.run()
}

// ends adds the line about the end of a lease.
func (l *leaseLog) ends(ctx context.Context, m Message, first int64) {
	if m.Text == messageLeaseLost.Text {
		l.lost.add()
	}
	worker, series := l.number(first)
	l.lines.add(func() { l.log.Write(ctx, m, l.source, worker, series) })
}

// heldLines are notes for a leaseLog. They wait for the end of a transaction, which may
// undo what they tell.
type heldLines struct {
	of    *leaseLog
	now   bool // they do not wait
	notes []func(context.Context)
}

func (h *heldLines) add(ctx context.Context, note func(context.Context)) {
	if h.now {
		note(ctx)
		return
	}
	h.notes = append(h.notes, note)
}

// flush makes the notes.
func (h *heldLines) flush(ctx context.Context) {
	for _, note := range h.notes {
		note(ctx)
	}
	h.notes = nil
}

// watchedSeries are series whose leases are logged.
type watchedSeries struct {
	keysource.SeriesStore
	told  *heldLines
	watch *sourceWatch // of the store; nil on the statements' connections
}

func (s watchedSeries) note(ctx context.Context, err error) {
	if s.watch != nil {
		s.watch.note(ctx, err)
	}
}

// has notes what the source has, after a call that has succeeded.
func (s watchedSeries) has(ctx context.Context, one keysource.Series) {
	s.told.add(ctx, func(ctx context.Context) { s.told.of.has(ctx, one.First) })
}

// ended notes that a lease has ended.
func (s watchedSeries) ended(ctx context.Context, m Message, one keysource.Series) {
	s.told.add(ctx, func(ctx context.Context) { s.told.of.ended(ctx, m, one.First) })
}

func (s watchedSeries) Own(ctx context.Context) (keysource.Series, error) {
	own, err := s.SeriesStore.Own(ctx)
	if s.note(ctx, err); err == nil {
		s.has(ctx, own)
	}
	return own, err
}

func (s watchedSeries) Move(ctx context.Context, one keysource.Series, to int64) (keysource.Series, bool, error) {
	now, moved, err := s.SeriesStore.Move(ctx, one, to)
	if s.note(ctx, err); err == nil && !moved && !now.Own {
		s.ended(ctx, messageLeaseLost, one)
	}
	return now, moved, err
}

func (s watchedSeries) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	taken, err := s.SeriesStore.TakeOver(ctx, n)
	if s.note(ctx, err); err == nil && taken.First > 0 {
		s.has(ctx, taken)
	}
	return taken, err
}

func (s watchedSeries) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	made, err := s.SeriesStore.Open(ctx, seen)
	if s.note(ctx, err); err == nil && made.First >= seen {
		s.has(ctx, made)
	}
	return made, err
}

func (s watchedSeries) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	err := s.SeriesStore.GiveUp(ctx, one, to)
	if s.note(ctx, err); err == nil {
		s.ended(ctx, messageLeaseGivenBack, one)
	}
	return err
}

// watchedSeriesState are such series in a store.
type watchedSeriesState struct {
	watchedSeries
	rows seriesState
}

func (s watchedSeriesState) Bind(ctx context.Context, c store.Column) error {
	return s.rows.Bind(ctx, c)
}

func (s watchedSeriesState) MaxKey(ctx context.Context, from, to int64) (int64, error) {
	return s.rows.MaxKey(ctx, from, to)
}
