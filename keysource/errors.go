package keysource

import (
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Errors about the request. They mean that the caller asked for something the source
// cannot give; asking again does not help.
var (
	// ErrCount is returned when a request asks for fewer than one key.
	ErrCount = anchor.Last("count", "keysource: a request needs at least one key")

	// ErrTooMany is returned when a request asks for more keys than a source can give
	// to one request, such as a snowflake, which gives at most the keys of one tick,
	// its unit of time.
	ErrTooMany = anchor.Last("count", "keysource: too many keys for one request")

	// ErrRange is returned for a range of times whose end is before its beginning.
	ErrRange = anchor.Last("options", "keysource: the range of times ends before it begins: give the earlier time first")

	// ErrPrefix is returned for a prefix that TypeIDs cannot have.
	ErrPrefix = anchor.Last("options", "keysource: a prefix needs letters from a to z, 63 at most, with underscores in between only")

	// ErrLayout is returned when the source cannot make keys in the requested layout.
	ErrLayout = anchor.Last("options", "keysource: no such layout")
)

// Errors about the clock, the random numbers or the range of a source. No key of the
// request has been handed out.
var (
	// ErrEntropy is returned when [Env].Rand fails or ends early. It wraps the
	// reader's own error.
	ErrEntropy = anchor.Last("entropy", "keysource: entropy failed")

	// ErrClock is returned when the time of a key does not fit its 48 bits of
	// milliseconds: the clock shows a time before the epoch or after the last
	// one that can be written. A snowflake also returns it when the clock is too
	// far behind the keys, or stands still.
	ErrClock = anchor.Last("clock", "keysource: the clock shows a time outside the range of the keys")
)

// Errors about the store of a counting source, which is the database or server that
// keeps the counter. No key of the request has been handed out.
var (
	// ErrStoreDown is returned when a request's context, or the time for which
	// a source waits, ends after the store has failed. It wraps the context's
	// error if there is one, but never the driver's: a driver.ErrBadConn of the
	// store's connection would make database/sql send the statement again on
	// another one.
	ErrStoreDown = anchor.Last("store-down", "keysource: the store does not answer")

	// ErrStoreState is returned when the store answers that it cannot reserve integers
	// and that asking again will not help: for example, its row is missing or serves
	// another source. The error of a [Reserver] wraps it.
	ErrStoreState = anchor.Last("store-state", "keysource: the store answers, but cannot reserve numbers")

	// ErrStoreRefused is wrapped, besides [ErrStoreState], by an error with which the
	// store's database engine refuses until an operator repairs the database or the
	// account. Such a store is asked again once a second, not by each request.
	ErrStoreRefused = anchor.Last("store-state", "keysource: the store's server refuses")

	// ErrStoreBack is returned when the store's counter is below the integers that it
	// has reserved for this process; or when another server answers than before, and
	// its counter is below the keys in use. The store was restored, or a failover lost
	// its last commits.
	ErrStoreBack = anchor.Last("back", "keysource: the store lost numbers that it had given out")

	// ErrStoreBehind is returned when the store's counter is below keys that were in
	// use before the first request: another program fills the table too, or the store
	// was set up with too low a start.
	ErrStoreBehind = anchor.Last("behind", "keysource: the store's next number is below keys in the table")

	// ErrExhausted is returned when a source has no integers left within its limit. The
	// text of the error names the limit.
	ErrExhausted = anchor.Last("exhausted", "keysource: the source is exhausted")

	// ErrClosed is returned for a request to a source that was closed, and for requests
	// that wait while it is closed.
	ErrClosed = anchor.Last("closed", "keysource: the source is closed")
)

// ErrOptions is returned when a source cannot be made with the options given; its text
// names the option.
var ErrOptions = anchor.Last("options", "keysource: bad options")

// ErrWorkerTaken is returned when a source cannot be made because another source of
// this process uses the same worker's number; and for a request that has got nothing
// for ten seconds because other processes use the number.
var ErrWorkerTaken = anchor.Last("worker", "keysource: the worker's number is in use")

// ErrOtherKey is returned for a value that is not a key of the [Mapping].
var ErrOtherKey = anchor.Last("not-a-key", "keysource: not a key of this source")

// ErrNotKey is returned when a text is in none of the forms that [Inspect]
// reads.
var ErrNotKey = anchor.Last("not-a-key", "keysource: not a UUID, a ULID, a TypeID, 32 hexadecimal digits, a composite key or a 64-bit integer")

// ErrNoConnection is returned when a source reserves integers on the connection of the
// statement, a call gives it no connection, and too few integers are reserved already.
var ErrNoConnection = anchor.Last("by-hand", "keysource: the keys are reserved on the statement's connection, and there is none: ask with one")

// clockError returns the error for a key whose time, in milliseconds since 1970, is out
// of range.
func clockError(ms int64) error {
	return anchor.Endf("%w: %s UTC", ErrClock, time.UnixMilli(ms).UTC().Format(time.DateTime))
}
