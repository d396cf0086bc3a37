package keysource

import "context"

// Series is a run of consecutive integers that one owner at a time hands out,
// as its row in the store stands.
type Series struct {
	First, Last int64 // the integers that it covers; First is 0 for no series
	Next        int64 // the lowest integer that is not reserved; Last+1: it is used up
	Epoch       int64 // counts its owners
	Own         bool  // it is this owner's
}

// SeriesStore is the store of a [Recycled], for one owner: a process, or each
// source in it. There is a method for each thing that a transaction does and no
// other one may come between, so there are more than of other interfaces.
//
// All return when the context ends. Own and Move find out the effect of a call that
// failed. Errors are as of a [Reserver]: an error that wraps [ErrStoreState] is passed on
// as it is, [ErrExhausted] means that no new series can be opened, and after any other
// the store counts as down.
type SeriesStore interface {
	// Own returns the lowest series of this owner; the zero Series where the
	// owner has none.
	Own(ctx context.Context) (Series, error)

	// Move sets the next integer of a series from s.Next to to ≥ s.Next, and makes the
	// lease last its whole time from now on, if the row is this owner's, has s.Epoch and
	// stands at s.Next. Otherwise it changes nothing and returns the row as it is, or the
	// zero Series if there is no row. It returns only after its change is committed.
	Move(ctx context.Context, s Series, to int64) (now Series, moved bool, err error)

	// TakeOver makes the lowest abandoned series with n ≥ 1 integers left this owner's: a
	// series whose lease has run out by the server's clock. It returns the zero Series if
	// no series qualifies. Series that are used up and abandoned are removed.
	TakeOver(ctx context.Context, n int64) (Series, error)

	// Open makes a new series this owner's, above all that ever were, whether
	// their rows are there or not. A store that would have to open it below seen
	// has gone back: it opens none and answers where it stands in First.
	Open(ctx context.Context, seen int64) (Series, error)

	// GiveUp ends this owner's right to a series. If the row is still as in s, its next
	// integer becomes to: less than s.Next gives back integers that were reserved last
	// and not used. A series that is used up then is removed.
	GiveUp(ctx context.Context, s Series, to int64) error

	// Advance makes every series that is opened from now on begin at to or
	// above.
	Advance(ctx context.Context, to int64) error
}

// SeriesAt is one statement's way to the store of series: its own connection. It
// is used by the call that it is given to alone, on the calling goroutine.
type SeriesAt struct {
	// Transact calls f with the store as that connection sees it, in one
	// transaction: outside of any in one of its own, which has committed when
	// it returns without an error and is undone when f returns one; inside one
	// as a part of that. nil: there is no connection.
	Transact func(ctx context.Context, f func(SeriesStore) error) error

	// MaxKey is as in [RecycledOptions], on that connection.
	MaxKey func(ctx context.Context, from, to int64) (int64, error)

	// Open reports whether a transaction is open on it, or may be.
	Open bool
}
