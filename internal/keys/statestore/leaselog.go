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

// LeaseLog logs when a source gets or loses a lease: of a worker number, or of a series
// (a run of integers). It is safe for concurrent use.
type LeaseLog struct {
	Log    report.Log
	Source string
	Size   int64 // the size of a series (a range of integers); 0 if a worker number is leased
	Lease  time.Duration
	Lost   *Losses // counts the leases that the source has lost

	lines report.InTurn
	mu    sync.Mutex
	held  int64 // the first integer of the series (a range of integers) that was taken last; 0 if none is held
}

// Losses counts the leases of a source that were lost to other processes. It is safe
// for concurrent use.
type Losses struct {
	Count atomic.Uint64
	Last  atomic.Int64 // the time of the last loss, in nanoseconds of the Unix time
}

func (l *Losses) add() {
	l.Last.Store(time.Now().UnixNano())
	l.Count.Add(1)
}

// LeaseLosses holds the [Losses] of a database, by the name of the source.
type LeaseLosses struct{ All sync.Map }

// Of returns the Losses of a source.
func (l *LeaseLosses) Of(source string) *Losses {
	one, _ := l.All.LoadOrStore(source, new(Losses))
	return one.(*Losses)
}

// number returns the worker number that a series of integers stands for, or else the
// series' own number; the other result is nil.
func (l *LeaseLog) number(first int64) (worker, series any) {
	if l.Size == 0 {
		return first - 1, nil
	}
	return nil, (first-1)/l.Size + 1
}

// Has records that the source has the lease of the series of integers that begins at
// first; 0 means that it has none.
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

// Ended records that the lease of the series of integers that begins at first was lost
// or given back; m is the message to log.
func (l *LeaseLog) Ended(ctx context.Context, m report.Message, first int64) {
	l.mu.Lock()
	if first == l.held {
		l.ends(ctx, m, first)
		l.held = 0
	}
	l.mu.Unlock()
	l.lines.Run()
}

// ends adds the line about a lease that has ended.
func (l *LeaseLog) ends(ctx context.Context, m report.Message, first int64) {
	if m.Text == report.MessageLeaseLost.Text {
		l.Lost.add()
	}
	worker, series := l.number(first)
	l.lines.Add(func() { l.Log.Write(ctx, m, l.Source, worker, series) })
}

// HeldLines holds back calls of a LeaseLog until a transaction has committed, since a
// rollback would undo what they report.
type HeldLines struct {
	Of    *LeaseLog
	now   bool // calls are made at once, and not held back
	notes []func(context.Context)
}

func (h *HeldLines) add(ctx context.Context, note func(context.Context)) {
	if h.now {
		note(ctx)
		return
	}
	h.notes = append(h.notes, note)
}

// Flush makes the calls that were held back.
func (h *HeldLines) Flush(ctx context.Context) {
	for _, note := range h.notes {
		note(ctx)
	}
	h.notes = nil
}

// WatchedSeries is a [keysource.SeriesStore] whose leases are logged.
type WatchedSeries struct {
	keysource.SeriesStore
	Told  *HeldLines
	watch *SourceWatch // watches the store; nil for series on the statements' connections
}

func (s WatchedSeries) note(ctx context.Context, err error) {
	if s.watch != nil {
		s.watch.Note(ctx, err)
	}
}

// has logs, after a successful call, that the source has the lease of the series (a range
// of integers) called one. If that series is the zero value, the source has no lease.
func (s WatchedSeries) has(ctx context.Context, one keysource.Series) {
	s.Told.add(ctx, func(ctx context.Context) { s.Told.Of.Has(ctx, one.First) })
}

// ended records that a lease has ended.
func (s WatchedSeries) ended(ctx context.Context, m report.Message, one keysource.Series) {
	s.Told.add(ctx, func(ctx context.Context) { s.Told.Of.Ended(ctx, m, one.First) })
}

// Own implements [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) Own(ctx context.Context) (keysource.Series, error) {
	own, err := s.SeriesStore.Own(ctx)
	if s.note(ctx, err); err == nil {
		s.has(ctx, own)
	}
	return own, err
}

// Move implements [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) Move(ctx context.Context, one keysource.Series, to int64) (keysource.Series, bool, error) {
	now, moved, err := s.SeriesStore.Move(ctx, one, to)
	if s.note(ctx, err); err == nil && !moved && !now.Own {
		s.ended(ctx, report.MessageLeaseLost, one)
	}
	return now, moved, err
}

// TakeOver implements [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	taken, err := s.SeriesStore.TakeOver(ctx, n)
	if s.note(ctx, err); err == nil && taken.First > 0 {
		s.has(ctx, taken)
	}
	return taken, err
}

// Open implements [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	made, err := s.SeriesStore.Open(ctx, seen)
	if s.note(ctx, err); err == nil && made.First >= seen {
		s.has(ctx, made)
	}
	return made, err
}

// GiveUp implements [keysource.SeriesStore]. It logs what happens to the lease.
func (s WatchedSeries) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	err := s.SeriesStore.GiveUp(ctx, one, to)
	if s.note(ctx, err); err == nil {
		s.ended(ctx, report.MessageLeaseGivenBack, one)
	}
	return err
}

// watchedSeriesState is a [SeriesState] in a store whose leases are logged.
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
