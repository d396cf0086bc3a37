package keysource

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"sync/atomic"
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
// (RFC 9562, section 5.7, with rand_a by section 6.2, method 3.) Milliseconds
// and fraction are one number, and no two keys of a source share it: a key
// takes the clock's or, where that has been given out, the one after the last.
// The random bits guard against other processes only.
//
// # Ahead of the clock
//
// More than 4,096 keys in a millisecond, and a clock that is set back, make
// the keys run ahead of the clock. Beyond one second a request waits for the
// clock, without a lock and until its context ends at most. It never waits
// much longer than a second for a clock: one that was set back by a day is
// left behind, and the keys go on from the last one, at the pace of the
// monotonic reading if [Env].Now gives one. Only their time is wrong then,
// until the wall clock is later again or the process ends; order and
// uniqueness do not suffer.
type UUIDv7 struct {
	clock clock
	rand  entropy
	free  atomic.Int64 // the first tick not given out yet
}

// maxTick is the last tick that 48 and 12 bits can hold.
const maxTick = maxMilli<<tickBits | (ticksPerMilli - 1)

// tailSize is the number of bytes of the random half of a key.
const tailSize = 8

// NewUUIDv7 returns a source of UUIDs of version 7.
func NewUUIDv7(env Env) *UUIDv7 {
	return &UUIDv7{clock: newClock(env.Now), rand: entropy{env.Rand}}
}

// Next returns r.N keys in ascending order, in any layout: lower-case text of
// 36 characters, or 16 bytes, see [dialect.Layout]. It returns [ErrCount],
// [ErrEntropy], [ErrClock] for a time before 1970 or after 10889-08-02, or the
// context's error when that ends while the keys are ahead of the clock.
func (s *UUIDv7) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	if r.N < 1 {
		return nil, ErrCount
	}
	var few [16 * tailSize]byte // spares a single row the heap
	tails := few[:]
	if r.N*tailSize > len(few) {
		tails = make([]byte, r.N*tailSize)
	}
	tails = tails[:r.N*tailSize]
	if err := s.rand.fill(tails); err != nil {
		return nil, err
	}
	tick, err := s.reserve(ctx, r.N)
	if err != nil {
		return nil, err
	}
	keys := make([]driver.Value, r.N)
	for i := range keys {
		random := binary.BigEndian.Uint64(tails[i*tailSize:])
		keys[i] = r.Layout.Value(uuidv7(tick+int64(i), random))
	}
	return keys, nil
}

// Traits says that keys are ordered.
func (s *UUIDv7) Traits() Traits { return Traits{Ordered: true} }

// reserve takes n consecutive ticks and returns the first.
func (s *UUIDv7) reserve(ctx context.Context, n int) (int64, error) {
	now := s.clock.read()
	for {
		free := s.free.Load()
		first := max(now, free)
		switch {
		case now < 0:
			return 0, clockError(now >> tickBits)
		case first > maxTick+1-int64(n):
			return 0, clockError(first >> tickBits)
		case first-now > borrowCap:
			if err := s.clock.wait(ctx, now, first-borrowCap); err != nil {
				return 0, err
			}
			now = s.clock.read()
		case s.free.CompareAndSwap(free, first+int64(n)):
			return first, nil
		}
	}
}

// uuidv7 lays out one key: the time in ticks, and 62 random bits of which the
// variant overwrites the two highest.
func uuidv7(tick int64, random uint64) (key [16]byte) {
	const version, variant = 7 << 12, 0b10 << 62
	hi := uint64(tick)>>tickBits<<16 | version | uint64(tick)&(ticksPerMilli-1)
	binary.BigEndian.PutUint64(key[:8], hi)
	binary.BigEndian.PutUint64(key[8:], random&^(0b11<<62)|variant)
	return key
}
