package counting

import (
	"sync"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Workers holds the numbers of the snowflakes that are open in this process and were
// given the same Workers. The zero value is empty. It is safe for concurrent use and
// must not be copied.
//
// They are for sources without a [keysource.Marker], of which two with one number would
// make the same keys. A program keeps one Workers for the process, since two databases
// that are opened under different names can be one; gives it to each source; lets all
// tables under one name that want the same number share one source and so its bits; and
// closes that source when the last of them is closed. The next source with its number
// leaves out the time that it may have used, by waiting for it to pass.
type Workers struct {
	mu    sync.Mutex
	taken map[int]bool
}

// take takes a number, or returns an error that wraps [keysource.ErrWorkerTaken]. If w is
// nil, it does nothing.
func (w *Workers) take(number int) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[number] {
		return anchor.Endf("%w: %d", keysource.ErrWorkerTaken, number)
	}
	if w.taken == nil {
		w.taken = make(map[int]bool)
	}
	w.taken[number] = true
	return nil
}

// free gives a number back, so that another source can take it.
func (w *Workers) free(number int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.taken, number)
}
