package keysource

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// A tick is 1/4096 of a millisecond, about 244 ns: the resolution of the 12 bits of
// rand_a in a UUIDv7 (RFC 9562, section 6.2, method 3). Times are counted in ticks since
// 1970 in an int64, of which 48+12 bits are in use.
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

// clock reads the time of keys. It returns the wall clock's time until that is set back
// by more than the borrow cap. From then on it returns the last time of the keys plus the
// time that has passed since by the monotonic reading, until the wall clock is later
// again. The time of keys is set forwards and never back.
//
// Reading the system's wall clock takes almost twice the time of its monotonic reading.
// So the wall clock is read once a millisecond. In between, the time is the last reading
// plus the time that has passed by the monotonic reading. A wall clock that is set,
// forwards or back, is therefore followed a millisecond later. A clock of the caller's is
// read each time.
type clock struct {
	now       func() time.Time
	base      time.Time // a reading that later ones are measured from
	monotonic bool      // readings have a monotonic part

	// since returns the time that has passed from base until now, and between the time
	// from base to a reading. If since is nil, now is called for each reading.
	since   func(base time.Time) time.Duration
	between func(t, base time.Time) time.Duration

	// The last look at the wall clock, if since is not nil: its reading less the time
	// that had passed since base, in ticks, and until when since base it is valid.
	offset atomic.Int64
	until  atomic.Int64 // a time.Duration

	// lift is the time, in ticks, by which the wall clock lags behind the keys, less the
	// time that had passed since base then; 0 while only the wall clock counts.
	lift atomic.Int64
}

// lookInterval is how long a look at the wall clock is good.
const lookInterval = time.Millisecond

// start makes c ready; a nil now is the system's clock.
func (c *clock) start(now func() time.Time) {
	if now == nil {
		now = time.Now
		c.since = time.Since
	}
	c.now, c.base, c.between = now, now(), time.Time.Sub
	// Round(0) strips the monotonic reading; == sees the difference.
	c.monotonic = c.base != c.base.Round(0)
	if !c.monotonic {
		c.since = nil
	}
	c.offset.Store(wallTicks(c.base))
	c.until.Store(int64(lookInterval))
}

// read returns the time in ticks since 1970.
func (c *clock) read() int64 {
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

// look reads the wall clock, and returns the time that has passed since base. While one
// goroutine looks, and however long it is held up, the others go on by the look before;
// the wall clock that it then notes may have been set again, for a millisecond. Neither
// order nor uniqueness rests on it.
func (c *clock) look() int64 {
	t := c.now()
	passed := c.between(t, c.base)
	c.offset.Store(wallTicks(t) - span(passed))
	return int64(passed)
}

func (c *clock) at(t time.Time, lift int64) int64 {
	wall := wallTicks(t)
	if lift == 0 {
		return wall
	}
	return max(wall, lift+c.passed(t))
}

// passed returns the ticks from base to t. Without monotonic readings nothing
// counts as passed: a wall clock that is set right again would count as time
// passed.
func (c *clock) passed(t time.Time) int64 {
	if !c.monotonic {
		return 0
	}
	return span(c.between(t, c.base))
}

// wait returns when the clock, which was read as now, has reached until, or after about
// the borrow cap. A clock that is still behind then has been set back or stands still (or
// one request took the keys of more than two seconds); it is lifted. wait holds no lock.
// It returns the error of the context.
func (c *clock) wait(ctx context.Context, now, until int64) error {
	ticks := min(until-now, borrowCap)
	t := time.NewTimer(time.Duration(ticks)*time.Second/ticksPerSecond + grace)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	}
	if c.since != nil {
		c.look() // the last reading may be out of date
	}
	if c.read() < until {
		// The waiting time has passed, whatever the clock shows.
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

// wallTicks returns the wall time of t in ticks since 1970. Times that are farther from
// 1970 than any key can hold are moved to 17,000 years from it, so that they stay out of
// range and do not overflow.
func wallTicks(t time.Time) int64 {
	const far = 1 << 39 // seconds
	sec := min(max(t.Unix(), -far), far)
	return sec*ticksPerSecond + int64(t.Nanosecond())*ticksPerSecond/int64(time.Second)
}

// span returns d in ticks. 64 ticks take exactly 15,625 ns; these are taken
// apart, as the product of the whole would overflow after some years.
func span(d time.Duration) int64 {
	const ticks, nanoseconds = 64, 15_625
	return int64(d/nanoseconds)*ticks + int64(d%nanoseconds)*ticks/nanoseconds
}

// clockError returns the error for a key time of ms milliseconds since 1970.
func clockError(ms int64) error {
	return anchor.Endf("%w: %s UTC", ErrClock, time.UnixMilli(ms).UTC().Format(time.DateTime))
}
