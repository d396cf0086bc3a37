package store

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
)

// A sequence may have its integers from another store, the upstream, in blocks: its row
// then stands in the middle between that store and the processes. Two rows of
// keyfill_sequences hold two blocks. The row of the sequence has the block in use: where
// it stands in next_value, and where it ends behind its incarnation, as a row beside
// another sequence has its end. A second row, "orders.id (spare)", has the next block.
//
// Each of the two is changed by one UPDATE that compares the incarnation, in which the end
// stands, with the one that was read. The ends of one row only grow, so that an UPDATE
// which comes twice, or late, changes nothing:
//
//	install   writes a block into the second row, where its last one was put into use
//	turn      puts the block of the second row into use, where the end of the first row
//	          is the one that was read
//
// The second row carries the identity of the first one: a row that was removed and is made
// again has another identity, and takes no block that the row before may have used.

// UpstreamParameters are the [Sequence].Parameters of a sequence whose integers come from
// an upstream. A process whose policy names none does not use its row.
const UpstreamParameters = "upstream"

// level is what the two rows of a sequence with an upstream say.
type level struct {
	next  int64  // the lowest integer of the block in use that is not reserved
	block string // the incarnation of the first row

	spareFirst int64
	spare      string // the incarnation of the second row; "" where there is none
}

// end returns the end (exclusive) of the block in use, 0 where there was none yet.
func (l level) end() int64 { return endOf(l.block) }

// spareEnd returns the end of the last block that was installed, 0 where there was none.
func (l level) spareEnd() int64 {
	if l.spare == "" || identityOf(l.spare) != identityOf(l.block) {
		return 0
	}
	return endOf(l.spare)
}

// hasSpare reports whether the second row has a block that is still to be put into use.
func (l level) hasSpare() bool { return l.spareEnd() > max(l.end(), l.next) }

// given returns the end of all blocks that the two rows have had.
func (l level) given() int64 { return max(l.end(), l.spareEnd()) }

// first returns where the block in use begins, 0 where that is not known.
func (l level) first() int64 {
	if l.end() > 0 && l.spareEnd() == l.end() {
		return l.spareFirst
	}
	return 0
}

// left returns how many integers are left in both blocks.
func (l level) left() int64 {
	left := max(l.end()-l.next, 0)
	if l.hasSpare() {
		left += l.spareEnd() - max(l.spareFirst, l.next)
	}
	return left
}

// turned returns the level after a turn.
func (l level) turned() level {
	l.next = max(l.next, l.spareFirst)
	l.block = withEnd(l.block, l.spareEnd())
	return l
}

// installed returns the level after a block was installed.
func (l level) installed(b blockOf) level {
	l.spareFirst, l.spare = b.first, withEnd(l.block, b.end)
	return l
}

// blockOf are the integers from first to end, which is not one of them.
type blockOf struct{ first, end int64 }

// levelRows are the two rows of a sequence with an upstream.
type levelRows interface {
	// reserveRow is [Reserver.Reserve] from the block in use.
	reserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error)

	// readLevel reads both rows.
	readLevel(ctx context.Context) (level, error)

	// install writes a block into the second row, and turn puts that block into use. They
	// report false, and have changed nothing, where a row is not as it was read. After an
	// error nobody knows.
	install(ctx context.Context, was level, b blockOf) (bool, error)
	turn(ctx context.Context, was level) (bool, error)

	// raise makes the block in use go on from to or above.
	raise(ctx context.Context, to int64) error

	// blockEnd returns the end of the block in use, as the last answer has shown it.
	blockEnd() int64

	// needsAll reports whether a reservation of fewer integers is of no use, isOurs whether
	// the rows can be used at any time, and mayWait whether a call may wait for the upstream.
	needsAll() bool
	isOurs() bool
	mayWait() bool
}
