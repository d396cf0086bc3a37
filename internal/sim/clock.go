package sim

import (
	"sync"
	"time"
)

// noon is the time of a right clock when the world begins.
var noon = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

// Clock is a wall clock. It is safe for concurrent use.
type Clock struct {
	w *World

	mu    sync.Mutex
	off   time.Duration // by which it is ahead of the true time, without the drift
	drift float64       // what it gains in a second, in seconds
}

// Now returns what the clock shows, in UTC and without a monotonic reading:
// code under test sees every step of it.
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
