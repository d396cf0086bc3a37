package keysource

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A tick is 1/4096 of a millisecond, about 244 ns: what the 12 bits of rand_a
// can tell apart in a UUIDv7 (RFC 9562, section 6.2, method 3). Times are
// counted in ticks since 1970 in an int64, of which 48+12 bits are in use.
const (
	tickBits       = 12
	ticksPerMilli  = 1 << tickBits
	ticksPerSecond = 1000 * ticksPerMilli

	// maxMilli is the last millisecond that 48 bits can hold.
	maxMilli = 1<<48 - 1

	// borrowCap is how far the keys of a source may run ahead of its clock
	// before a request has to wait: one second.
	borrowCap = ticksPerSecond

	// grace is added to a wait, so that a healthy clock has surely passed its
	// end: timers and a clock that is being slewed differ a little.
	grace = time.Millisecond
)

// clock reads the time of keys. That is the wall clock's until it is set back
// by more than the borrow cap. From then on it is the last time of the keys,
// plus what has passed since by the monotonic reading, for as long as that is
// later than the wall clock: the time of keys is set forwards and never back.
type clock struct {
	now       func() time.Time
	base      time.Time // a reading that later ones are measured from
	monotonic bool      // readings have a monotonic part

	// lift is the time that the wall clock has fallen behind, in ticks, less
	// what had passed since base then; 0 while the wall clock alone counts.
	lift atomic.Int64
}

func newClock(now func() time.Time) clock {
	if now == nil {
		now = time.Now
	}
	base := now()
	// Round(0) strips the monotonic reading; == sees the difference.
	return clock{now: now, base: base, monotonic: base != base.Round(0)}
}

// read returns the time in ticks since 1970.
func (c *clock) read() int64 {
	return c.at(c.now(), c.lift.Load())
}

func (c *clock) at(t time.Time, lift int64) int64 {
	wall := wallTicks(t)
	if lift == 0 {
		return wall
	}
	return max(wall, lift+c.passed(t))
}

// passed returns the ticks from base to t. Without monotonic readings it is
// none: a wall clock that is set right again would count as time passed.
func (c *clock) passed(t time.Time) int64 {
	if !c.monotonic {
		return 0
	}
	return span(t.Sub(c.base))
}

// wait returns when the clock, which was read as now, has come to until, and in
// any case after about as long as the borrow cap. A clock that is still behind
// then has been set back or stands still (or one request took the keys of more
// than two seconds); it is lifted. wait holds no lock. The error is the
// context's.
func (c *clock) wait(ctx context.Context, now, until int64) error {
	ticks := min(until-now, borrowCap)
	t := time.NewTimer(time.Duration(ticks)*time.Second/ticksPerSecond + grace)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	}
	if c.read() < until {
		// What was waited has passed, whatever the clock shows.
		c.advance(max(until, now+ticks+ticksPerMilli))
	}
	return nil
}

// advance lifts the clock so that it reads at least to.
func (c *clock) advance(to int64) {
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

// wallTicks returns the wall time of t in ticks since 1970. Times that are
// farther from 1970 than any key can tell are moved to 17,000 years from it,
// so that they stay out of range and do not overflow.
func wallTicks(t time.Time) int64 {
	const far = 1 << 39 // seconds
	sec := min(max(t.Unix(), -far), far)
	return sec*ticksPerSecond + int64(t.Nanosecond())*ticksPerSecond/int64(time.Second)
}

// span returns d in ticks; it takes the seconds apart, as the product of the
// whole would overflow after six weeks.
func span(d time.Duration) int64 {
	return int64(d/time.Second)*ticksPerSecond +
		int64(d%time.Second)*ticksPerSecond/int64(time.Second)
}

// clockError returns the error for a key time of ms milliseconds since 1970.
func clockError(ms int64) error {
	return fmt.Errorf("%w: %s UTC", ErrClock, time.UnixMilli(ms).UTC().Format(time.DateTime))
}
