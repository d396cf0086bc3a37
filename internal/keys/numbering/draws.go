package numbering

import (
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// draws measures the numbers that are drawn in the transactions of statements.
type draws struct {
	meter keysource.Meter
	next  atomic.Int64 // the last number that was drawn plus one; 0 before the first
}

// draw calls f, which draws n numbers and returns the first of them, and measures how
// long that takes.
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
