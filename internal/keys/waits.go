package keys

import (
	"context"
	"sync"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// longWait is from when on the wait of an INSERT for its store is logged. A round trip to
// a store takes a millisecond or a few, and the first connection some ten: who waits a
// hundred is waited for by people and by timeouts.
const longWait = 100 * time.Millisecond

// waitPause is how long no second line about the waits of one source is logged.
const waitPause = time.Minute

// waitLog counts the long waits of a source, of all its states. It is safe for concurrent
// use.
type waitLog struct {
	mu    sync.Mutex
	said  time.Time
	waits int // long ones since then
}

// env returns what the source of the drawing is made with.
func (dr Drawing) env() keysource.Env {
	env := dr.db.sources.env
	db, table, column, source := dr.db, dr.table.Table, dr.key.Name, sourceOf(dr)
	known, _ := db.sources.waits.LoadOrStore(source, new(waitLog))
	env.Waited = func(ctx context.Context, d time.Duration) {
		WaitsOf(ctx).Add(d)
		if waits := known.(*waitLog).note(d); waits > 0 {
			db.Log.Write(ctx, messageWaited, table, column, source, d, waits)
		}
	}
	return env
}

// note notes that an INSERT has waited for its store. It returns how many long waits are to
// be logged now, 0 for none.
func (l *waitLog) note(d time.Duration) int {
	if d < longWait {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits++
	if !l.said.IsZero() && time.Since(l.said) < waitPause {
		return 0
	}
	waits := l.waits
	l.said, l.waits = time.Now(), 0
	return waits
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
