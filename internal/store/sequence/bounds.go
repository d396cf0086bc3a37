package sequence

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// Bounds limits which integers the sequence gives.
type Bounds struct {
	// Max is the greatest integer that can be reserved; zero means the greatest possible
	// one, 2⁶³−2: one less than the column holds, since the next integer is stored.
	Max int64

	// Below is the first integer that the engine's own counters of the columns give; zero
	// means that they are not checked. Keys from Below on do not belong to the sequence:
	// its Max is below, and the greatest key is searched below. Opening the sequence, and
	// asking for its greatest key, returns [store.ErrBelow] unless each counter has
	// reached Below.
	Below int64

	// PastCounter reports that the engine's own counters are not queried, for a caller that
	// looks for other faults.
	PastCounter bool

	// StartAt is the least integer that the sequence gives; zero means none. Other
	// sequences of its column may use the integers below it: [reserver.Open] gives each of
	// them an end there, and returns [store.ErrStartAt] if one has reserved integers from
	// there on. The sequence must not be Shared, and its row must be in keyfill_sequences.
	StartAt int64

	// Skip is a range of integers that another program gives, and the sequence does not.
	// The greatest key is searched outside of it.
	Skip store.Range
}

// ArePart reports whether another state (stored counter), the engine or another program
// gives integers to the columns too.
func (b Bounds) ArePart() bool {
	return b.Below > 0 || b.StartAt > 0 || b.Skip != store.Range{}
}

// EndWithTransaction reports whether a rollback may undo what opening the sequence has
// proven or changed: the value of the engine's own counter, and the end that another state
// was given.
func (b Bounds) EndWithTransaction() bool { return b.Below > 0 || b.StartAt > 0 }

// First returns the first integer that the sequence gives if the next value of its row is
// start.
func (b Bounds) First(start int64) int64 { return max(start, b.StartAt) }

// KeysEnd returns the lowest integer from which on keys do not belong to the sequence, 0 if
// there is none. end is the first integer that the sequence's row leaves to another state
// (stored counter), 0 if it leaves none.
func (b Bounds) KeysEnd(end int64) int64 {
	if b.Below == 0 || end == 0 {
		return cmp.Or(end, b.Below)
	}
	return min(end, b.Below)
}

// Where returns the condition, for a statement that people run, that leaves out the keys of
// a column which do not belong to the sequence; empty if there are none. keysEnd is the
// result of [Bounds.KeysEnd].
func (b Bounds) Where(column string, keysEnd int64) string {
	var own []string
	if keysEnd > 0 {
		own = append(own, fmt.Sprintf("%s < %d", column, keysEnd))
	}
	if b.Skip.Last > 0 {
		own = append(own, fmt.Sprintf("%s NOT BETWEEN %d AND %d", column, b.Skip.First, b.Skip.Last))
	}
	if own == nil {
		return ""
	}
	return " WHERE " + strings.Join(own, " AND ")
}

// Remedy returns the remedy after the last integer of the bounds, empty if the remedy is a
// wider column.
func (b Bounds) Remedy() string {
	if b.Below > 0 {
		return store.BelowRemedy
	}
	return ""
}

// remedyAt returns what [Bounds.Remedy] returns, for a row whose last integer is limit;
// empty if Below is not the reason for that limit.
func (b Bounds) remedyAt(limit int64) string {
	if limit != b.Below-1 {
		return ""
	}
	return b.Remedy()
}

// checkBounds returns the error of bounds that no row could have.
func checkBounds(q *Sequence) error {
	b := &q.Bounds
	switch {
	case b.StartAt != 0 && (q.Shared || q.IsForeign()):
		return fmt.Errorf("%w: sequence %q has StartAt and no row of its own in keyfill_sequences: leave it out", keysource.ErrOptions, q.Name)
	case q.Made.Start < 0, b.Max < 0, b.StartAt < 0, b.Skip.First < 0, b.Skip.Last < b.Skip.First, b.Skip.Last == math.MaxInt64:
		return fmt.Errorf("%w: sequence %q starts or ends below 1", keysource.ErrOptions, q.Name)
	}
	return nil
}
