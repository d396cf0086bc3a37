package keyfilltest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still between steps. [NewClock] makes one. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at the instant.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the time that the clock shows. It is for the field Now of
// [keyfill.Options].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Step moves the clock forward by d, or back if d is negative.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
