package keysource

import (
	"math"
	"sync"
	"time"
)

// FetchBucket counts the fetches of a source that took no longer than a time.
type FetchBucket struct {
	Within time.Duration // as long or shorter
	Count  uint64        // the fetches of the shorter buckets included
}

// FetchBuckets is how many buckets there are. Their times never change.
const FetchBuckets = 13

// fetchBounds are the times of the buckets.
var fetchBounds = [FetchBuckets]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
}

// Fetching holds how the store of a source has answered. A fetch is an answer that
// brought numbers, time or a lease.
type Fetching struct {
	Fetches, Errors uint64        // the fetches, and the attempts that have failed
	Last, Slowest   time.Duration // how long the last and the slowest fetch took
	Total           time.Duration // how long all fetches took together
	LastAt          time.Time     // when the last fetch ended; the zero Time before the first
	Err             error         // the error of the last attempt; nil after a fetch
	ErrAt           time.Time     // when an attempt has failed last; the zero Time: none has

	// PerSecond is the recent rate at which numbers were used: numbers of an hour ago
	// count a third of those used now. It is 0 in the first ten seconds.
	PerSecond float64

	// Buckets counts the fetches by how long they took, from half a millisecond to five
	// seconds. The fetches that took longer are in Fetches alone.
	Buckets [FetchBuckets]FetchBucket
}

// rateSpan is the time after which use counts a third in [Fetching].PerSecond, and
// rateLeast is how long a source has to be seen before there is a rate.
const (
	rateSpan  = time.Hour
	rateLeast = 10 * time.Second
)

// Meter measures how a store answers. Its zero value has measured nothing. It is safe for
// concurrent use.
type Meter struct {
	mu     sync.Mutex
	f      Fetching // without PerSecond and Buckets
	counts [FetchBuckets]uint64

	// used counts the numbers used, and seen the seconds that were watched; both decay
	// with age and are as of the time at. left is how many numbers were in hand then.
	used, seen float64
	left       int64
	at         time.Time
}

// Fetched notes a fetch that took some time and ended now. It has brought n numbers, when
// left were in hand.
func (m *Meter) Fetched(now time.Time, took time.Duration, n, left int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
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

// rateAt returns used and seen as they are at a time when left numbers are in hand.
func (m *Meter) rateAt(now time.Time, left int64) (used, seen float64) {
	if m.at.IsZero() {
		return 0, 0
	}
	passed := max(now.Sub(m.at), 0)
	stays := math.Exp(-passed.Seconds() / rateSpan.Seconds())
	return m.used*stays + float64(max(m.left-left, 0)), m.seen*stays + passed.Seconds()
}

// Failed notes an attempt that has failed now.
func (m *Meter) Failed(now time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.f.Errors++
	m.f.Err, m.f.ErrAt = err, now
}

// Fetching returns the measurements, at a time when left numbers are in hand.
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
		f.Buckets[i] = FetchBucket{fetchBounds[i], sum}
	}
	return f
}

// note notes how an attempt to get n numbers has ended.
func (m *Meter) note(now time.Time, took time.Duration, n, left int64, err error) {
	if err != nil {
		m.Failed(now, err)
		return
	}
	m.Fetched(now, took, n, left)
}
