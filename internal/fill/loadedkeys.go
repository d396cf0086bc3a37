package fill

import (
	"github.com/keyfill/keyfill/internal/fill/execution"
)

// loadedKeys holds where the keys of a bulk load stand in the recorders, until it is
// known whether they were stored.
type loadedKeys struct {
	runs   []loadedRun
	newest map[*execution.Recorder]int // for each recorder, the index of its last run
}

// loadedRun is keys of the load in one recorder: n from at on.
type loadedRun struct {
	recorder *execution.Recorder
	at, n    int
}

// add adds n keys. The keys of a load stand one after the other in its recorders,
// unless others come in between.
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

// settle notes the outcome of the keys.
func (k *loadedKeys) settle(o execution.Outcome) {
	for _, run := range k.runs {
		run.recorder.Set(run.at, run.n, o)
	}
	*k = loadedKeys{}
}
