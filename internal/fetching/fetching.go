// Package fetching measures how the stores of sources answer.
package fetching

//row:changes | what `Mount.Sources` returns | `internal/fetching`, `keys/numbering/sourcestate.go`

import (
	"math"
	"sync"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// fetchBounds are the upper bounds of the buckets.
var fetchBounds = [keysource.FetchBuckets]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
}

// Fetching holds statistics of a source's calls to its store. A fetch is a call that
// brought numbers, reserved time or a lease.
type Fetching struct {
	Fetches, Errors uint64        // successful and failed calls
	Last, Slowest   time.Duration // how long the last and the slowest fetch took
	Total           time.Duration // how long all fetches took together
	LastAt          time.Time     // when the last fetch ended; the zero Time before the first
	Err             error         // the error of the last call; nil after a fetch
	ErrAt           time.Time     // when a call last failed; the zero Time if none has failed

	// PerSecond is the recent rate at which numbers are used: numbers used an hour ago
	// count a third of those used now. It is 0 in the first ten seconds.
	PerSecond float64

	// Buckets counts the fetches by duration, from half a millisecond to five seconds.
	// Longer fetches are counted in Fetches alone.
	Buckets [keysource.FetchBuckets]keysource.FetchBucket
}

// rateSpan is the time after which use counts a third in [Fetching].PerSecond, and
// rateLeast is how long a source has to be measured before there is a rate.
const (
	rateSpan  = time.Hour
	rateLeast = 10 * time.Second
)

// Meter measures the calls to a store. Its zero value is ready for use. It is safe for
// concurrent use.
type Meter struct {
	mu     sync.Mutex
	f      Fetching // without PerSecond and Buckets, which are computed when asked for
	counts [keysource.FetchBuckets]uint64

	// used is how many numbers were used, and seen how many seconds were measured. Both
	// decay with age, and are as of the time at. left is how many numbers the source
	// had then.
	used, seen float64
	left       int64
	at         time.Time
}

// Note records a call to the store that ended at now with an error, or that took the time
// took and brought n numbers to a source that still had left numbers.
func (m *Meter) Note(now time.Time, took time.Duration, n, left int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.f.Errors++
		m.f.Err, m.f.ErrAt = err, now
		return
	}
	took = max(took, 0) // the clock may have been set back
	m.f.Fetches++
	m.f.Last, m.f.LastAt, m.f.Err = took, now, nil
	m.f.Slowest = max(m.f.Slowest, took)
	m.f.Total += took
	for i, bound := range fetchBounds {
		if took <= bound {
			m.counts[i]++
			break
		}
	}
	m.used, m.seen = m.rateAt(now, left)
	m.left, m.at = left+n, now
}

// rateAt returns used and seen as of now. left is how many numbers the source has then.
func (m *Meter) rateAt(now time.Time, left int64) (used, seen float64) {
	if m.at.IsZero() {
		return 0, 0
	}
	passed := max(now.Sub(m.at), 0)
	stays := math.Exp(-passed.Seconds() / rateSpan.Seconds())
	return m.used*stays + float64(max(m.left-left, 0)), m.seen*stays + passed.Seconds()
}

// Fetching returns the statistics as of now. left is how many numbers the source has
// then.
func (m *Meter) Fetching(now time.Time, left int64) Fetching {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.f
	if used, seen := m.rateAt(now, left); seen >= rateLeast.Seconds() {
		f.PerSecond = used / seen
	}
	var sum uint64
	for i, n := range m.counts {
		sum += n
		f.Buckets[i] = keysource.FetchBucket{Within: fetchBounds[i], Count: sum}
	}
	return f
}
