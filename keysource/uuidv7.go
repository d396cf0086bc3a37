package keysource

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keyclock"
)

// UUIDv7 makes UUIDs of version 7, strictly increasing within the source and
// across its goroutines: a key that is asked for after another one has been
// returned is greater.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------------------------------+
//	|                  Unix milliseconds, 48 bits …                 |
//	+-------------------------------+-------+-----------------------+
//	|               …               | 0 1 1 1 |  1/4096 ms, 12 bits |
//	+---+---------------------------+-------+-----------------------+
//	|1 0|                   random, 62 bits …                       |
//	+---+-----------------------------------------------------------+
//	|                               …                               |
//	+---------------------------------------------------------------+
//
// (RFC 9562, section 5.7, with rand_a by section 6.2, method 3.) Milliseconds and
// fraction are one number, and no two keys of a source share it: a key takes the
// clock's number or, if that has been given out, the one after the last. The random
// bits guard against other processes only.
//
// # Ahead of the clock
//
// More than 4,096 keys in a millisecond, and a clock that is set back, make the keys run
// ahead of the clock. Beyond one second a request waits for the clock, without a lock and
// until its context ends at most. It never waits much longer than a second for a clock:
// if it was set back by a day, the source ignores it, and the keys go on from the last
// one, at the pace of the monotonic reading if [Env].Now gives one. Only their time is
// wrong then, until the wall clock is later again or the process ends; order and
// uniqueness do not suffer.
type UUIDv7 struct {
	clock keyclock.Clock
	rand  entropy
	ahead readAhead    // random numbers of crypto/rand
	free  atomic.Int64 // the first tick (1/4096 ms) that is not given out yet
}

// maxTick is the last tick that fits the 48 and 12 bits of a key.
const maxTick = keyclock.MaxMilli<<keyclock.TickBits | (keyclock.TicksPerMilli - 1)

// NewUUIDv7 returns a source of UUIDs of version 7.
func NewUUIDv7(env Env) *UUIDv7 {
	s := &UUIDv7{rand: entropy{env.Rand}}
	s.clock.Start(env.Now)
	return s
}

// Next returns r.N keys in any layout: lower-case text of 36 characters, or 16 bytes, see
// [dialect.Layout]. They ascend, but in [dialect.Swapped]. It returns [ErrCount],
// [ErrEntropy], [ErrClock] for a time before 1970 or after 10889-08-02, or the
// context's error when that ends while the keys are ahead of the clock.
func (s *UUIDv7) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	return fresh(ctx, s, r)
}

// Append is like Next, but appends the keys to room; see [Source].
func (s *UUIDv7) Append(ctx context.Context, room []driver.Value, r Request) ([]driver.Value, error) {
	switch {
	case r.N == 1 && s.rand.r == nil && !r.Layout.Bytes():
		return s.appendOneText(ctx, room, r.Layout)
	case r.N == 1:
		key, err := s.Key16(ctx, r.Layout)
		if err != nil {
			return room, err
		}
		return append(room, r.Layout.Value(key)), nil
	}
	if r.Layout.Bytes() {
		return appendBinary(ctx, s, room, r)
	}
	d, err := s.draw(ctx, r.N)
	if err != nil {
		return room, err
	}
	room = boxing.Grow(room, r.N)
	var part [boxing.Chunk][16]byte
	for left := r.N; left > 0; left -= boxing.Chunk {
		keys := part[:min(left, boxing.Chunk)]
		d.fill(keys)
		room = appendText(room, r.Layout, keys)
	}
	s.done(&d)
	return room, nil
}

// appendOneText appends one key as text. The random numbers of the key come with a
// buffer for its text, which spares most keys an allocation.
func (s *UUIDv7) appendOneText(ctx context.Context, room []driver.Value, l dialect.Layout) ([]driver.Value, error) {
	tick, now, err := s.reserve(ctx, 1)
	if err != nil {
		return room, err
	}
	w := s.ahead.get(now)
	var key [16]byte
	layUUIDv7(&key, tick, w.next())
	var characters [textSize]byte
	text := w.texts.next(l.AppendText(characters[:0], key))
	s.ahead.put(w)
	return append(room, text), nil
}

