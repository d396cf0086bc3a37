package sim

import (
	"sync"
	"time"
)

// noon is the time that a correct clock shows when the world begins.
var noon = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

// Clock is a wall clock. It is safe for concurrent use.
type Clock struct {
	w *World

	mu    sync.Mutex
	off   time.Duration // how far the clock is ahead of the true time, without the drift
	drift float64       // how many seconds the clock gains in a second
}

// Now returns the time that the clock shows, in UTC and without a monotonic reading, so
// that the code under test notices when the clock is set.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := c.w.now()
	return noon.Add(passed + c.off + time.Duration(float64(passed)*c.drift))
}

// step sets the clock forwards, or back if d is negative.
func (c *Clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}
