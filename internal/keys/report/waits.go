package report

import (
	"context"
	"sync"
	"time"
)

// LongWait is the shortest time for which an INSERT waits for its store that is logged. A
// round trip to a store takes one or a few milliseconds, and the first connection about
// ten; people and timeouts notice a wait of a hundred milliseconds.
const LongWait = 100 * time.Millisecond

// linePause is the shortest time between two lines of one kind about one source,
// however many tables and tenants it has.
const linePause = time.Minute

// Paced counts events of a source, over all its stored counters, so that one line of
// the log can report several of them together. It is safe for concurrent use.
type Paced struct {
	mu    sync.Mutex
	Said  time.Time
	count int // the number of events since Said
}

// PacedLines counts the events for those lines that are logged at most once a minute
// about one source.
type PacedLines struct{ Waits, Suspects, Unfits, NearEnds, Behinds, Rivals PacedLine }

// PacedLine counts the events for one kind of line.
type PacedLine struct{ all sync.Map } // maps the name of a source to its *Paced

// Of returns the counter of events of a source.
func (l *PacedLine) Of(source string) *Paced {
	one, _ := l.all.LoadOrStore(source, new(Paced))
	return one.(*Paced)
}

// Note counts one event. It returns how many events to report in a line now, 0 if no
// line is due.
func (p *Paced) Note() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if !p.Said.IsZero() && time.Since(p.Said) < linePause {
		return 0
	}
	count := p.count
	p.Said, p.count = time.Now(), 0
	return count
}

// Waits counts how often and how long one INSERT has waited for blocks (reserved ranges
// of integers). A nil Waits records nothing.
type Waits struct {
	Blocks int
	For    time.Duration
}

type waitsKey struct{}

// WithWaits returns a context whose waits are added to w. One goroutine at a time may
// use it.
func WithWaits(ctx context.Context, w *Waits) context.Context {
	return context.WithValue(ctx, waitsKey{}, w)
}

// WaitsOf returns the Waits of a context, nil if it has none.
func WaitsOf(ctx context.Context) *Waits {
	w, _ := ctx.Value(waitsKey{}).(*Waits)
	return w
}

// Since adds a wait that began at the given time.
func (w *Waits) Since(began time.Time) {
	if w != nil {
		w.Add(time.Since(began))
	}
}

// Add adds a wait of the given length.
func (w *Waits) Add(d time.Duration) {
	if w != nil {
		w.Blocks++
		w.For += d
	}
}
