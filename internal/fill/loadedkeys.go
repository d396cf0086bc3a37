package fill

import (
	"github.com/keyfill/keyfill/internal/fill/execution"
)

// loadedKeys holds the positions of a bulk load's keys in the recorders (see
// keyfill.Record), until it is known whether the keys were stored.
type loadedKeys struct {
	runs   []loadedRun
	newest map[*execution.Recorder]int // for each recorder, the index of its last run
}

// loadedRun is a run of n keys of the load in one recorder (see keyfill.Record), from index
// at on.
type loadedRun struct {
	recorder *execution.Recorder
	at, n    int
}

// add adds n keys. In a recorder (see keyfill.Record), the keys of a load follow one
// another, unless other keys were recorded in between.
func (k *loadedKeys) add(from execution.Note, n int) {
	if i, ok := k.newest[from.Recorder]; ok {
		if run := &k.runs[i]; run.at+run.n == from.At {
			run.n += n
			return
		}
	}
	if k.newest == nil {
		k.newest = map[*execution.Recorder]int{}
	}
	k.newest[from.Recorder] = len(k.runs)
	k.runs = append(k.runs, loadedRun{from.Recorder, from.At, n})
}

// settle sets the outcome of all keys in the recorders (see keyfill.Record).
func (k *loadedKeys) settle(o execution.Outcome) {
	for _, run := range k.runs {
		run.recorder.Set(run.at, run.n, o)
	}
	*k = loadedKeys{}
}
