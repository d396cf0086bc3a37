package statestore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// LeaseLog logs the leases of one source: of workers' numbers, or of series. It is safe
// for concurrent use.
type LeaseLog struct {
	Log    report.Log
	Source string
	Size   int64 // of a series; 0 where a worker's number is leased
	Lease  time.Duration
	Lost   *Losses // the leases of the source that were lost

	lines report.InTurn
	mu    sync.Mutex
	held  int64 // the first integer of the series that was taken last; 0 where none is held
}

// Losses counts the leases of a source that other processes had taken. It is safe for
// concurrent use.
type Losses struct {
	Count atomic.Uint64
	Last  atomic.Int64 // in nanoseconds of the Unix time
}

func (l *Losses) add() {
	l.Last.Store(time.Now().UnixNano())
	l.Count.Add(1)
}

// LeaseLosses are the losses of a database, by the name of the source.
type LeaseLosses struct{ All sync.Map }

// Of returns the losses of a source.
func (l *LeaseLosses) Of(source string) *Losses {
	one, _ := l.All.LoadOrStore(source, new(Losses))
	return one.(*Losses)
}

// number returns the worker's number of a series, or the series' own.
func (l *LeaseLog) number(first int64) (worker, series any) {
	if l.Size == 0 {
		return first - 1, nil
	}
	return nil, (first-1)/l.Size + 1
}

// Has notes that the source has a lease, or with 0 that it has none.
func (l *LeaseLog) Has(ctx context.Context, first int64) {
	l.mu.Lock()
	if before := l.held; first > 0 && first != before {
		worker, series := l.number(first)
		l.lines.Add(func() { l.Log.Write(ctx, report.MessageLeaseTaken, l.Source, worker, series, l.Lease) })
	} else if first != before {
		l.ends(ctx, report.MessageLeaseLost, before)
	}
	l.held = first
	l.mu.Unlock()
	l.lines.Run()
}

// Ended notes that a lease was lost or given back.
func (l *LeaseLog) Ended(ctx context.Context, m report.Message, first int64) {
	l.mu.Lock()
	if first == l.held {
		l.ends(ctx, m, first)
		l.held = 0
	}
	l.mu.Unlock()
	l.lines.Run()
}

// ends adds the line about the end of a lease.
func (l *LeaseLog) ends(ctx context.Context, m report.Message, first int64) {
	if m.Text == report.MessageLeaseLost.Text {
		l.Lost.add()
	}
	worker, series := l.number(first)
	l.lines.Add(func() { l.Log.Write(ctx, m, l.Source, worker, series) })
}

// HeldLines are notes for a LeaseLog. They wait for the end of a transaction, which may undo
// the changes that they report.
type HeldLines struct {
	Of    *LeaseLog
	now   bool // they do not wait
	notes []func(context.Context)
}

func (h *HeldLines) add(ctx context.Context, note func(context.Context)) {
	if h.now {
		note(ctx)
		return
	}
	h.notes = append(h.notes, note)
}

// Flush makes the notes.
func (h *HeldLines) Flush(ctx context.Context) {
	for _, note := range h.notes {
		note(ctx)
	}
	h.notes = nil
}

// WatchedSeries are series whose leases are logged.
type WatchedSeries struct {
	keysource.SeriesStore
	Told  *HeldLines
	watch *SourceWatch // of the store; nil on the statements' connections
}

func (s WatchedSeries) note(ctx context.Context, err error) {
	if s.watch != nil {
		s.watch.Note(ctx, err)
	}
}

// has notes what the source has, after a call that has succeeded.
func (s WatchedSeries) has(ctx context.Context, one keysource.Series) {
	s.Told.add(ctx, func(ctx context.Context) { s.Told.Of.Has(ctx, one.First) })
}

// ended notes that a lease has ended.
func (s WatchedSeries) ended(ctx context.Context, m report.Message, one keysource.Series) {
	s.Told.add(ctx, func(ctx context.Context) { s.Told.Of.Ended(ctx, m, one.First) })
}

// Own is the method of [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) Own(ctx context.Context) (keysource.Series, error) {
	own, err := s.SeriesStore.Own(ctx)
	if s.note(ctx, err); err == nil {
		s.has(ctx, own)
	}
	return own, err
}

// Move is the method of [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) Move(ctx context.Context, one keysource.Series, to int64) (keysource.Series, bool, error) {
	now, moved, err := s.SeriesStore.Move(ctx, one, to)
	if s.note(ctx, err); err == nil && !moved && !now.Own {
		s.ended(ctx, report.MessageLeaseLost, one)
	}
	return now, moved, err
}

// TakeOver is the method of [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	taken, err := s.SeriesStore.TakeOver(ctx, n)
	if s.note(ctx, err); err == nil && taken.First > 0 {
		s.has(ctx, taken)
	}
	return taken, err
}

// Open is the method of [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	made, err := s.SeriesStore.Open(ctx, seen)
	if s.note(ctx, err); err == nil && made.First >= seen {
		s.has(ctx, made)
	}
	return made, err
}

// GiveUp is the method of [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	err := s.SeriesStore.GiveUp(ctx, one, to)
	if s.note(ctx, err); err == nil {
		s.ended(ctx, report.MessageLeaseGivenBack, one)
	}
	return err
}

// watchedSeriesState are such series in a store.
type watchedSeriesState struct {
	WatchedSeries
	rows SeriesState
}

func (s watchedSeriesState) Bind(ctx context.Context, c store.Column) error {
	return s.rows.Bind(ctx, c)
}

func (s watchedSeriesState) MaxKey(ctx context.Context, from, to int64) (int64, error) {
	return s.rows.MaxKey(ctx, from, to)
}
