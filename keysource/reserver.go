package keysource

import "context"

// Reserver is a counter in a store that several processes share, such as a row of a
// table. It only grows, and every integer below it has been given out.
//
// Both methods return when the context ends. Integers that a failed call may have
// reserved are never handed out and are a gap. An error that wraps [ErrStoreState] is
// passed on at once and as it is, so it must not wrap driver.ErrBadConn; an error that
// wraps [ErrExhausted] means that nothing is left. After any other error the store
// counts as down, and is asked again.
type Reserver interface {
	// Reserve gives n ≥ 1 consecutive integers to the caller permanently: it returns
	// only when that has been committed, and never an integer that it has returned
	// before. A store that knows the sequence's Max may reserve fewer near it.
	//
	// seen is the end (exclusive) of all integers that the caller has been given, or
	// knows to be in use; 0 at first. A store whose counter is below seen has gone
	// back: it reserves nothing and returns its counter.
	Reserve(ctx context.Context, n, seen int64) (Reservation, error)

	// Advance ensures that the store reserves no integer below to from now on. It does
	// nothing if the counter is as high already.
	Advance(ctx context.Context, to int64) error
}

// Reservation is the answer of a [Reserver].
type Reservation struct {
	// First is the first of the reserved integers. If it is less than seen, the store
	// has gone back: nothing is reserved, and First is its counter.
	First int64
	// N is the number of reserved integers, if that is less than n: a store may reserve
	// only the rest up to a limit that it alone knows. Zero means n.
	N int64
	// Server identifies the server that has committed the reservation. It changes when
	// another server, whose last commits may differ, takes over. It is empty if the
	// store cannot identify servers; then a change is not noticed.
	Server string
	// Apart reports whether several servers give out the integers of this store by
	// turns, so that the integers neither ascend nor follow each other, though none
	// comes twice. Then N is 1, First may be less than seen, and a statement gets one
	// key.
	Apart bool
}

// Remedy is what a source does when its store's counter is below keys in use. The
// values are the words of the policy file; empty means RemedyError.
type Remedy string

const (
	// RemedyError makes requests fail until the store's counter is high enough.
	RemedyError Remedy = "error"
	// RemedyAdvance raises the store's counter above the keys in use and goes on.
	RemedyAdvance Remedy = "advance"
	// RemedyWarn goes on as if nothing were wrong; the log and the statistics show it.
	// After a store has gone back (its counter is lower than before) it is only for a
	// sequence of the engine, which then uses the store's integers, however low they are.
	RemedyWarn Remedy = "warn"
)
