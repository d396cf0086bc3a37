package counter

import (
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/keys/table"
)

// FoundCounters caches, by key column, the counters whose state (their row in the
// store) has a fixed name: a draw finds the counter without composing that name, and
// without a lock. It is safe for concurrent use, and its zero value is empty.
type FoundCounters struct {
	all atomic.Pointer[[]*atomic.Pointer[Counter]] // indexed by the ID of the column
	mu  sync.Mutex                                 // held while all grows
}

// fewestFound is the initial length of the list.
const fewestFound = 64

// Of returns the pointer that holds a column's counter; it holds nil before the counter
// is made. Of returns nil for a column without an ID.
func (f *FoundCounters) Of(k *table.Column) *atomic.Pointer[Counter] {
	if k.ID == 0 {
		return nil
	}
	if all := f.all.Load(); all != nil && k.ID < int64(len(*all)) {
		return (*all)[k.ID]
	}
	return f.grow(k.ID)
}

// grow makes the list long enough for an ID, and returns the pointer of that column.
func (f *FoundCounters) grow(id int64) *atomic.Pointer[Counter] {
	f.mu.Lock()
	defer f.mu.Unlock()
	var old []*atomic.Pointer[Counter]
	if all := f.all.Load(); all != nil {
		old = *all
	}
	if id < int64(len(old)) {
		return old[id] // another goroutine has lengthened the slice meanwhile
	}
	all := make([]*atomic.Pointer[Counter], max(fewestFound, 2*id))
	for i := copy(all, old); i < len(all); i++ {
		all[i] = new(atomic.Pointer[Counter])
	}
	f.all.Store(&all)
	return all[id]
}

// Drop removes a column's counter from the cache, unless another counter has replaced
// it.
func (f *FoundCounters) Drop(k *table.Column, c *Counter) {
	if at := f.Of(k); at != nil {
		at.CompareAndSwap(c, nil)
	}
}
