package keysource

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"math/bits"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keyclock"
)

// ULID makes ULIDs (https://github.com/ulid/spec), strictly increasing within
// the source and across its goroutines: a key that is asked for after another
// one has been returned is greater.
//
//	 01AN4Z07BY      79KA1307SR9X4MV3
//	|----------|    |----------------|
//	 Unix ms          random
//	 48 bits          80 bits
//
// The first key of a millisecond has 80 new random bits. Each further one is
// the one before it plus a random number of 1 to 2³², rather than plus 1 as in
// the specification, so that a key does not give away its neighbour. If that
// runs over the 80 bits, the key takes the next millisecond and new random
// bits, where the specification fails.
//
// The time never goes back. When the clock does, keys stay in the millisecond
// of the last one; when that is ahead of the clock by more than a second, a request
// waits for the clock, as with [UUIDv7].
type ULID struct {
	clock keyclock.Clock
	rand  entropy

	mu   sync.Mutex
	last ulid // guarded by mu
}

// NewULID returns a source of ULIDs.
func NewULID(env Env) *ULID {
	s := &ULID{rand: entropy{env.Rand}, last: ulid{milli: -1}}
	s.clock.Start(env.Now)
	return s
}

// Next returns r.N keys in ascending order: text of 26 upper-case characters
// of Crockford's base 32 for [dialect.SequentialAsString], 16 bytes for
// [dialect.SequentialAsBinary]. It returns [ErrLayout] for
// other layouts, as a ULID is no UUID; [ErrCount];
// [ErrEntropy]; [ErrClock] for a time before 1970 or after 10889-08-02; or the
// context's error when that ends while the keys are ahead of the clock.
func (s *ULID) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	return fresh(ctx, s, r)
}

// noULID reports whether no ULID is sent in a layout.
func noULID(l dialect.Layout) bool { return l == dialect.SequentialAtEnd || l == dialect.Swapped }

// Append is like Next, but appends the keys to room; see [Source].
func (s *ULID) Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error) {
	if r.Layout == dialect.SequentialAsBinary && r.N > 1 {
		return appendBinary(ctx, s, room, r)
	}
	var few [boxing.Chunk * seedSize]byte // on the stack, so that a small request needs no allocation for it
	key, seeds, err := s.keys(ctx, few[:], r)
	if err != nil {
		return room, err
	}
	for room = boxing.Grow(room, r.N); ; key = key.next(key.milli, seeds) {
		if r.Layout == dialect.SequentialAsBinary {
			room = append(room, r.Layout.Value(key.bytes()))
		} else {
			room = append(room, key.text())
		}
		if seeds = seeds[seedSize:]; len(seeds) == 0 {
			return room, nil
		}
	}
}

// Key16 returns one key as 16 bytes; see [Source16]. It returns the errors of Next.
func (s *ULID) Key16(ctx context.Context, l dialect.Layout) ([16]byte, error) {
	var seed [seedSize]byte
	key, _, err := s.keys(ctx, seed[:], Request{N: 1, Layout: l})
	return key.bytes(), err
}

// Append16 appends r.N keys of 16 bytes to room; see [Source16].
func (s *ULID) Append16(ctx context.Context, room [][16]byte, r Request) ([][16]byte, error) {
	var few [boxing.Chunk * seedSize]byte
	key, seeds, err := s.keys(ctx, few[:], r)
	if err != nil {
		return room, err
	}
	for room = boxing.Grow(room, r.N); ; key = key.next(key.milli, seeds) {
		room = append(room, key.bytes())
		if seeds = seeds[seedSize:]; len(seeds) == 0 {
			return room, nil
		}
	}
}

// keys takes the keys of a request. It returns the first key, and the seeds (random
// bytes) from which the others follow. It uses the memory of seeds if that suffices.
func (s *ULID) keys(ctx context.Context, seeds []byte, r Request) (ulid, []byte, error) {
	switch {
	case r.N < 1:
		return ulid{}, nil, ErrCount
	case noULID(r.Layout):
		return ulid{}, nil, anchor.Endf("%w: a ulid with %s", ErrLayout, r.Layout)
	}
	if r.N*seedSize > len(seeds) {
		seeds = make([]byte, r.N*seedSize)
	}
	seeds = seeds[:r.N*seedSize]
	if err := s.rand.fill(seeds); err != nil {
		return ulid{}, nil, err
	}
	first, err := s.draw(ctx, seeds)
	return first, seeds, err
}

