package counting

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/keysource"
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
// (all its integers are marked as used) before the next block hands out anything, so that
// later keys are greater.
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

// prefetchShare says when the next block is fetched: after a quarter of a block is used.
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

// runs are the integers that a [Recycled] has reserved and not handed out. The
// source's mu guards them.
type runs []run

// pick takes n consecutive integers from the first run that has as many, and returns
// the first.
func (h *runs) pick(n int64) (int64, bool) {
	for i, r := range *h {
		if r.n >= n {
			(*h)[i] = run{r.first + n, r.n - n}
			h.tidy()
			return r.first, true
		}
	}
	return 0, false
}

// hold reports whether a single run has n integers.
func (h runs) hold(n int64) bool {
	return slices.ContainsFunc(h, func(r run) bool { return r.n >= n })
}

// tidy removes empty runs.
func (h *runs) tidy() {
	*h = slices.DeleteFunc(*h, func(r run) bool { return r.n == 0 })
}

// keep adds r to the runs: it extends the run that ends where r begins, if there is
// one.
func (h *runs) keep(r run) {
	if r.n == 0 {
		return
	}
	for i, other := range *h {
		if other.meets(r) {
			(*h)[i].n += r.n
			return
		}
	}
	if len(*h) == maxRuns {
		*h = slices.Delete(*h, 0, 1) // the oldest run is never handed out
	}
	*h = append(*h, r)
}

// count returns how many integers all runs have together.
func (h runs) count() int64 {
	var n int64
	for _, r := range h {
		n += r.n
	}
	return n
}

// tenure holds which series (a range of integers) a [Recycled] owns, and for how long. The
// source's mu guards held and sent.
type tenure struct {
	held  keysource.Series // the series as this source last changed its row; First is 0 if it owns none
	sent  time.Time        // when the last renewal of the lease was sent
	lease time.Duration
}

// leased reports whether the lease surely lasts at now. If the clock was set back, it
// returns false.
func (t *tenure) leased(now time.Time) bool {
	d := now.Sub(t.sent)
	return t.held.First > 0 && d >= 0 && d < t.lease-t.lease/marginShare
}

// renewable reports whether the lease should be renewed at now.
func (t *tenure) renewable(now time.Time) bool {
	d := now.Sub(t.sent)
	return t.held.First > 0 && (d < 0 || d >= t.lease/renewShare)
}
