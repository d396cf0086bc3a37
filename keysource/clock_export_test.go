package keysource

import "time"

// NewUUIDv7Apart returns a source whose wall clock is wall and whose monotonic
// reading is passed, what has passed since now. It looks at the wall clock as
// one of the system's clocks does.
func NewUUIDv7Apart(wall func() time.Time, passed func() time.Duration) *UUIDv7 {
	s := new(UUIDv7)
	s.clock.start(wall)
	s.clock.monotonic = true
	s.clock.since = func(time.Time) time.Duration { return passed() }
	s.clock.between = func(_, _ time.Time) time.Duration { return passed() }
	return s
}

// ReadAhead hands out n words that were read ahead, and returns the bytes that
// are left and those that were handed out.
func ReadAhead(n int) (left, used []byte) {
	var a readAhead
	w := a.get(0)
	for range n {
		w.next()
	}
	return w.bytes[w.used:], w.bytes[:w.used]
}
