package keysource

import "time"

// FetchBucket counts the fetches of a source that took no longer than a time.
type FetchBucket struct {
	Within time.Duration // as long or shorter
	Count  uint64        // the fetches of the shorter buckets included
}
