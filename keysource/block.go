package keysource

import (
	"sync/atomic"
	"time"
)

// run is the integers from first to first+n-1. It is empty if n is 0.
type run struct{ first, n int64 }

// meets reports whether next begins directly after the last integer of r.
func (r run) meets(next run) bool { return r.n > 0 && next.first-r.first == r.n }

// from returns the part of r that is not below least.
func (r run) from(least int64) run {
	if least <= r.first {
		return r
	}
	// The difference does not overflow: r.first is at least 1.
	if skip := least - r.first; skip < r.n {
		return run{least, r.n - skip}
	}
	return run{}
}

// block is a run of reserved integers in use. It hands out each integer once, from the
// lowest on.
//
//	first             first+used           first+n-1
//	  |  handed out       |      left          |
//	  +---------+---------+--------------------+
//	          mark
//
// Only the count used changes after a block is made. A block that is given up is sealed
// before the next block hands out anything, so that later keys are greater.
type block struct {
	run
	mark  int64     // when so many integers are used, the next block should be fetched
	begun time.Time // when its use began

	// The padding keeps used, which is written often, on a cache line of its own, so
	// that reading the fields above stays fast.
	_    [cacheLine]byte
	used atomic.Int64
	_    [cacheLine]byte
}

const cacheLine = 64

// prefetchShare is the divisor for the part of a block after whose use the next block
// is fetched: a quarter.
const prefetchShare = 4

func newBlock(r run, now time.Time) *block {
	return &block{run: r, mark: max(1, r.n/prefetchShare), begun: now}
}

// take takes n ≥ 1 consecutive integers and returns how many were used before. If fewer
// than n are left, it takes none and returns false.
func (b *block) take(n int64) (used int64, ok bool) {
	for {
		used = b.used.Load()
		if n > b.n-used {
			return 0, false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return used, true
		}
	}
}

// left returns the integers that have not been handed out.
func (b *block) left() run {
	used := b.used.Load()
	return run{b.first + used, b.n - used}
}

// seal marks all integers as used, and returns the ones that had not been handed out.
func (b *block) seal() run {
	used := b.used.Swap(b.n)
	return run{b.first + used, b.n - used}
}

// skip marks the integers below least as used, so that they are never handed out.
func (b *block) skip(least int64) {
	for {
		used := b.used.Load()
		to := b.n - b.from(least).n
		if to <= used || b.used.CompareAndSwap(used, to) {
			return
		}
	}
}

// low reports whether the next block should be fetched now.
func (b *block) low() bool { return b.n > 0 && b.used.Load() >= b.mark }
