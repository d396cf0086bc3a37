package report

import (
	"context"
	"sync"
	"time"
)

// LongWait is the shortest wait of an INSERT for its store that is logged. A round trip to a
// store takes a millisecond or a few, and the first connection some ten: people and timeouts
// notice a wait of a hundred.
const LongWait = 100 * time.Millisecond

// linePause is the shortest time between two lines of one kind about one source, whatever
// tables and tenants it has.
const linePause = time.Minute

// Paced counts events of a source, over all its states, so that one line in a while reports
// them together. It is safe for concurrent use.
type Paced struct {
	mu    sync.Mutex
	Said  time.Time
	count int // since then
}

// PacedLines are the lines that the log of a database has at most once a minute about one
// source.
type PacedLines struct{ Waits, Suspects, Unfits, NearEnds, Behinds, Rivals PacedLine }

// PacedLine is one kind of these lines.
type PacedLine struct{ all sync.Map } // of *paced, by the name of the source

// Of returns the count of a source.
func (l *PacedLine) Of(source string) *Paced {
	one, _ := l.all.LoadOrStore(source, new(Paced))
	return one.(*Paced)
}

// Note counts one event. It returns how many to log now, 0 for none.
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

// Waits are the waits of one INSERT for blocks. A nil one notes nothing.
type Waits struct {
	Blocks int
	For    time.Duration
}

type waitsKey struct{}

// WithWaits returns a context under which w notes the waits. It is used by one goroutine
// at a time.
func WithWaits(ctx context.Context, w *Waits) context.Context {
	return context.WithValue(ctx, waitsKey{}, w)
}

// WaitsOf returns the Waits of a context, nil where there are none.
func WaitsOf(ctx context.Context) *Waits {
	w, _ := ctx.Value(waitsKey{}).(*Waits)
	return w
}

// Since notes a wait that has begun at a time.
func (w *Waits) Since(began time.Time) {
	if w != nil {
		w.Add(time.Since(began))
	}
}

// Add notes a wait.
func (w *Waits) Add(d time.Duration) {
	if w != nil {
		w.Blocks++
		w.For += d
	}
}
