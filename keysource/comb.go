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
	clock clock
	rand  entropy
	ahead readAhead // empty between requests
	epoch Epoch
	last  atomic.Int64 // the latest time of a key, in milliseconds since epoch
}

// NewCOMB returns a source of combs that count from epoch; any value but
// [EpochUnix] is [EpochDotNet].
func NewCOMB(env Env, epoch Epoch) *COMB {
	s := &COMB{rand: entropy{env.Rand}, epoch: epoch}
	s.clock.start(env.Now)
	return s
}

// Next returns r.N keys in ascending order, in any layout: lower-case text of
// 36 characters, or 16 bytes. It never waits. It returns [ErrCount],
// [ErrEntropy], or [ErrClock] for a time before the epoch or after the year
// 8920 (dotnet) or 10889 (unix).
func (s *COMB) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	return fresh(ctx, s, r)
}

// Append is Next for a caller with room, see [Source].
func (s *COMB) Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error) {
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
	var few [4 * chunk]combTail // spares a small request the heap
	milli, tails, err := s.draw(few[:], r)
	if err != nil {
		return room, err
	}
	room = grow(room, r.N)
	var part [chunk][16]byte
	for len(tails) > 0 {
		n := min(len(tails), chunk)
		for i, tail := range tails[:n] {
			tail.lay(&part[i], milli)
		}
		room = appendText(room, r.Layout, part[:n])
		tails = tails[n:]
	}
	return room, nil
}

// Key16 returns one key as 16 bytes, time first; see [Source16]. The layout
// decides the order of the random bytes. It fails as Next does.
func (s *COMB) Key16(_ context.Context, l dialect.Layout) ([16]byte, error) {
	var key [16]byte
	var one [2]combTail
	milli, tails, err := s.draw(one[:], Request{N: 1, Layout: l})
	if err != nil {
		return [16]byte{}, err
	}
	tails[0].lay(&key, milli)
	return key, nil
}

// Append16 is Append of keys as 16 bytes, time first; see [Source16].
func (s *COMB) Append16(_ context.Context, room [][16]byte, r Request) ([][16]byte, error) {
	var few [4 * chunk]combTail
	milli, tails, err := s.draw(few[:], r)
	if err != nil {
		return room, err
	}
	room = grow(room, r.N)
	first := len(room)
	room = room[:first+r.N]
	for i, tail := range tails {
		tail.lay(&room[first+i], milli)
	}
	return room, nil
}

// draw returns what the keys of a request are made from, in the order of the
// keys. It uses room where that is long enough for twice as many.
func (s *COMB) draw(room []combTail, r Request) (milli int64, tails []combTail, err error) {
	if r.N < 1 {
		return 0, nil, ErrCount
	}
	if 2*r.N > len(room) {
		room = make([]combTail, 2*r.N)
	}
	tails, other := room[:r.N], room[r.N:2*r.N]
	if err := s.read(tails, r.Layout); err != nil {
		return 0, nil, err
	}
	if milli, err = s.milli(); err != nil {
		return 0, nil, err
	}
	if s.rand.r == nil && r.N > 1 && r.N <= evenlyMost {
		return milli, sortEvenly(tails, other), nil
	}
	slices.SortFunc(tails, combTail.compare)
	return milli, tails, nil
}

// read fills tails. A reader of the caller's, which can fail, is read by one
// call.
//
// Nothing is made ahead for later requests: the time of these keys is no finer
// than a millisecond, so that copies of a running process, see [readAhead], would
// make the same ones.
func (s *COMB) read(tails []combTail, l dialect.Layout) error {
	if s.rand.r == nil && len(tails) > 1 {
		var rest uint64 // the low 16 bits of up to four tails
		w := s.ahead.get(0)
		for i := range tails {
			if i%4 == 0 {
				rest = w.next()
			}
			tails[i] = combTail{w.next(), uint16(rest)}
			rest >>= 16
		}
		w.forget()
		s.ahead.put(w)
		return nil
	}
	var one [combTailSize]byte
	b := one[:]
	if len(tails) > 1 {
		b = make([]byte, len(tails)*combTailSize)
	}
	if err := s.rand.fill(b); err != nil {
		return err
	}
	for i := range tails {
		tails[i] = newCombTail(b[i*combTailSize:][:combTailSize], l)
	}
	return nil
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

// combTail are the 80 random bits of a comb, as a number in the order of the
// index: hi is above lo.
type combTail struct {
	hi uint64
	lo uint16
}

// combTailSize is the number of random bytes of a comb.
const combTailSize = 10

// newCombTail returns the tail for ten bytes as they were read.
//
// A layout with the time at the end is put together by [dialect.AtEnd], which
// moves every byte. The random ones are placed here so that it moves them to
// bytes 0 to 9 in the order in which they were read.
func newCombTail(b []byte, l dialect.Layout) combTail {
	first, last := binary.BigEndian.Uint64(b), binary.BigEndian.Uint16(b[8:])
	if l != dialect.SequentialAtEnd {
		return combTail{first, last}
	}
	// Of b: bytes 8 and 9, 6 and 7, 4 and 5, 0 and 1; then 2 and 3.
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

func (t *combTail) isBefore(u *combTail) bool {
	return t.hi < u.hi || t.hi == u.hi && t.lo < u.lo
}

// evenlyMost is how many tails sortEvenly sorts fast.
const evenlyMost = 1024

// sortEvenly returns tails in order, in room for as many. It is made for tails
// that are evenly distributed, as random ones are: it deals them to the places
// that their highest eight bits say, after which few of them have to be moved.
// Any others it sorts too, up to evenlyMost, but not faster than others do.
func sortEvenly(tails, room []combTail) []combTail {
	var place [1 << 8]int32
	for _, t := range tails {
		place[t.hi>>56]++
	}
	sum := int32(0)
	for i, n := range place {
		place[i] = sum
		sum += n
	}
	for _, t := range tails {
		p := &place[t.hi>>56]
		room[*p] = t
		*p++
	}
	for i := 1; i < len(tails); i++ {
		t, j := room[i], i
		for ; j > 0 && t.isBefore(&room[j-1]); j-- {
			room[j] = room[j-1]
		}
		if j != i {
			room[j] = t
		}
	}
	return room[:len(tails)]
}

// lay lays out the key of a time, in bytes that sort as the index of the layout
// does.
func (t combTail) lay(key *[16]byte, milli int64) {
	binary.BigEndian.PutUint64(key[:8], uint64(milli)<<16|t.hi>>48)
	binary.BigEndian.PutUint64(key[8:], t.hi<<16|uint64(t.lo))
}

// combTime returns the time that key, in sortable bytes, would have as a comb
// of the epoch.
func combTime(key [16]byte, e Epoch) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[:8])>>16) - e.unixMilli()).UTC()
}
