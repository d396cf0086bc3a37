// Package keyclock reads the time of keys, which is never set back.
package keyclock

import (
	"context"
	"sync/atomic"
	"time"
)

// A tick is 1/4096 of a millisecond, about 244 ns: the resolution of the 12 bits of
// rand_a in a UUIDv7 (RFC 9562, section 6.2, method 3). Times are counted in ticks since
// 1970 in an int64, of which 48+12 bits are in use.
const (
	TickBits       = 12
	TicksPerMilli  = 1 << TickBits
	ticksPerSecond = 1000 * TicksPerMilli

	// MaxMilli is the last millisecond that 48 bits can hold.
	MaxMilli = 1<<48 - 1

	// BorrowCap is how far the keys of a source may run ahead of its clock
	// before a request has to wait: one second.
	BorrowCap = ticksPerSecond

	// grace is added to a wait, so that a healthy clock has surely passed its
	// end: timers and a clock that is being slewed differ a little.
	grace = time.Millisecond
)

// Clock returns the time to put into keys. It returns the wall clock's time until the
// wall clock is set back by more than the borrow cap. From then on it returns the last
// time of a key plus the time that has passed since by the monotonic clock, until the
// wall clock is later again. So the time in keys never goes back.
//
// Reading the system's wall clock takes almost twice the time of reading the monotonic
// clock. So the wall clock is read once a millisecond. In between, the time is the last
// reading plus the time that has passed by the monotonic clock. If the wall clock is
// set, forwards or back, the clock follows a millisecond later. A clock that the caller
// gave is read each time.
type Clock struct {
	now       func() time.Time
	base      time.Time // the reading from which the time to later readings is measured
	monotonic bool      // readings have a monotonic part

	// since returns the time that has passed from base until now; between returns the
	// time from base to t. If since is nil, now is called for each reading.
	since   func(base time.Time) time.Duration
	between func(t, base time.Time) time.Duration

	// offset is the last reading of the wall clock less the time since base, in ticks;
	// until is the time since base up to which offset is valid. Both are used only if
	// since is not nil.
	offset atomic.Int64
	until  atomic.Int64 // a time.Duration

	// lift is set while the wall clock shows a time before the last key: lift plus the
	// time since base is then the time of the next key, in ticks. It is 0 while only the wall
	// clock counts.
	lift atomic.Int64
}

// lookInterval is for how long a reading of the wall clock is used.
const lookInterval = time.Millisecond

// Start makes c ready for use. If now is nil, c reads the system's clock.
func (c *Clock) Start(now func() time.Time) {
	if now == nil {
		now = time.Now
		c.since = time.Since
	}
	c.now, c.base, c.between = now, now(), time.Time.Sub
	// Round(0) strips the monotonic part, so the two differ if there is one.
	c.monotonic = c.base != c.base.Round(0)
	if !c.monotonic {
		c.since = nil
	}
	c.offset.Store(Ticks(c.base))
	c.until.Store(int64(lookInterval))
}

// StartApart is Start for tests: the wall clock is wall, which is read once a millisecond
// as the system's is, and the monotonic reading is passed, the time since the call.
func (c *Clock) StartApart(wall func() time.Time, passed func() time.Duration) {
	c.Start(wall)
	c.monotonic = true
	c.since = func(time.Time) time.Duration { return passed() }
	c.between = func(_, _ time.Time) time.Duration { return passed() }
}

// Read returns the time to put into a key, in ticks since 1970.
func (c *Clock) Read() int64 {
	if c.since == nil {
		return c.at(c.now(), c.lift.Load())
	}
	passed := int64(c.since(c.base))
	if until := c.until.Load(); passed >= until && c.until.CompareAndSwap(until, passed+int64(lookInterval)) {
		passed = c.look()
	}
	gone := span(time.Duration(passed))
	wall := c.offset.Load() + gone
	if lift := c.lift.Load(); lift != 0 {
		return max(wall, lift+gone)
	}
	return wall
}

// look reads the wall clock, stores the reading in offset, and returns the time that
// has passed since base. While one goroutine is in look, however long it is held up,
// the others use the reading before. If the wall clock is set meanwhile, the stored
// reading is out of date for a millisecond; neither the order nor the uniqueness of
// keys depends on it.
func (c *Clock) look() int64 {
	t := c.now()
	passed := c.between(t, c.base)
	c.offset.Store(Ticks(t) - span(passed))
	return int64(passed)
}

func (c *Clock) at(t time.Time, lift int64) int64 {
	wall := Ticks(t)
	if lift == 0 {
		return wall
	}
	return max(wall, lift+c.passed(t))
}

// passed returns the ticks from base to t. Without monotonic readings it returns 0:
// otherwise, setting the wall clock right would count as time passed.
func (c *Clock) passed(t time.Time) int64 {
	if !c.monotonic {
		return 0
	}
	return span(c.between(t, c.base))
}

// Wait returns when the clock, which was read as now, has reached until, or after about
// one second (borrowCap). If the clock has not reached until by then, it was set back
// or stands still (or one request took the keys of more than two seconds), and wait
// advances it. It holds no lock. Its error is the context's.
func (c *Clock) Wait(ctx context.Context, now, until int64) error {
	ticks := min(until-now, BorrowCap)
	t := time.NewTimer(time.Duration(ticks)*time.Second/ticksPerSecond + grace)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	}
	if c.since != nil {
		c.look() // the stored reading may be out of date
	}
	if c.Read() < until {
		// The waiting time has passed, whatever the clock shows.
		c.advance(max(until, now+ticks+TicksPerMilli))
	}
	return nil
}

// advance sets lift so that the clock reads at least the time to.
func (c *Clock) advance(to int64) {
	for {
		t, lift := c.now(), c.lift.Load()
		if c.at(t, lift) >= to {
			return
		}
		if c.lift.CompareAndSwap(lift, to-c.passed(t)) {
			return
		}
	}
}

// Ticks returns the wall time of t in ticks since 1970. A time that is farther from
// 1970 than any key can hold is replaced by one 17,000 years from 1970, which is out of
// range too and does not overflow.
func Ticks(t time.Time) int64 {
	const far = 1 << 39 // seconds
	sec := min(max(t.Unix(), -far), far)
	return sec*ticksPerSecond + int64(t.Nanosecond())*ticksPerSecond/int64(time.Second)
}

// span returns d in ticks. 64 ticks are exactly 15,625 ns. Quotient and remainder are
// converted separately, as the product of the whole would overflow after some years.
func span(d time.Duration) int64 {
	const ticks, nanoseconds = 64, 15_625
	return int64(d/nanoseconds)*ticks + int64(d%nanoseconds)*ticks/nanoseconds
}
