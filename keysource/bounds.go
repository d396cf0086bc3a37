package keysource

//row:changes | the keys between two times | `keysource/bounds.go`; `cmd/keyfill/gen.go` prints them

import (
	"database/sql/driver"
	"encoding/binary"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keyclock"
)

// UUIDv7Bounds returns the keys between which the keys of a [UUIDv7] from a time range are,
// in the form in which a driver takes keys of the layout. A column compares them by
//
//	id >= low AND id < high
//
// which is true for the keys made from the time from on and before to. Both times are cut to
// whole 1/4096 ms, as the time in a key is. So ranges that follow one another have each key
// once, and a time in whole milliseconds is exact. A time before 1970 counts as 1970. The
// bounds are UUIDs of version 7 themselves, since MariaDB compares its uuid values by their
// version.
//
// The UUIDv7 of other programs may have random bits instead of the 1/4096 ms: give whole
// milliseconds for them.
//
// # What is not exact
//
// The time in a key is when the key was made, not when its row was committed: a transaction
// that is open stores its row in a range that was read before. Keys of several processes
// have the times of several clocks, and run up to a second ahead of them, see [UUIDv7].
//
// The error wraps [ErrClock] for a time after 10889-08-02, and is [ErrRange] if to is before
// from. It wraps [ErrLayout] for [dialect.Swapped], whose keys do not sort by time.
func UUIDv7Bounds(from, to time.Time, l dialect.Layout) (low, high driver.Value, err error) {
	if l == dialect.Swapped {
		return nil, nil, anchor.Endf("%w: %s keys do not sort by time: ask for a column that holds the time", ErrLayout, l)
	}
	return bounds(from, to, maxTick, keyclock.Ticks, func(tick int64) driver.Value {
		var key [16]byte
		layUUIDv7(&key, tick, 0)
		return l.Value(key)
	})
}

// ULIDBounds does for the keys of a [ULID] what [UUIDv7Bounds] does. The times are cut to
// whole milliseconds. The error wraps [ErrLayout] for [dialect.SequentialAtEnd] and
// [dialect.Swapped], which ULIDs do not have.
func ULIDBounds(from, to time.Time, l dialect.Layout) (low, high driver.Value, err error) {
	if noULID(l) {
		return nil, nil, anchor.Endf("%w: a ulid with %s", ErrLayout, l)
	}
	return bounds(from, to, keyclock.MaxMilli, milliOf, func(milli int64) driver.Value {
		key := ulid{milli: milli}
		if l == dialect.SequentialAsBinary {
			return l.Value(key.bytes())
		}
		return key.text()
	})
}

// COMBBounds does for the keys of a [COMB] that counts from e what [UUIDv7Bounds] does. The
// times are cut to whole milliseconds; a time before the epoch counts as the epoch. The
// error wraps [ErrClock] for a time after the year 8920 ([EpochDotNet]) or 10889
// ([EpochUnix]), and [ErrLayout] for [dialect.Swapped].
func COMBBounds(from, to time.Time, e Epoch, l dialect.Layout) (low, high driver.Value, err error) {
	if err := combIn(l); err != nil {
		return nil, nil, err
	}
	since := func(t time.Time) int64 { return milliOf(t) + e.unixMilli() }
	return bounds(from, to, keyclock.MaxMilli, since, func(milli int64) driver.Value {
		var key [16]byte
		binary.BigEndian.PutUint64(key[:8], uint64(milli)<<16)
		return l.Value(key)
	})
}

// SnowflakeBounds does for the keys of a snowflake with these bits what [UUIDv7Bounds] does.
// The zero SnowflakeBits means the default bits. The times are cut to whole units of the
// bits; a time before the epoch counts as the epoch.
//
// The bounds are int64. A column of text ([dialect.SequentialAsString]) does not sort
// integers by their value: the error wraps [ErrLayout] for that layout, and the query has to
// convert the column to an integer.
//
// The keys of a snowflake run up to a second ahead of the clock, or up to three seconds with
// a [Marker], and are held back by up to two seconds at a high rate.
//
// The error wraps [ErrOptions] for bits that [SnowflakeBits.Check] refuses, and [ErrClock]
// for a time after their end.
func SnowflakeBounds(from, to time.Time, bits SnowflakeBits, l dialect.Layout) (low, high driver.Value, err error) {
	if err := bits.Check(); err != nil {
		return nil, nil, err
	}
	if l == dialect.SequentialAsString {
		return nil, nil, anchor.Endf("%w: text does not sort integers by their value: use CAST in the query", ErrLayout)
	}
	f := bits.format()
	since := func(t time.Time) int64 { return f.TickOf(milliOf(t) - f.Epoch) }
	return bounds(from, to, f.End-1, since, func(tick int64) driver.Value {
		return f.Key(tick<<f.SequenceBits, 0)
	})
}

// milliOf returns a time in whole milliseconds since 1970.
func milliOf(t time.Time) int64 { return keyclock.Ticks(t) >> keyclock.TickBits }

// bounds returns the least keys of two times. The function unitOf counts the units of a time
// since the epoch of the keys, of which last is the last one that has keys, and keyOf returns
// the least key of a unit.
func bounds(from, to time.Time, last int64, unitOf func(time.Time) int64, keyOf func(int64) driver.Value) (low, high driver.Value, err error) {
	if to.Before(from) {
		return nil, nil, ErrRange
	}
	begin, end := max(unitOf(from), 0), max(unitOf(to), 0)
	if end > last {
		return nil, nil, clockError(milliOf(to))
	}
	return keyOf(begin), keyOf(end), nil
}
