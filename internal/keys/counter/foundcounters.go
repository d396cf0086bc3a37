package counter

import (
	"sync"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/keys/table"
)

// FoundCounters caches, by key column, the counter of a state whose name holds no value: a
// draw finds it without composing that name, and without a lock. It is safe for concurrent
// use, and its zero value is empty.
type FoundCounters struct {
	all atomic.Pointer[[]*atomic.Pointer[Counter]] // by the ID of the column
	mu  sync.Mutex                                 // held while all grows
}

// fewestFound is the number of columns that there is room for at first.
const fewestFound = 64

// Of returns the place of a column's counter, which holds nil before the counter is made. It
// returns nil for a column without an ID.
func (f *FoundCounters) Of(k *table.Column) *atomic.Pointer[Counter] {
	if k.ID == 0 {
		return nil
	}
	if all := f.all.Load(); all != nil && k.ID < int64(len(*all)) {
		return (*all)[k.ID]
	}
	return f.grow(k.ID)
}

// grow makes room for the column of an ID, and returns its place.
func (f *FoundCounters) grow(id int64) *atomic.Pointer[Counter] {
	f.mu.Lock()
	defer f.mu.Unlock()
	var old []*atomic.Pointer[Counter]
	if all := f.all.Load(); all != nil {
		old = *all
	}
	if id < int64(len(old)) {
		return old[id] // it has grown meanwhile
	}
	all := make([]*atomic.Pointer[Counter], max(fewestFound, 2*id))
	for i := copy(all, old); i < len(all); i++ {
		all[i] = new(atomic.Pointer[Counter])
	}
	f.all.Store(&all)
	return all[id]
}

// Drop removes a column's counter, unless another one has replaced it.
func (f *FoundCounters) Drop(k *table.Column, c *Counter) {
	if at := f.Of(k); at != nil {
		at.CompareAndSwap(c, nil)
	}
}
