package numbering

import (
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// draws measures what a numbering draws in the transactions of statements.
type draws struct {
	meter keysource.Meter
	next  atomic.Int64 // one more than the last number that was drawn; 0 before the first
}

// draw returns the first of n numbers, which f draws, and measures how long that takes.
func (d *draws) draw(n int64, f func() (int64, error)) (int64, error) {
	began := time.Now()
	first, err := f()
	if err != nil {
		d.meter.Failed(time.Now(), err)
		return first, err
	}
	d.meter.Fetched(time.Now(), time.Since(began), n, 0)
	d.next.Store(first + n)
	return first, nil
}