// Key16 returns one key as 16 bytes in RFC order, whatever the layout; see [Source16].
// It returns the errors of Next.
func (s *UUIDv7) Key16(ctx context.Context, _ dialect.Layout) ([16]byte, error) {
	if s.rand.r == nil { // make the same key as the code below, but faster
		tick, now, err := s.reserve(ctx, 1)
		if err != nil {
			return [16]byte{}, err
		}
		w := s.ahead.get(now)
		var key [16]byte
		layUUIDv7(&key, tick, w.next())
		s.ahead.put(w)
		return key, nil
	}
	d, err := s.draw(ctx, 1)
	if err != nil {
		return [16]byte{}, err
	}
	var one [1][16]byte
	d.fill(one[:])
	return one[0], nil
}

// Append16 appends r.N keys of 16 bytes in RFC order to room, whatever the layout; see
// [Source16].
func (s *UUIDv7) Append16(ctx context.Context, room [][16]byte, r Request) ([][16]byte, error) {
	d, err := s.draw(ctx, r.N)
	if err != nil {
		return room, err
	}
	room = boxing.Grow(room, r.N)
	all := len(room) + r.N
	d.fill(room[len(room):all])
	s.done(&d)
	return room[:all], nil
}

// drawn7 holds the ticks and random bits that the keys of one request are made
// from.
type drawn7 struct {
	tick  int64  // the tick of the next key
	words *words // random numbers for the keys; nil if tails holds them
	tails []byte // random bytes of a reader that the caller gave
}

// draw takes the ticks and random bits for n keys. The caller makes all n keys and
// calls done.
//
// A reader that the caller gave can fail, so it is read before ticks are taken, and by
// one call. crypto/rand cannot fail, and is read ahead.
func (s *UUIDv7) draw(ctx context.Context, n int) (drawn7, error) {
	if n < 1 {
		return drawn7{}, ErrCount
	}
	var d drawn7
	if s.rand.r != nil {
		d.tails = make([]byte, n*wordSize)
		if err := s.rand.fill(d.tails); err != nil {
			return drawn7{}, err
		}
	}
	tick, now, err := s.reserve(ctx, n)
	if err != nil {
		return drawn7{}, err
	}
	d.tick = tick
	if s.rand.r == nil {
		d.words = s.ahead.get(now)
	}
	return d, nil
}

func (s *UUIDv7) done(d *drawn7) {
	if d.words != nil {
		s.ahead.put(d.words)
	}
}

// fill makes len(room) keys in room.
func (d *drawn7) fill(room [][16]byte) {
	if d.words == nil {
		for i := range room {
			layUUIDv7(&room[i], d.tick, binary.BigEndian.Uint64(d.tails))
			d.tick++
			d.tails = d.tails[wordSize:]
		}
		return
	}
	for len(room) > 0 {
		some := d.words.some(len(room))
		for i, random := range some {
			layUUIDv7(&room[i], d.tick+int64(i), random)
		}
		clear(some)
		d.tick += int64(len(some))
		room = room[len(some):]
	}
}

// Traits returns that keys are ordered.
func (s *UUIDv7) Traits() Traits { return Traits{Ordered: true} }

// reserve takes n consecutive ticks. It returns the first, and the reading of the
// clock.
func (s *UUIDv7) reserve(ctx context.Context, n int) (first, now int64, err error) {
	now = s.clock.Read()
	for {
		free := s.free.Load()
		first = max(now, free)
		switch {
		case now < 0:
			return 0, 0, clockError(now >> keyclock.TickBits)
		case first > maxTick+1-int64(n):
			return 0, 0, clockError(first >> keyclock.TickBits)
		case first-now > keyclock.BorrowCap:
			if err := s.clock.Wait(ctx, now, first-keyclock.BorrowCap); err != nil {
				return 0, 0, err
			}
			now = s.clock.Read()
		case s.free.CompareAndSwap(free, first+int64(n)):
			return first, now, nil
		}
	}
}

// layUUIDv7 writes one key: the time in ticks, and 62 random bits of which the variant
// overwrites the two highest. It writes to the key's final memory: to move a key takes
// longer than to make it, since its halves are written one by one.
func layUUIDv7(key *[16]byte, tick int64, random uint64) {
	const version, variant = 7 << 12, 0b10 << 62
	hi := uint64(tick)>>keyclock.TickBits<<16 | version | uint64(tick)&(keyclock.TicksPerMilli-1)
	binary.BigEndian.PutUint64(key[:8], hi)
	binary.BigEndian.PutUint64(key[8:], random&^(0b11<<62)|variant)
}
