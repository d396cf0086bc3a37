package upstream

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// A sequence may have its integers from another store, the upstream, in blocks: its row
// then stands in the middle between that store and the processes. Two rows of
// keyfill_sequences hold two blocks. The row of the sequence has the block in use: where
// it stands in next_value, and where it ends after its incarnation, as a row beside
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

// Parameters are the [sequence.Sequence].Parameters of a sequence whose integers come from
// an upstream. A process whose policy names none does not use its row.
const Parameters = "upstream"

// Level is the state of the two rows of a sequence with an upstream.
type Level struct {
	Next  int64  // the lowest integer of the block in use that is not reserved
	Block string // the incarnation of the first row

	SpareFirst int64
	Spare      string // the incarnation of the second row; empty if there is none
}

// End returns the end (exclusive) of the block in use, 0 where there was none yet.
func (l Level) End() int64 { return staterow.EndOf(l.Block) }

// SpareEnd returns the end of the last block that was installed, 0 where there was none.
func (l Level) SpareEnd() int64 {
	if l.Spare == "" || staterow.IdentityOf(l.Spare) != staterow.IdentityOf(l.Block) {
		return 0
	}
	return staterow.EndOf(l.Spare)
}

// hasSpare reports whether the second row has a block that is still to be put into use.
func (l Level) hasSpare() bool { return l.SpareEnd() > max(l.End(), l.Next) }

// given returns the end of all blocks that the two rows have had.
func (l Level) given() int64 { return max(l.End(), l.SpareEnd()) }

// first returns where the block in use begins, 0 where that is not known.
func (l Level) first() int64 {
	if l.End() > 0 && l.SpareEnd() == l.End() {
		return l.SpareFirst
	}
	return 0
}

// left returns how many integers are left in both blocks.
func (l Level) left() int64 {
	left := max(l.End()-l.Next, 0)
	if l.hasSpare() {
		left += l.SpareEnd() - max(l.SpareFirst, l.Next)
	}
	return left
}

// turned returns the level after a turn.
func (l Level) turned() Level {
	l.Next = max(l.Next, l.SpareFirst)
	l.Block = staterow.WithEnd(l.Block, l.SpareEnd())
	return l
}

// installed returns the level after a block was installed.
func (l Level) installed(b Block) Level {
	l.SpareFirst, l.Spare = b.First, staterow.WithEnd(l.Block, b.End)
	return l
}

// Block are the integers from First to End, which is not one of them.
type Block struct{ First, End int64 }

// Rows are the two rows of a sequence with an upstream.
type Rows interface {
	// ReserveRow reserves from the block in use. If fewer integers are left, it reserves
	// these, and N is their number.
	ReserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error)

	// ReadLevel reads both rows.
	ReadLevel(ctx context.Context) (Level, error)

	// Install writes a block into the second row, and Turn puts that block into use. They
	// report false, and have changed nothing, where a row is not as it was read. After an
	// error the rows may have been changed or not.
	Install(ctx context.Context, was Level, b Block) (bool, error)
	Turn(ctx context.Context, was Level) (bool, error)

	// Raise makes the block in use go on from to or above.
	Raise(ctx context.Context, to int64) error

	// BlockEnd returns the end of the block in use, as the last answer has shown it.
	BlockEnd() int64

	// NeedsAll reports whether a reservation of fewer integers is of no use, IsOurs whether
	// the rows can be used at any time, and MayWait whether a call may wait for the upstream.
	NeedsAll() bool
	IsOurs() bool
	MayWait() bool
}
