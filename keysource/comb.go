package keysource

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
)

// Epoch is the instant from which a comb counts its milliseconds, as the policy
// file calls it. A table must never change it: old and new keys would no longer
// sort together.
type Epoch string

const (
	// EpochDotNet is 0001-01-01 00:00 UTC, from which DateTime.Ticks count:
	// the epoch of the combs of .NET programs. 48 bits end in the year 8920.
	EpochDotNet Epoch = "dotnet"
	// EpochUnix is 1970-01-01 00:00 UTC. 48 bits end in the year 10889.
	EpochUnix Epoch = "unix"
)

// dotNetMilli is 1970-01-01 in milliseconds since 0001-01-01.
const dotNetMilli = 62_135_596_800_000

// unixMilli returns the instant 1970-01-01 in milliseconds since e.
func (e Epoch) unixMilli() int64 {
	if e == EpochUnix {
		return 0
	}
	return dotNetMilli
}

// COMB makes keys of a 48-bit time and 80 random bits, which GUID columns hold
// although they are not UUIDs of RFC 9562: version and variant are random too.
// They are those of jhtodd/SequentialGuid for .NET, byte for byte:
//
//	                     bytes 0 1 2 3 4 5 | 6 7 8 9 10 11 12 13 14 15
//	string               text      time    |       random
//	binary               bytes     time    |       random
//
//	                     bytes 0 1 2 3 4 5 6 7 8 9 | 10 11 12 13 14 15
//	sequential_at_end    stored      random        |      time
//
// The time is in milliseconds since an [Epoch], highest byte first. Text under
// sequential_at_end shows the stored bytes as SQL Server does, the first three
// groups reversed.
//
// The time never goes back: it is that of the clock or of the last key,
// whichever is later. Keys of one request ascend in the order of the index.
// Keys of different requests do so from millisecond to millisecond; within one
// they are in random order, so the source does not call itself ordered.
//
// MariaDB's uuid type refuses a quarter of these keys and stores a sixth out of
// order (10.11): there, and for new tables, use [UUIDv7].
type COMB struct {
	clock clock
	rand  entropy
	epoch Epoch
	last  atomic.Int64 // the latest time of a key, in milliseconds since epoch
}

// NewCOMB returns a source of combs that count from epoch; any value but
// [EpochUnix] is [EpochDotNet].
func NewCOMB(env Env, epoch Epoch) *COMB {
	return &COMB{clock: newClock(env.Now), rand: entropy{env.Rand}, epoch: epoch}
}

// Next returns r.N keys in ascending order, in any layout: lower-case text of
// 36 characters, or 16 bytes. It never waits. It returns [ErrCount],
// [ErrEntropy], or [ErrClock] for a time before the epoch or after the year
// 8920 (dotnet) or 10889 (unix).
func (s *COMB) Next(_ context.Context, r Request) ([]driver.Value, error) {
	if r.N < 1 {
		return nil, ErrCount
	}
	var few [8 * combTail]byte // spares a single row the heap
	tails := few[:]
	if r.N*combTail > len(few) {
		tails = make([]byte, r.N*combTail)
	}
	tails = tails[:r.N*combTail]
	if err := s.rand.fill(tails); err != nil {
		return nil, err
	}
	milli, err := s.milli()
	if err != nil {
		return nil, err
	}
	if r.N == 1 { // spares the slice to sort
		return []driver.Value{r.Layout.Value(comb(milli, tails, r.Layout))}, nil
	}
	sorted := make([][16]byte, r.N)
	for i := range sorted {
		sorted[i] = comb(milli, tails[i*combTail:], r.Layout)
	}
	slices.SortFunc(sorted, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	keys := make([]driver.Value, r.N)
	for i, key := range sorted {
		keys[i] = r.Layout.Value(key)
	}
	return keys, nil
}

// Traits says that nothing but uniqueness is promised: keys of the same
// millisecond are in random order, unless one request made them.
func (s *COMB) Traits() Traits { return Traits{} }

// milli returns the time of a new key in milliseconds since the epoch.
func (s *COMB) milli() (int64, error) {
	unix := s.clock.read() >> tickBits
	now := unix + s.epoch.unixMilli()
	if now < 0 || now > maxMilli {
		return 0, clockError(unix)
	}
	for {
		last := s.last.Load()
		if now <= last {
			return last, nil
		}
		if s.last.CompareAndSwap(last, now) {
			return now, nil
		}
	}
}

// combTail is the number of random bytes of a comb.
const combTail = 10

// comb returns the key, in bytes that sort as the index of the layout does, for
// the first ten bytes of tail.
//
// A layout with the time at the end is put together by [dialect.AtEnd], which
// moves every byte. The random ones are placed here so that it moves them to
// bytes 0 to 9 in the order in which they were read.
func comb(milli int64, tail []byte, l dialect.Layout) (key [16]byte) {
	binary.BigEndian.PutUint64(key[:8], uint64(milli)<<16)
	if l != dialect.SequentialAtEnd {
		copy(key[6:], tail[:combTail])
		return key
	}
	copy(key[6:8], tail[8:10])
	copy(key[8:10], tail[6:8])
	copy(key[10:12], tail[4:6])
	copy(key[12:16], tail[0:4])
	return key
}

// combTime returns the time that key, in sortable bytes, would have as a comb
// of the epoch.
func combTime(key [16]byte, e Epoch) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[:8])>>16) - e.unixMilli()).UTC()
}
