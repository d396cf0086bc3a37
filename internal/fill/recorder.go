package fill

import (
	"context"
	"sync"

	"github.com/keyfill/keyfill/internal/keys"
)

// outcome is what became of a row.
type outcome uint8

const (
	// outcomeUnknown means that the engine does not tell.
	outcomeUnknown outcome = iota
	// outcomeStored means that the row is in the table with its key, as far as its
	// transaction commits.
	outcomeStored
	// outcomeNotStored means that no row got the key.
	outcomeNotStored
)

// recordedKey is one key that was sent, and what became of it.
type recordedKey struct {
	Table   string // in the case in which the engine compares names
	Column  string
	Row     int // of its statement, from 0
	Key     any // a uuid.UUID, a string or an int64
	Outcome outcome
}

// Recorder holds the keys that were recorded under a context, and the executions that
// wait for their retry. It is safe for concurrent use. Its zero value is empty.
type Recorder struct {
	parent *Recorder
	mu     sync.Mutex
	keys   []recordedKey
	lost   []*execution // that wait for their retry: see badconnretry.go
}

// recording says where the keys of an execution are recorded.
type recording struct {
	recorder *Recorder // the innermost; nil where nobody records
	notes    []note    // where the keys stand in the recorders; nil before they do
}

// note says where the keys of an execution stand in a Recorder.
type note struct {
	recorder *Recorder
	at       int
}

// WithRecorder returns a context under which r notes the keys, and the Recorders of
// ctx as well.
func WithRecorder(ctx context.Context, r *Recorder) context.Context {
	w := watchOf(ctx)
	r.parent, w.recorder = w.recorder, r
	return context.WithValue(ctx, watchKey{}, &w)
}

// recorderOf returns the Recorder of a context, nil where there is none.
func recorderOf(ctx context.Context) *Recorder { return watchOf(ctx).recorder }

// All returns a copy of what was noted.
func (r *Recorder) All() []recordedKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]recordedKey(nil), r.keys...)
}

// set changes the outcome of n keys that begin at an index.
func (r *Recorder) set(at, n int, o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n {
		r.keys[at+i].Outcome = o
	}
}

// write puts the keys of an execution into the recorders: after the others
// the first time, then in their own place, so that a statement that was sent
// twice is recorded once.
func (rec *recording) write(keys []recordedKey) {
	if rec.notes == nil {
		for r := rec.recorder; r != nil; r = r.parent {
			r.mu.Lock()
			rec.notes = append(rec.notes, note{r, len(r.keys)})
			r.keys = append(r.keys, keys...)
			r.mu.Unlock()
		}
		return
	}
	for _, n := range rec.notes {
		n.recorder.mu.Lock()
		copy(n.recorder.keys[n.at:], keys)
		n.recorder.mu.Unlock()
	}
}

// record notes the keys of the execution with what became of them.
func (x *execution) record(err error) {
	if x.recording.recorder == nil {
		return
	}
	keys := x.recorded()
	if !x.plan.Alone() {
		ending{x, err}.noteTogether(keys)
		x.recording.write(keys)
		return
	}
	o := outcomeUnknown
	if err != nil {
		o = ending{x, err}.outcome()
	}
	for i := range keys {
		keys[i].Outcome = o
		if err == nil && len(x.fate.rows) == len(keys) {
			keys[i].Outcome = x.fate.rows[i]
		}
	}
	x.recording.write(keys)
}

// recorded returns the keys that the execution drew, in row order.
func (x *execution) recorded() []recordedKey {
	var recorded []recordedKey
	for _, p := range x.plan.Filled(x.holes) {
		if x.plan.Inserts[p.Insert].Explained {
			continue
		}
		t := keys.TableOf(&x.plan.Inserts[p.Insert])
		k := &t.KeyColumns[p.Key]
		recorded = append(recorded, recordedKey{
			Table:  t.Table,
			Column: k.Name,
			Row:    p.Row,
			Key:    k.Reported(x.keys[p.Draw][p.N]),
		})
	}
	return append(recorded, numberedKeys(x)...)
}
