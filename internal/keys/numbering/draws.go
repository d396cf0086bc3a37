package numbering

import (
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/fetching"
)

// draws measures the numbers that are drawn in the transactions of statements.
type draws struct {
	meter fetching.Meter
	next  atomic.Int64 // the last number that was drawn plus one; 0 before the first
}

// note records a draw of n numbers that began at a time: the first of them, or the error
// that the draw has failed with.
func (d *draws) note(began time.Time, n, first int64, err error) {
	d.meter.Note(time.Now(), time.Since(began), n, 0, err)
	if err == nil {
		d.next.Store(first + n)
	}
}
