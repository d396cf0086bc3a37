package keysource

import (
	"slices"
	"time"
)

// runs are the integers that a [Recycled] has reserved and not handed out. The
// source's mu guards them.
type runs []run

// pick takes n integers of the first run that has them.
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

// hold reports whether a run has n integers.
func (h runs) hold(n int64) bool {
	return slices.ContainsFunc(h, func(r run) bool { return r.n >= n })
}

// tidy forgets empty runs.
func (h *runs) tidy() {
	*h = slices.DeleteFunc(*h, func(r run) bool { return r.n == 0 })
}

// keep adds a run.
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
		*h = slices.Delete(*h, 0, 1) // a gap
	}
	*h = append(*h, r)
}

// count returns how many integers there are.
func (h runs) count() int64 {
	var n int64
	for _, r := range h {
		n += r.n
	}
	return n
}

// tenure holds which series a [Recycled] has, and for how long. The source's mu guards
// held and sent.
type tenure struct {
	held  Series    // as this source has left it; First is 0 if the source has no series
	sent  time.Time // when the last renewal of its lease was sent
	lease time.Duration
}

// leased reports whether the lease lasts for sure. A clock that was set back
// says nothing.
func (t *tenure) leased(now time.Time) bool {
	d := now.Sub(t.sent)
	return t.held.First > 0 && d >= 0 && d < t.lease-t.lease/marginShare
}

// renewable reports whether it is time to renew the lease.
func (t *tenure) renewable(now time.Time) bool {
	d := now.Sub(t.sent)
	return t.held.First > 0 && (d < 0 || d >= t.lease/renewShare)
}
