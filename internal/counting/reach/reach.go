// Package reach delays the keys of a snowflake source (integers that begin with the time)
// so that each call that raises its mark, up to which time is reserved, reserves more than
// a single tick.
package reach

import "time"

// The mark, up to which time is reserved, is never more than three seconds (the borrow
// cap) ahead of the clock. If a source uses its ticks, the units of time, as fast as the
// clock gives them, its keys come as far ahead as the mark, and a call to the
// Marker can reserve only the next tick: the source would have to call it at
// each tick. So the source holds its keys back by the reach: they are less than the borrow
// cap minus the reach ahead of the clock, and a call can reserve as many ticks as fit in
// the reach. There are as many keys a second as before.
//
// The reach does not move the mark. A process that starts with the same worker's number
// waits no longer than without it.
const (
	// markTarget is how long the ticks (units of time) that a call to the Marker
	// reserves should last. The reach (the time by which keys are held back) grows while
	// the next call comes sooner. It is halved for each two markTargets until the next
	// call.
	markTarget = time.Second

	// maxReach is the greatest reach (the time by which keys are held back), in
	// milliseconds. Keys may be three seconds ahead of the clock with a Marker and one
	// second without. So with this reach they are at most one second ahead, as without a
	// Marker.
	maxReach = 2000

	// reachShare is how slowly the reach (the time by which keys are held back) grows: by
	// an eighth of the time that passes. Requests wait for that long in total, in many
	// short waits.
	reachShare = 8
)

// Reach is how far the keys of a source are held back. The zero value holds nothing back.
type Reach struct {
	short int64 // for how long, in total, calls have come too soon, in milliseconds
	since int64 // when the last answered call began, as clock returns it; 0 if none was answered
}

// Millis returns the reach in milliseconds.
func (r *Reach) Millis() int64 { return r.short / reachShare }

// Called adapts the reach after a call that began now was answered. It leaves the reach as
// it is if the clock was set back.
func (r *Reach) Called(now int64) {
	const target = int64(markTarget / time.Millisecond)
	lasted := now - r.since
	first := r.since == 0
	r.since = now
	switch {
	case first || lasted < 0:
	case lasted < target:
		r.short = min(r.short+lasted, reachShare*maxReach)
	default:
		for ; lasted > 2*target && r.short > 0; lasted -= 2 * target {
			r.short /= 2
		}
	}
}

// Reset sets the reach to 0, so that keys are held back no longer.
func (r *Reach) Reset() { r.short = 0 }
