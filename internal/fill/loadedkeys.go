package fill

// loadedKeys says where the keys of a bulk load stand in the recorders, until it is
// known what became of them.
type loadedKeys struct {
	runs   []loadedRun
	newest map[*Recorder]int // for each recorder, the index of its last run
}

// loadedRun is keys of the load in one recorder: n from at on.
type loadedRun struct {
	recorder *Recorder
	at, n    int
}

// add adds n keys. The keys of a load stand one behind the other in its recorders,
// unless others come in between.
func (k *loadedKeys) add(from note, n int) {
	if i, ok := k.newest[from.recorder]; ok {
		if run := &k.runs[i]; run.at+run.n == from.at {
			run.n += n
			return
		}
	}
	if k.newest == nil {
		k.newest = map[*Recorder]int{}
	}
	k.newest[from.recorder] = len(k.runs)
	k.runs = append(k.runs, loadedRun{from.recorder, from.at, n})
}

// settle notes what has become of the keys.
func (k *loadedKeys) settle(o outcome) {
	for _, run := range k.runs {
		run.recorder.set(run.at, run.n, o)
	}
	*k = loadedKeys{}
}
