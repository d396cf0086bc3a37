package execution

import (
	"context"
	"sync"
)

// Outcome is what is known about whether a row was stored.
type Outcome uint8

const (
	// OutcomeUnknown means that the engine does not report whether the row was stored.
	OutcomeUnknown Outcome = iota
	// OutcomeStored means that the row is in the table with its key, if its transaction
	// commits.
	OutcomeStored
	// OutcomeNotStored means that no row has the key.
	OutcomeNotStored
)

// RecordedKey is one key that was sent, with the outcome of its row.
type RecordedKey struct {
	Table   string // in the case in which the engine compares names
	Column  string
	Row     int // the index of the row in its statement, from 0
	Key     any // a uuid.UUID, a string or an int64
	Outcome Outcome
}

// Recorder holds the keys that were recorded under a context, and the executions that
// are kept for a repetition. It is safe for concurrent use. Its zero value is empty.
type Recorder struct {
	parent *Recorder
	mu     sync.Mutex
	keys   []RecordedKey
	lost   []*Execution // executions that are kept for a repetition: see badconnretry.go
}

// recording says where the keys of an execution are recorded.
type recording struct {
	Recorder *Recorder // the innermost recorder; nil if none is set
	Notes    []Note    // the positions of the keys in the recorders; nil before they are recorded
}

// Note is the position of an execution's keys in a Recorder.
type Note struct {
	Recorder *Recorder
	At       int
}

// WithRecorder returns a context whose keys are recorded in r and in the Recorders of
// ctx.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	w := WatchOf(ctx)
	r.parent, w.recorder = w.recorder, r
	return context.WithValue(ctx, watchKey{}, &w)
}

// RecorderOf returns the innermost Recorder of a context, nil if it has none.
func RecorderOf(ctx context.Context) *Recorder { return WatchOf(ctx).recorder }

// All returns a copy of the recorded keys.
func (r *Recorder) All() []RecordedKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]RecordedKey(nil), r.keys...)
}

// Set sets the outcome of n recorded keys from index at on.
func (r *Recorder) Set(at, n int, o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n {
		r.keys[at+i].Outcome = o
	}
}

// Write writes the keys of an execution to the recorders (see keyfill.Record). The first
// time it appends them; later it overwrites them, so that a statement that was sent twice
// is recorded once.
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
