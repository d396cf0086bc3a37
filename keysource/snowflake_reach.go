package keysource

import "time"

// The mark is never more than the borrow cap ahead of the clock. So where keys are made
// as fast as the clock gives ticks, and as far ahead as that, each tick needs a call of its
// own: no more than that tick can be reserved. The source then holds its keys back by the
// reach: they are less than the borrow cap without the reach ahead of the clock, and a call
// finds that many ticks to reserve. How many keys there are in a second does not change;
// what one call reserves lasts for about a second.
//
// The mark is where it would be without that. A process that comes after this one waits for
// no longer, and what a source that finds a setback leaves to others is enough.
const (
	// markTarget is how long what a call reserves should last. The reach grows where the
	// next call comes sooner, and is halved for each time of twice that until it comes.
	markTarget = time.Second

	// maxReach is how far keys are held back at most. They are up to a second ahead then,
	// as without a Marker.
	maxReach = markedBorrow - unmarkedBorrow

	// reachShare is the share of the time while the reach grows in which no keys are made, an
	// eighth: what is to be made up for is how far ahead the keys are.
	reachShare = 8
)

// reach is how far the keys of a source are held back. The zero value holds nothing back.
type reach struct {
	short int64 // for how long calls came too soon, in milliseconds
	since int64 // when the last call began that was answered, as clock returns it; 0: none has
}

// millis returns the reach in milliseconds.
func (r *reach) millis() int64 { return r.short / reachShare }

// called adapts the reach to a call that began now. A clock that was set back says nothing.
func (r *reach) called(now int64) {
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

// reset makes the keys be held back no more.
func (r *reach) reset() { r.short = 0 }

// enough reports whether a call that finds this many milliseconds to reserve is worth it.
func (r *reach) enough(found int64) bool {
	n := r.millis()
	return n > 0 && 5*found >= 4*n
}
