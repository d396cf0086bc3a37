package keysource

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"slices"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keyclock"
)

// Epoch is the instant from which a comb (a key of [COMB]) counts its milliseconds, by
// its name in the policy file. A table must never change its epoch: old and new keys
// would no longer sort together.
type Epoch string

const (
	// EpochDotNet is 0001-01-01 00:00 UTC, from which DateTime.Ticks count:
	// the epoch of the combs of .NET programs. 48 bits end in the year 8920.
	EpochDotNet Epoch = "dotnet"
	// EpochUnix is 1970-01-01 00:00 UTC. 48 bits end in the year 10889.
	EpochUnix Epoch = "unix"
)

// dotNetMilli is the instant 1970-01-01 in milliseconds since 0001-01-01.
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
// They are the keys of jhtodd/SequentialGuid for .NET, byte for byte:
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
// The time never goes back: it is the time of the clock or of the last key,
// whichever is later. Keys of one request ascend in the order of the index.
// Keys of different requests ascend from millisecond to millisecond. Within one
// millisecond they are in random order, so the source does not call itself
// ordered.
//
// MariaDB's uuid type refuses a quarter of these keys and stores a sixth out of
// order (10.11): there, and for new tables, use [UUIDv7].
type COMB struct {
	clock keyclock.Clock
	rand  entropy
	ahead readAhead // random numbers; none are kept between requests
	epoch Epoch
	last  atomic.Int64 // the time of the latest key, in milliseconds since epoch
}

// NewCOMB returns a source of combs that count from epoch. Any epoch but [EpochUnix]
// means [EpochDotNet].
func NewCOMB(env Env, epoch Epoch) *COMB {
	s := &COMB{rand: entropy{env.Rand}, epoch: epoch}
	s.clock.Start(env.Now)
	return s
}

// Next returns r.N keys in ascending order, in any layout but [dialect.Swapped]:
// lower-case text of 36 characters, or 16 bytes. It never waits. It returns [ErrLayout], [ErrCount],
// [ErrEntropy], or [ErrClock] for a time before the epoch or after the year
// 8920 (dotnet) or 10889 (unix).
func (s *COMB) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	return fresh(ctx, s, r)
}

// Append is like Next, but appends the keys to room; see [Source].
func (s *COMB) Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error) {
	if err := combIn(r.Layout); err != nil {
		return room, err
	}
	if r.N == 1 {
		key, err := s.Key16(ctx, r.Layout)
		if err != nil {
			return room, err
		}
		return append(room, r.Layout.Value(key)), nil
	}
	if r.Layout == dialect.SequentialAsBinary {
		return appendBinary(ctx, s, room, r)
	}
	var few [2 * boxing.Chunk][16]byte // on the stack, so that a small request needs no allocation for it
	keys, err := s.Append16(ctx, few[:0], r)
	if err != nil {
		return room, err
	}
	room = boxing.Grow(room, r.N)
	for len(keys) > 0 {
		n := min(len(keys), boxing.Chunk)
		room = appendText(room, r.Layout, keys[:n])
		keys = keys[n:]
	}
	return room, nil
}

// combIn returns an error for a layout in which combs are not sent: only a UUID with a
// version has the groups that are swapped.
func combIn(l dialect.Layout) error {
	if l == dialect.Swapped {
		return anchor.Endf("%w: a comb with %s: use %s", ErrLayout, l, dialect.SequentialAsBinary)
	}
	return nil
}

// Key16 returns one key as 16 bytes, time first; see [Source16]. The layout decides the
// order of the random bytes. It returns the errors of Next.
func (s *COMB) Key16(_ context.Context, l dialect.Layout) ([16]byte, error) { return s.key(l) }

// key implements Key16 without a context.
func (s *COMB) key(l dialect.Layout) ([16]byte, error) {
	var random [combTailSize]byte
	if err := s.rand.fill(random[:]); err != nil {
		return [16]byte{}, err
	}
	milli, err := s.milli()
	if err != nil {
		return [16]byte{}, err
	}
	var key [16]byte
	tail := newCombTail(random[:], l)
	tail.lay(&key, milli)
	return key, nil
}

// Append16 appends r.N keys of 16 bytes, time first, to room; see [Source16].
func (s *COMB) Append16(_ context.Context, room [][16]byte, r Request) ([][16]byte, error) {
	switch {
	case r.N < 1:
		return room, ErrCount
	case r.N == 1:
		key, err := s.key(r.Layout)
		if err != nil {
			return room, err
		}
		return append(room, key), nil
	}
	var few [2 * boxing.Chunk]combTail
	tails := few[:]
	if r.N > len(few) {
		tails = make([]combTail, r.N)
	}
	tails = tails[:r.N]
	even, err := s.read(tails, r.Layout)
	if err != nil {
		return room, err
	}
	milli, err := s.milli()
	if err != nil {
		return room, err
	}
	room = boxing.Grow(room, r.N)
	all := len(room) + r.N
	keys := room[len(room):all]
	if even && r.N <= evenlyMost {
		layEvenly(keys, tails, milli)
		return room[:all], nil
	}
	slices.SortFunc(tails, combTail.compare)
	for i, tail := range tails {
		tail.lay(&keys[i], milli)
	}
	return room[:all], nil
}

