package report

import (
	"sync"
)

// InTurn calls functions one after the other, in the order in which they were added. It
// holds no lock meanwhile: they write lines of the log, and the program's handler may
// itself send an INSERT whose key leads here again. It is safe for concurrent use, and its
// zero value is empty.
type InTurn struct {
	mu      sync.Mutex
	waiting []func()
	busy    bool // a goroutine is calling them
}

// Add runs f after all functions that were added before.
func (t *InTurn) Add(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, f)
}

// Run calls the waiting functions, unless another goroutine does so, which then calls all.
func (t *InTurn) Run() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		return
	}
	t.busy = true
	defer func() { t.busy = false }() // after a panic as well
	for len(t.waiting) > 0 {
		f := t.waiting[0]
		t.waiting = t.waiting[1:]
		func() {
			t.mu.Unlock()
			defer t.mu.Lock()
			f()
		}()
	}
}
