package keysource

import (
	"context"
	"encoding/binary"
	"encoding/hex"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keyclock"
)

// RowSource is a [Source] that can let the engine number its keys for the rows of a
// query.
type RowSource interface {
	Source

	// RowPrefix returns the prefix that all keys of one statement share, and the number
	// from which the engine counts on: the key of a row is the prefix followed by a
	// greater number of 48 bits, highest byte first. No other key of the source, made
	// before or after, has this prefix. The number is random and below 2⁴⁷, so that as
	// many rows fit.
	//
	//	            prefix                               number
	//	string      24 characters of a UUID, or 14       12 hexadecimal digits, of
	//	            of a ULID, or all but 12 of a        a ULID in upper case
	//	            TypeID
	//	binary      bytes 0 to 9, 20 hexadecimal digits  6 bytes
	//	swapped     bytes 6, 7, 4, 5, 0 to 3, 8 and 9    6 bytes
	//	sequential  bytes 8, 9, 6, 7 and 0 to 5, as      4 bytes, the lower 32 bits, and
	//	_at_end     the server stores them, likewise     the upper 16, before it
	//
	// RowPrefix returns the errors of Next.
	RowPrefix(ctx context.Context, l dialect.Layout) (prefix string, before int64, err error)
}

var (
	_ RowSource = (*UUIDv7)(nil)
	_ RowSource = (*ULID)(nil)
	_ RowSource = (*TypeID)(nil)
	_ RowSource = (*COMB)(nil)
)

// RowPrefix implements [RowSource]. Its prefix holds a tick (1/4096 ms) that no other
// key and no other statement has.
func (s *UUIDv7) RowPrefix(ctx context.Context, l dialect.Layout) (prefix string, before int64, err error) {
	key, err := s.Key16(ctx, l)
	if err != nil {
		return "", 0, err
	}
	prefix, before = rowPrefix(key, l)
	return prefix, before, nil
}

// RowPrefix implements [RowSource]. The statement has a millisecond that no other key
// has.
func (s *COMB) RowPrefix(_ context.Context, l dialect.Layout) (prefix string, before int64, err error) {
	if err := combIn(l); err != nil {
		return "", 0, err
	}
	var random [combTailSize]byte
	if err := s.rand.fill(random[:]); err != nil {
		return "", 0, err
	}
	milli, err := s.ownMilli()
	if err != nil {
		return "", 0, err
	}
	var key [16]byte
	tail := newCombTail(random[:], l)
	tail.lay(&key, milli)
	prefix, before = rowPrefix(key, l)
	return prefix, before, nil
}

// ownMilli returns a time that no other key has, in milliseconds since the epoch.
func (s *COMB) ownMilli() (int64, error) {
	unix := s.clock.Read() >> keyclock.TickBits
	now := unix + s.epoch.unixMilli()
	for {
		last := s.last.Load()
		own := max(now, last+1)
		if now < 0 || own >= keyclock.MaxMilli {
			return 0, clockError(unix)
		}
		if s.last.CompareAndSwap(last, own+1) {
			return own, nil
		}
	}
}

// RowPrefix implements [RowSource]. The statement has a millisecond that no other key
// has: the next key of the same millisecond could be greater by less than the number of
// rows.
func (s *ULID) RowPrefix(ctx context.Context, l dialect.Layout) (prefix string, before int64, err error) {
	if noULID(l) {
		return "", 0, anchor.Endf("%w: a ulid with %s", ErrLayout, l)
	}
	var seed [seedSize]byte
	if err := s.rand.fill(seed[:]); err != nil {
		return "", 0, err
	}
	for {
		now := s.clock.Read()
		if now < 0 {
			return "", 0, clockError(now >> keyclock.TickBits)
		}
		key, taken, err := s.takeMilli(now, seed[:])
		if err != nil {
			return "", 0, err
		}
		if taken {
			if l == dialect.SequentialAsBinary {
				prefix, before = rowPrefix(key.bytes(), l)
				return prefix, before, nil
			}
			return key.text()[:ulidLen-tailDigits], int64(key.lo & maxBefore), nil
		}
		if err := s.clock.Wait(ctx, now, key.milli<<keyclock.TickBits-keyclock.BorrowCap); err != nil {
			return "", 0, err
		}
	}
}

// takeMilli takes the next millisecond that has no key yet, and ensures that no later
// key gets it. If it is too far ahead of now, taken is false.
func (s *ULID) takeMilli(now int64, seed []byte) (key ulid, taken bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key = ulid{milli: -1}.next(max(now>>keyclock.TickBits, s.last.milli+1), seed)
	switch {
	case key.milli<<keyclock.TickBits-now > keyclock.BorrowCap:
		return key, false, nil
	case key.milli >= keyclock.MaxMilli:
		return ulid{}, false, clockError(key.milli)
	}
	s.last = ulid{key.milli, 1<<16 - 1, 1<<64 - 1} // so that the next key has the next millisecond
	return key, true, nil
}

const (
	tailDigits = 12        // hexadecimal digits of the number of a row
	maxBefore  = 1<<47 - 1 // the greatest number to count from
	prefixSize = 16 - 48/8 // bytes of a key before the number
)

// rowPrefix returns the first bytes of key as a prefix in the layout, and the number
// that its last bytes hold.
func rowPrefix(key [16]byte, l dialect.Layout) (prefix string, before int64) {
	before = int64(binary.BigEndian.Uint64(key[8:]) & maxBefore)
	switch l {
	case dialect.SequentialAsBinary:
		return hex.EncodeToString(key[:prefixSize]), before
	case dialect.Swapped:
		stored := dialect.Swap(key)
		return hex.EncodeToString(stored[:prefixSize]), before
	case dialect.SequentialAtEnd:
		stored := [prefixSize]byte{key[8], key[9], key[6], key[7]}
		copy(stored[4:], key[:6])
		return hex.EncodeToString(stored[:]), before
	}
	return dialect.Text(key)[:36-tailDigits], before
}
