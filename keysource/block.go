package keysource

import (
	"sync/atomic"
	"time"
)

// run is the integers first … first+n-1; it is empty where n is 0.
type run struct{ first, n int64 }

// meets reports whether next goes on where r ends.
func (r run) meets(next run) bool { return r.n > 0 && next.first-r.first == r.n }

// from returns what of r is not below least.
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

// block is a run in use. It hands out each integer once, from the lowest on.
//
//	first             first+used           first+n-1
//	  |  handed out       |      left          |
//	  +---------+---------+--------------------+
//	          mark
//
// But for used it is immutable. A block that is given up is sealed before its
// successor hands out anything, so that later keys are greater.
type block struct {
	run
	mark  int64     // how many are used when the next block should be fetched
	begun time.Time // when it came into use

	// Readers of the fields above and writers of the counter below should not share a
	// cache line.
	_    [cacheLine]byte
	used atomic.Int64
	_    [cacheLine]byte
}

const cacheLine = 64

// prefetchShare is the part of a block after whose use the next one is fetched:
// a quarter.
const prefetchShare = 4

func newBlock(r run, now time.Time) *block {
	return &block{run: r, mark: max(1, r.n/prefetchShare), begun: now}
}

// take takes n ≥ 1 consecutive integers and returns how many were used before.
// It takes nothing when fewer than n are left.
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

// seal ends the block and returns the integers that had not been handed out.
func (b *block) seal() run {
	used := b.used.Swap(b.n)
	return run{b.first + used, b.n - used}
}

// skip gives up the integers below least.
func (b *block) skip(least int64) {
	for {
		used := b.used.Load()
		to := b.n - b.from(least).n
		if to <= used || b.used.CompareAndSwap(used, to) {
			return
		}
	}
}

// low reports whether it is time to fetch the next block.
func (b *block) low() bool { return b.n > 0 && b.used.Load() >= b.mark }
