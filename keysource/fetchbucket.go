package keysource

import "time"

// FetchBucket is one bucket of a histogram: it counts the fetches that took no longer
// than Within. A fetch is a call to the store that got new numbers.
type FetchBucket struct {
	Within time.Duration // the longest duration that is counted
	Count  uint64        // includes the fetches of the shorter buckets
}

// FetchBuckets is how many buckets there are. Their bounds never change.
const FetchBuckets = 13
