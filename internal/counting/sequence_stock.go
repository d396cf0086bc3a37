package counting

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// stock holds the integers that a [Sequence] has reserved and not handed out. Integers
// are taken from current without a lock; for all methods the caller holds the source's
// mu.
type stock struct {
	current atomic.Pointer[block] // never nil; replaced under mu
	spare   run                   // the reserved run that is used after current
	size    blockSize
	clock   func() time.Time
}

// left returns how many integers are reserved and not handed out.
func (k *stock) left() int64 { return k.current.Load().left().n + k.spare.n }

// take takes n of the integers that are reserved and not handed out, and returns the first.
func (k *stock) take(n int64) (int64, bool) {
	for {
		b := k.current.Load()
		if used, ok := b.take(n); ok {
			return b.first + used, true
		}
		if k.spare.n == 0 {
			return 0, false
		}
		within := k.spare.n
		if left := b.left(); left.meets(k.spare) {
			within += left.n
		}
		if n > within {
			return 0, false
		}
		k.turn()
	}
}

// turn makes the spare run the block in use, joined with the rest of that block if they are
// consecutive. Otherwise the rest is a gap: if it were handed out later, keys would not
// ascend.
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

// keep adds a run that has been reserved to the integers that are not handed out.
func (k *stock) keep(r run) {
	switch {
	case r.n == 0:
	case k.spare.n == 0:
		k.spare = r
	case k.spare.meets(r):
		k.spare.n += r.n
	default:
		// The spare run was too short for a request that waits, so more was reserved.
		k.turn()
		k.spare = r
	}
}

// low reports whether the next block should be fetched now.
func (k *stock) low() bool { return k.spare.n == 0 && k.current.Load().low() }

// skip gives up the reserved integers that are below to.
func (k *stock) skip(to int64) {
	k.current.Load().skip(to)
	k.spare = k.spare.from(to)
}

// discard gives up the integers that are reserved and not handed out, which leaves a gap.
func (k *stock) discard() {
	k.current.Load().seal()
	k.current.Store(new(block))
	k.spare = run{}
}

// tail returns the last run of reserved integers that are not handed out, if it ends at
// end, so that the store's next integers may continue it; otherwise an empty run.
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

// complete returns the first of n consecutive integers that begin with reserved ones and
// end with r, which has fewer than n. It returns false if the reserved integers do not
// suffice, as when some were handed out after r was asked for.
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

// bounds holds the limits of the integers that a [Sequence] hands out. The source's mu
// guards seen and least.
type bounds struct {
	max   int64
	atEnd string // the remedy when all integers are used
	last  int64  // the last integer that the store gives, if that is before max; otherwise 0
	seen  int64  // end of the integers that the store has given, or that are known to be in use
	least int64  // no later key is below least
}

// room returns how many integers there can be left. No more are asked for, so that the
// store's counter does not overflow.
func (b *bounds) room() int64 { return b.max - max(b.seen, b.least, 1) + 1 }

// End is wrapped, besides [keysource.ErrExhausted], by the error of a store whose integers
// end before Max, since another source gives the integers after them.
type End struct {
	Last   int64 // the last integer
	Remedy string
}

func (e *End) Error() string { return e.Remedy }

// ended notes where the store's integers end, if the store's error says so.
func (b *bounds) ended(err error) {
	var e *End
	if errors.As(err, &e) {
		b.last, b.atEnd = e.Last, e.Remedy
	}
}

// exhausted returns the error for a request that needs more integers than there are
// left.
func (b *bounds) exhausted() error {
	return anchor.Endf("%w: no run of that length is left up to %d; the remedy is %s",
		keysource.ErrExhausted, cmp.Or(b.last, b.max), b.atEnd)
}
