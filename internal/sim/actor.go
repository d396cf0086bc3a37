package sim

import (
	"math/rand/v2"
	"time"
)

// slots is how many actors (goroutines of the simulated world) can each wake at instants of
// their own: each has one nanosecond of every 4,096.
const slots = 1 << 12

// The slots (nanoseconds of every 4,096 in which an actor may wake) of the actors. Each
// process has slotsEach of them, from slotProcess on.
const (
	slotChaos    = 1
	slotProcess  = 16
	slotsEach    = 512
	slotThread   = 1  // the first slot of threads; a thread adds its number
	slotConn     = 32 // the first slot of requests, which add 128 for a life, 32 for a connection and 2 for a request
	slotDeadline = 448
)

// actor is a goroutine of the simulated world. It wakes only at nanoseconds at which no
// other actor wakes, and has its own random numbers.
type actor struct {
	w    *World
	slot int64
	rand *rand.Rand
}

func (w *World) actor(slot int64, stream uint64) actor {
	return actor{w: w, slot: slot % slots, rand: rand.New(rand.NewPCG(w.Seed, uint64(slot)<<32|stream))}
}

// instant returns the first nanosecond of a slot that is not before at.
func instant(at time.Duration, slot int64) time.Duration {
	return at + time.Duration((slot-int64(at)%slots+slots)%slots)
}

// sleep sleeps for d or a little longer.
func (a actor) sleep(d time.Duration) { a.sleepUntil(a.w.now() + d) }

func (a actor) sleepUntil(at time.Duration) {
	now := a.w.now()
	time.Sleep(instant(max(at, now+1), a.slot) - now)
}

// latency returns a random time for a message: mostly about the mean, sometimes ten times
// that.
func (a actor) latency() time.Duration {
	mean := a.w.traits.latency
	d := mean/2 + time.Duration(a.rand.Int64N(int64(mean)))
	if a.rand.IntN(100) == 0 {
		d *= 10
	}
	return d
}

// pause returns a random time with a mean.
func (a actor) pause(mean time.Duration) time.Duration {
	return time.Duration(a.rand.ExpFloat64() * float64(mean))
}

// chance returns true with the probability part.
func (a actor) chance(part float64) bool { return part > 0 && a.rand.Float64() < part }

// mishap returns true with the probability part until the faults end, and false after that.
func (a actor) mishap(part float64) bool { return a.chance(part) && !a.w.over.Load() }
