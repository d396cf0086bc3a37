package upstream

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// A sequence may get its integers from another store, the upstream, in blocks (ranges
// of integers): its row then stands between that store and the processes. Two rows of
// keyfill_sequences hold two blocks. The row of the sequence has the block in use:
// next_value is its lowest free integer, and the end of the block follows the
// incarnation, like the end of a row that shares its column with another sequence. A
// second row, "orders.id (spare)", has the next block.
//
// Each of the two rows is changed by one UPDATE that compares the incarnation, which
// contains the end, with the one that was read. The end of a row only grows, so an
// UPDATE that arrives twice, or late, changes nothing:
//
//	install   writes a block into the second row, after its last block was put into use
//	turn      puts the block of the second row into use, if the end of the first row is
//	          still the one that was read
//
// The second row carries the identity of the first one: a row that was removed and is
// made again has another identity, and gets no block that the former row may have used.

// Parameters are the [sequence.Sequence].Parameters of a sequence whose integers come
// from an upstream (another store). A process whose policy names no upstream does not
// use its row.
const Parameters = "upstream"

// Level is what the rows of a sequence with an upstream store hold at one moment: the first
// row has the block of integers in use, the second row the next block.
type Level struct {
	Next  int64  // the lowest integer of the block in use that is not reserved
	Block string // the incarnation of the row with the block in use

	SpareFirst int64
	Spare      string // the incarnation of the row with the next block; empty if there is no such row
}

// End returns the end (exclusive) of the block of integers in use, 0 if there was none
// yet.
func (l Level) End() int64 { return staterow.EndOf(l.Block) }

// SpareEnd returns the end (exclusive) of the last block of integers that was installed in
// the second row (the row with the next block), 0 if there was none.
func (l Level) SpareEnd() int64 {
	if l.Spare == "" || staterow.IdentityOf(l.Spare) != staterow.IdentityOf(l.Block) {
		return 0
	}
	return staterow.EndOf(l.Spare)
}

// hasSpare reports whether the second row (the row with the next block) has a block of
// integers that was not put into use yet.
func (l Level) hasSpare() bool { return l.SpareEnd() > max(l.End(), l.Next) }

// given returns the end (exclusive) of all blocks of integers that the rows of the sequence
// have had.
func (l Level) given() int64 { return max(l.End(), l.SpareEnd()) }

// first returns the first integer of the block of integers in use, 0 if that is not
// known.
func (l Level) first() int64 {
	if l.End() > 0 && l.SpareEnd() == l.End() {
		return l.SpareFirst
	}
	return 0
}

// left returns how many integers are left in the block in use and in the next block.
func (l Level) left() int64 {
	left := max(l.End()-l.Next, 0)
	if l.hasSpare() {
		left += l.SpareEnd() - max(l.SpareFirst, l.Next)
	}
	return left
}

// turned returns the level (what the rows hold) after the next block, which is in the
// second row, was put into use.
func (l Level) turned() Level {
	l.Next = max(l.Next, l.SpareFirst)
	l.Block = staterow.WithEnd(l.Block, l.SpareEnd())
	return l
}

// installed returns the level (what the rows hold) after b was written into the second row
// as the next block.
func (l Level) installed(b Block) Level {
	l.SpareFirst, l.Spare = b.First, staterow.WithEnd(l.Block, b.End)
	return l
}

// Block is the range of integers from First to End, without End.
type Block struct{ First, End int64 }

// Rows reads and changes the rows of a sequence with an upstream store: the first row has
// the block of integers in use, the second row the next block.
type Rows interface {
	// ReserveRow reserves from the block of integers in use. If the block has fewer than n
	// integers left, it reserves these and returns their number in N.
	ReserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error)

	// ReadLevel reads the row with the block in use and the row with the next block.
	ReadLevel(ctx context.Context) (Level, error)

	// Install writes a block of integers into the second row as the next block, and Turn
	// puts that block into use. They return false, and have changed nothing, if a row is
	// not as it was read. After an error the rows may or may not have been changed.
	Install(ctx context.Context, was Level, b Block) (bool, error)
	Turn(ctx context.Context, was Level) (bool, error)

	// Raise makes the next integer of the block of integers in use to or greater.
	Raise(ctx context.Context, to int64) error

	// BlockEnd returns the end (exclusive) of the block in use, from the last answer.
	BlockEnd() int64

	// NeedsAll reports whether a reservation of fewer integers than were asked for is
	// useless, IsOurs whether the rows can be used at any time, and MayWait whether a call
	// may wait for the upstream store.
	NeedsAll() bool
	IsOurs() bool
	MayWait() bool
}
