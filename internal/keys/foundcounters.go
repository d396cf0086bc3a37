package keys

import (
	"sync"
	"sync/atomic"
)

// foundCounters holds, by key column, the counter of a state with one name: a draw finds it
// there without putting that name together, and without a lock. It is safe for concurrent
// use, and its zero value is empty.
type foundCounters struct {
	all atomic.Pointer[[]*atomic.Pointer[counter]] // by the ID of the column
	mu  sync.Mutex                                 // held while all grows
}

// fewestFound is for how many columns there is room at first.
const fewestFound = 64

// of returns the place of a column's counter, which is nil before the counter is made. It
// returns no place for a column without an ID.
func (f *foundCounters) of(k *Column) *atomic.Pointer[counter] {
	if k.ID == 0 {
		return nil
	}
	if all := f.all.Load(); all != nil && k.ID < int64(len(*all)) {
		return (*all)[k.ID]
	}
	return f.grow(k.ID)
}

// grow makes room for the column of an ID, and returns its place.
func (f *foundCounters) grow(id int64) *atomic.Pointer[counter] {
	f.mu.Lock()
	defer f.mu.Unlock()
	var old []*atomic.Pointer[counter]
	if all := f.all.Load(); all != nil {
		old = *all
	}
	if id < int64(len(old)) {
		return old[id] // it has grown meanwhile
	}
	all := make([]*atomic.Pointer[counter], max(fewestFound, 2*id))
	for i := copy(all, old); i < len(all); i++ {
		all[i] = new(atomic.Pointer[counter])
	}
	f.all.Store(&all)
	return all[id]
}

// drop takes a counter away, unless another one has its place.
func (f *foundCounters) drop(k *Column, c *counter) {
	if at := f.of(k); at != nil {
		at.CompareAndSwap(c, nil)
	}
}