// read fills tails, the random parts of keys, and reports whether they are evenly
// distributed. A reader that the caller gave can fail and return anything, so it is
// read by one call.
//
// No random numbers are kept for later requests: the time of these keys is no finer
// than a millisecond, so that copies of a running process, see [readAhead], would
// make the same ones.
func (s *COMB) read(tails []combTail, l dialect.Layout) (even bool, err error) {
	if s.rand.r == nil {
		w := s.ahead.get(0)
		w.fillTails(tails)
		w.forget()
		s.ahead.put(w)
		return true, nil
	}
	b := make([]byte, len(tails)*combTailSize)
	if err := s.rand.fill(b); err != nil {
		return false, err
	}
	for i := range tails {
		tails[i] = newCombTail(b[i*combTailSize:][:combTailSize], l)
	}
	return false, nil
}

// fillTails fills tails with random numbers: the upper 64 bits of each tail are one number,
// and the lower 16 bits of four tails are the parts of another number.
func (w *words) fillTails(tails []combTail) {
	for rest := tails; len(rest) > 0; {
		numbers := w.some(len(rest))
		for i, number := range numbers {
			rest[i].hi = number
		}
		clear(numbers)
		rest = rest[len(numbers):]
	}
	for rest := tails; len(rest) > 0; {
		number := w.next()
		four := rest[:min(len(rest), 4)]
		for i := range four {
			four[i].lo = uint16(number)
			number >>= 16
		}
		rest = rest[len(four):]
	}
}

// Traits promises uniqueness alone: keys of the same millisecond are in random order,
// unless one request made them.
func (s *COMB) Traits() Traits { return Traits{} }

// milli returns the time for a new key in milliseconds since the epoch: the clock's, or
// the last key's if that is later.
func (s *COMB) milli() (int64, error) {
	unix := s.clock.Read() >> keyclock.TickBits
	now := unix + s.epoch.unixMilli()
	if now < 0 || now > keyclock.MaxMilli {
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

// combTail is the 80 random bits of a comb as a number, in the order in which the index
// compares them: hi is the upper 64 bits, lo the lower 16.
type combTail struct {
	hi uint64
	lo uint16
}

// combTailSize is the number of random bytes of a comb.
const combTailSize = 10

// newCombTail returns the random part of a key, made of ten random bytes.
//
// For a layout with the time at the end, [dialect.AtEnd] moves every byte of the key.
// The random bytes are arranged here so that they are in bytes 0 to 9 of the result, in
// the order of b.
func newCombTail(b []byte, l dialect.Layout) combTail {
	first, last := binary.BigEndian.Uint64(b), binary.BigEndian.Uint16(b[8:])
	if l != dialect.SequentialAtEnd {
		return combTail{first, last}
	}
	// The order of the bytes of b: 8 and 9, 6 and 7, 4 and 5, 0 and 1; then 2 and 3.
	return combTail{
		uint64(last)<<48 | first&0xffff<<32 | first>>16&0xffff<<16 | first>>48,
		uint16(first >> 32),
	}
}

func (t combTail) compare(u combTail) int {
	if t.hi != u.hi {
		return cmp.Compare(t.hi, u.hi)
	}
	return cmp.Compare(t.lo, u.lo)
}

func (t combTail) isBefore(u combTail) bool {
	return t.hi < u.hi || t.hi == u.hi && t.lo < u.lo
}

// evenlyMost is up to how many tails layEvenly is faster than slices.SortFunc.
const evenlyMost = 1024

// layEvenly writes the keys of tails, which all get the time milli, into keys in
// ascending order. Both slices have the same length. It is fast for tails that are
// evenly distributed, as random ones are: it puts each key into the place that its
// highest eight bits give, after which few have to be moved. It sorts other tails too,
// but not faster than other algorithms.
func layEvenly(keys [][16]byte, tails []combTail, milli int64) {
	var place [1 << 8]uint16
	for i := range tails {
		place[tails[i].hi>>56]++
	}
	sum := uint16(0)
	for i, n := range place {
		place[i] = sum
		sum += n
	}
	for i := range tails {
		p := &place[tails[i].hi>>56]
		tails[i].lay(&keys[*p], milli)
		*p++
	}
	var greatest combTail // the greatest tail of the keys so far
	for i := range keys {
		tail := tailOf(&keys[i])
		if !tail.isBefore(greatest) {
			greatest = tail
			continue
		}
		key, j := keys[i], i
		for ; j > 0 && tail.isBefore(tailOf(&keys[j-1])); j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = key
	}
}

// lay writes the key of a time and of the random bits t, with its bytes in the order in
// which the index of the layout compares them.
func (t combTail) lay(key *[16]byte, milli int64) {
	binary.BigEndian.PutUint64(key[:8], uint64(milli)<<16|t.hi>>48)
	binary.BigEndian.PutUint64(key[8:], t.hi<<16|uint64(t.lo))
}

// tailOf returns the random bits of a key that lay has written.
func tailOf(key *[16]byte) combTail {
	return combTail{binary.BigEndian.Uint64(key[6:14]), binary.BigEndian.Uint16(key[14:])}
}

// combTime returns the time of key if it is read as a comb that counts from e. The
// bytes of key are in sort order, time first.
func combTime(key [16]byte, e Epoch) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[:8])>>16) - e.unixMilli()).UTC()
}
