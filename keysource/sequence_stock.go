package keysource

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// stock holds the integers that a [Sequence] has reserved and not handed out.
// Only current is used without the source's mu, to take from it; the source
// holds that for all methods.
type stock struct {
	current atomic.Pointer[block] // never nil; replaced under mu
	spare   run                   // follows current
	size    blockSize
	clock   func() time.Time
}

// left returns how many integers are in hand.
func (k *stock) left() int64 { return k.current.Load().left().n + k.spare.n }

// take takes n of the integers in hand.
func (k *stock) take(n int64) (int64, bool) {
	for {
		b := k.current.Load()
		if used, ok := b.take(n); ok {
			return b.first + used, true
		}
		within := k.spare.n
		if left := b.left(); left.meets(k.spare) {
			within += left.n
		}
		if k.spare.n == 0 || n > within {
			return 0, false
		}
		k.turn()
	}
}

// turn puts the spare run into use, joined with the rest of the block in hand
// if they meet. Else that is a gap: handed out later it would break the order.
func (k *stock) turn() {
	b, now := k.current.Load(), k.clock()
	if b.n > 0 {
		k.size.lasted(now.Sub(b.begun))
	}
	next := k.spare
	k.spare = run{}
	if left := b.seal(); left.meets(next) {
		next = run{left.first, left.n + next.n}
	}
	k.current.Store(newBlock(next, now))
}

// keep appends a run that has been reserved to the integers in hand.
func (k *stock) keep(r run) {
	switch {
	case r.n == 0:
	case k.spare.n == 0:
		k.spare = r
	case k.spare.meets(r):
		k.spare.n += r.n
	default:
		// The spare run was too short for a request that waits.
		k.turn()
		k.spare = r
	}
}

// low reports whether it is time to fetch the next block.
func (k *stock) low() bool { return k.spare.n == 0 && k.current.Load().low() }

// skip gives up what of that in hand is below to.
func (k *stock) skip(to int64) {
	k.current.Load().skip(to)
	k.spare = k.spare.from(to)
}

// discard gives up the integers in hand, which leaves a gap.
func (k *stock) discard() {
	k.current.Load().seal()
	k.current.Store(new(block))
	k.spare = run{}
}

// tail returns the last run in hand if it ends at end, where the store may go
// on.
func (k *stock) tail(end int64) run {
	r := k.current.Load().left()
	switch {
	case r.meets(k.spare):
		r.n += k.spare.n
	case k.spare.n > 0:
		r = k.spare
	}
	if r.n > 0 && after(r.first, r.n) == end {
		return r
	}
	return run{}
}

// complete returns n integers that end with r, which has fewer, and begin with
// integers in hand. Some of these may have been handed out since r was asked
// for.
func (k *stock) complete(r run, n int64) (int64, bool) {
	lack := n - r.n
	if r.n == 0 || lack <= 0 {
		return 0, false
	}
	if k.spare.n > 0 {
		k.turn()
	}
	b := k.current.Load()
	left := b.seal()
	if left.n >= lack && left.meets(r) {
		return r.first - lack, true
	}
	if left.n > 0 {
		k.current.Store(newBlock(left, b.begun))
	}
	return 0, false
}

// bounds are between which integers a [Sequence] hands out the next ones. The
// source's mu guards seen and least.
type bounds struct {
	max   int64
	atEnd string // the remedy when that is given
	last  int64  // the integer after which the store has ended before max, 0 where it has not
	seen  int64  // end of the integers that the store has given, or that are known to be in use
	least int64  // no later key is below it
}

// room returns how many integers there can be left. Not more are asked for, so
// that the store does not overflow.
func (b *bounds) room() int64 { return b.max - max(b.seen, b.least, 1) + 1 }

// within returns, of n integers from first on, the run that is neither beyond the
// last integer nor below the integers known to be in use.
func (b *bounds) within(first, n int64) run {
	if first > b.max {
		return run{}
	}
	return run{first, min(n, b.max-first+1)}.from(b.least)
}

// ender is an error of a store that wraps [ErrExhausted], and knows why the integers end
// before the last one: remedy is empty if the error knows none.
type ender interface {
	End() (last int64, remedy string)
}

// ended notes where the integers of a store end, by its error.
func (b *bounds) ended(err error) {
	var e ender
	if !errors.As(err, &e) {
		return
	}
	if last, remedy := e.End(); remedy != "" {
		b.last, b.atEnd = last, remedy
	}
}

// exhausted returns the error for a request that cannot be met any more.
func (b *bounds) exhausted() error {
	return anchor.Endf("%w: no run of that length is left up to %d; the remedy is %s",
		ErrExhausted, cmp.Or(b.last, b.max), b.atEnd)
}
