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

// note notes that n numbers were drawn since began, of which first is the first; or the
// error of the draw.
func (d *draws) note(began time.Time, n, first int64, err error) {
	if err != nil {
		d.meter.Failed(time.Now(), err)
		return
	}
	d.meter.Fetched(time.Now(), time.Since(began), n, 0)
	d.next.Store(first + n)
}
