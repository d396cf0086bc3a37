package report

import (
	"sync"
)

// InTurn calls functions one after the other, in the order in which they were added. It
// holds no lock during the calls: the functions write lines of the log, and the
// program's log handler may itself send an INSERT whose key adds a function here. It is
// safe for concurrent use, and its zero value is empty.
type InTurn struct {
	mu      sync.Mutex
	waiting []func()
	busy    bool // a goroutine is calling the functions
}

// Add adds f, which Run calls after all functions that were added before.
func (t *InTurn) Add(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, f)
}

// Run calls the added functions, unless another goroutine is in Run, which then calls
// all of them.
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
