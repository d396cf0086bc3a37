package keysource

import (
	"slices"
	"time"
)

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

// tenure holds which series a [Recycled] owns, and for how long. The source's mu guards
// held and sent.
type tenure struct {
	held  Series    // the series as this source last changed its row; First is 0 if it owns none
	sent  time.Time // when the last renewal of the lease was sent
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
