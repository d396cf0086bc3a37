package keysource

import "context"

// Series is a row of the store: a range of consecutive integers that one owner at a
// time hands out.
type Series struct {
	First, Last int64 // the first and the last integer of the range; First is 0 if there is no series
	Next        int64 // the lowest integer that is not reserved; Last+1 if all are
	Epoch       int64 // how many owners the series has had
	Own         bool  // whether it belongs to the owner that asks
}

// SeriesStore is the store of a recycled source, as one owner sees it: a process, or each
// source in a process. It has a method for each thing that has to be done in one
// transaction, so it has more methods than other interfaces.
//
// All methods return when the context ends. Own and Move find out the effect of a call
// that failed. Errors have the meaning that they have for a [Reserver]: an error that
// wraps [ErrStoreState] is passed on as it is, [ErrExhausted] means that no new series
// can be opened, and after any other error the store counts as down.
type SeriesStore interface {
	// Own returns the lowest series (a range of integers) of this owner, or the zero Series
	// if the owner has none.
	Own(ctx context.Context) (Series, error)

	// Move raises the next integer of a series (a range of integers) from s.Next to the
	// argument to, which is not less, and restarts the lease, if the row belongs to this
	// owner, has s.Epoch and still has s.Next. Otherwise it changes nothing and returns the
	// row as it is, or the zero Series if there is no row. It returns only after its change
	// is committed.
	Move(ctx context.Context, s Series, to int64) (now Series, moved bool, err error)

	// TakeOver gives this owner the lowest abandoned series that has n ≥ 1 integers
	// left. A series is abandoned when its lease has run out by the server's clock.
	// TakeOver returns the zero Series if there is none. It removes abandoned series
	// that are used up.
	TakeOver(ctx context.Context, n int64) (Series, error)

	// Open makes a new series (a range of integers) for this owner, above all series that
	// ever existed, even if their rows are gone. If that would be below seen, the store has
	// gone back: Open makes no series and returns where it would have begun in First.
	Open(ctx context.Context, seen int64) (Series, error)

	// GiveUp ends this owner's right to a series. If the row is still as in s, its next
	// integer is set to the argument to: a value below s.Next gives back the integers
	// that were reserved last and not used. A series that is then used up is removed.
	GiveUp(ctx context.Context, s Series, to int64) error

	// Advance ensures that no series (a range of integers) that is opened from now on
	// begins below to.
	Advance(ctx context.Context, to int64) error
}
