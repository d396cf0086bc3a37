package keys

import (
	"context"
	"sync"
	"time"
)

// longWait is from when on the wait of an INSERT for its store is logged. A round trip to
// a store takes a millisecond or a few, and the first connection some ten: who waits a
// hundred is waited for by people and by timeouts.
const longWait = 100 * time.Millisecond

// linePause is how long no second line of one kind is logged about one source, whatever
// tables and tenants it has.
const linePause = time.Minute

// paced counts what may come often of a source, of all its states, so that one line in a
// while tells of it. It is safe for concurrent use.
type paced struct {
	mu    sync.Mutex
	said  time.Time
	count int // since then
}

// pacedLines are the lines that the log of a database has at most once a minute about one
// source.
type pacedLines struct{ waits, suspects, unfits, nearEnds, behinds, rivals pacedLine }

// pacedLine is one kind of these lines.
type pacedLine struct{ all sync.Map } // of *paced, by the name of the source

// of returns what is counted of a source.
func (l *pacedLine) of(source string) *paced {
	one, _ := l.all.LoadOrStore(source, new(paced))
	return one.(*paced)
}

// note counts one more. It returns how many are to be told of now, 0 for none.
func (p *paced) note() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if !p.said.IsZero() && time.Since(p.said) < linePause {
		return 0
	}
	count := p.count
	p.said, p.count = time.Now(), 0
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

// since notes a wait that has begun at a time.
func (w *Waits) since(began time.Time) {
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
