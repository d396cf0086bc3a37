package execution

import (
	"context"
	"sync"
)

// Outcome is whether a row was stored.
type Outcome uint8

const (
	// OutcomeUnknown means that the engine does not report it.
	OutcomeUnknown Outcome = iota
	// OutcomeStored means that the row is in the table with its key, as far as its
	// transaction commits.
	OutcomeStored
	// OutcomeNotStored means that no row got the key.
	OutcomeNotStored
)

// RecordedKey is one key that was sent, and the outcome of its row.
type RecordedKey struct {
	Table   string // in the case in which the engine compares names
	Column  string
	Row     int // of its statement, from 0
	Key     any // a uuid.UUID, a string or an int64
	Outcome Outcome
}

// Recorder holds the keys that were recorded under a context, and the executions that
// wait for their retry. It is safe for concurrent use. Its zero value is empty.
type Recorder struct {
	parent *Recorder
	mu     sync.Mutex
	keys   []RecordedKey
	lost   []*Execution // that wait for their retry: see badconnretry.go
}

// recording holds where the keys of an execution are recorded.
type recording struct {
	Recorder *Recorder // the innermost; nil if none is set
	Notes    []Note    // where the keys stand in the recorders; nil before they do
}

// Note holds where the keys of an execution stand in a Recorder.
type Note struct {
	Recorder *Recorder
	At       int
}

// WithRecorder returns a context under which r notes the keys, and the Recorders of
// ctx as well.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	w := WatchOf(ctx)
	r.parent, w.recorder = w.recorder, r
	return context.WithValue(ctx, watchKey{}, &w)
}

// RecorderOf returns the Recorder of a context, nil without one.
func RecorderOf(ctx context.Context) *Recorder { return WatchOf(ctx).recorder }

// All returns a copy of the recorded keys.
func (r *Recorder) All() []RecordedKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]RecordedKey(nil), r.keys...)
}

// Set changes the outcome of n keys that begin at an index.
func (r *Recorder) Set(at, n int, o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n {
		r.keys[at+i].Outcome = o
	}
}

// Write puts the keys of an execution into the recorders: after the others
// the first time, then in their own place, so that a statement that was sent
// twice is recorded once.
func (rec *recording) Write(keys []RecordedKey) {
	if rec.Notes == nil {
		for r := rec.Recorder; r != nil; r = r.parent {
			r.mu.Lock()
			rec.Notes = append(rec.Notes, Note{r, len(r.keys)})
			r.keys = append(r.keys, keys...)
			r.mu.Unlock()
		}
		return
	}
	for _, n := range rec.Notes {
		n.Recorder.mu.Lock()
		copy(n.Recorder.keys[n.At:], keys)
		n.Recorder.mu.Unlock()
	}
}