// Traits returns that keys are ordered, and text of their own alphabet.
func (s *ULID) Traits() Traits { return Traits{Ordered: true, Text: true} }

// draw takes one key for each seed, and returns the first; the others follow from it by
// the same seeds. It waits if the keys are too far ahead of the clock.
func (s *ULID) draw(ctx context.Context, seeds []byte) (ulid, error) {
	for {
		now := s.clock.Read()
		if now < 0 {
			return ulid{}, clockError(now >> keyclock.TickBits)
		}
		first, taken, err := s.take(now, seeds)
		if taken || err != nil {
			return first, err
		}
		if err := s.clock.Wait(ctx, now, first.milli<<keyclock.TickBits-keyclock.BorrowCap); err != nil {
			return ulid{}, err
		}
	}
}

// take does what draw does, at the time now and under the lock. If the first key would be
// too far ahead of now, it takes none.
func (s *ULID) take(now int64, seeds []byte) (first ulid, taken bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = s.last.next(now>>keyclock.TickBits, seeds)
	if first.milli<<keyclock.TickBits-now > keyclock.BorrowCap {
		return first, false, nil
	}
	last := first
	for rest := seeds[seedSize:]; len(rest) > 0; rest = rest[seedSize:] {
		last = last.next(last.milli, rest)
	}
	if last.milli > keyclock.MaxMilli {
		return ulid{}, false, clockError(last.milli)
	}
	s.last = last
	return first, true, nil
}

// ulid holds the parts of one ULID as numbers.
type ulid struct {
	milli int64  // since 1970
	hi    uint16 // the highest 16 of the random bits
	lo    uint64 // the lower 64 of the random bits
}

// seedSize is how many random bytes one key is made from.
const seedSize = 10

// next returns the key after u at the time milli. If milli is a new millisecond, the
// ten bytes of seed are the random bits of the key. Otherwise the last four of them,
// plus 1, are the step from u.
func (u ulid) next(milli int64, seed []byte) ulid {
	if milli <= u.milli {
		step := uint64(binary.BigEndian.Uint32(seed[6:])) + 1
		lo, carry := bits.Add64(u.lo, step, 0)
		if hi := uint64(u.hi) + carry; hi <= 0xffff {
			return ulid{u.milli, uint16(hi), lo}
		}
		milli = u.milli + 1
	}
	return ulid{milli, binary.BigEndian.Uint16(seed), binary.BigEndian.Uint64(seed[2:])}
}

func (u ulid) bytes() (key [16]byte) {
	binary.BigEndian.PutUint64(key[:8], uint64(u.milli)<<16|uint64(u.hi))
	binary.BigEndian.PutUint64(key[8:], u.lo)
	return key
}

const (
	// crockford is the alphabet of a ULID's text.
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

	// ulidLen is the number of characters of a ULID: two zero bits, then 128 bits, five
	// to a character.
	ulidLen = 26
)

func (u ulid) text() string {
	var t [ulidLen]byte
	hi, lo := uint64(u.milli)<<16|uint64(u.hi), u.lo
	for i := ulidLen - 1; i >= 0; i-- {
		t[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(t[:])
}

// parseULID reads the text of a ULID in either case; I and L are read as 1 and
// O as 0 (https://www.crockford.com/base32.html).
func parseULID(text string) (key [16]byte, ok bool) {
	if len(text) != ulidLen {
		return key, false
	}
	var hi, lo uint64
	for i := range len(text) {
		digit := crockfordDigit(text[i])
		if digit < 0 || i == 0 && digit > 7 { // with a first digit of 8, the value would need more than 128 bits
			return key, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(digit)
	}
	binary.BigEndian.PutUint64(key[:8], hi)
	binary.BigEndian.PutUint64(key[8:], lo)
	return key, true
}

// crockfordDigit returns the value of c as a digit in Crockford's base 32, or -1.
func crockfordDigit(c byte) int {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch c {
	case 'I', 'L':
		return 1
	case 'O':
		return 0
	}
	return strings.IndexByte(crockford, c)
}
