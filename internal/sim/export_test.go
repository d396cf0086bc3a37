package sim

import "time"

// Noon is what a right clock shows at first.
var Noon = noon

// NewClock returns the clock of a world that begins now.
func NewClock(off time.Duration, drift float64) *Clock {
	return &Clock{w: &World{start: time.Now()}, off: off, drift: drift}
}

// Step sets the clock.
func (c *Clock) Step(d time.Duration) { c.step(d) }
