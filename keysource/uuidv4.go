package keysource

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
)

// UUIDv4 makes random UUIDs of version 4: 122 random bits around a version and
// a variant (RFC 9562, section 5.4).
//
//	xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx    y: 8, 9, a or b
//
// They have no order: each row lands on another page of the index.
//
// A request reads the random bytes of its own keys only: none are read ahead.
type UUIDv4 struct {
	rand entropy
}

// NewUUIDv4 returns a source of UUIDs of version 4. It needs no clock.
func NewUUIDv4(env Env) *UUIDv4 { return &UUIDv4{entropy{env.Rand}} }

// Next returns r.N keys: lower-case text of 36 characters, or 16 bytes in RFC order.
// These keys have no order to keep, so [dialect.SequentialAtEnd] moves no bytes: the
// text is sent as it is and stays a UUID of version 4. It returns [ErrCount] or
// [ErrEntropy].
func (s *UUIDv4) Next(ctx context.Context, r Request) ([]driver.Value, error) {
	return fresh(ctx, s, r)
}

// Append is like Next, but appends the keys to room; see [Source].
func (s *UUIDv4) Append(_ context.Context, room []driver.Value, r Request) ([]driver.Value, error) {
	if r.N < 1 {
		return room, ErrCount
	}
	layout := r.Layout
	if layout == dialect.SequentialAtEnd {
		layout = dialect.SequentialAsString
	}
	if r.N == 1 {
		var one [1][16]byte
		if err := s.fill(one[:]); err != nil {
			return room, err
		}
		return append(room, layout.Value(one[0])), nil
	}
	if layout.Bytes() {
		return appendBinary(context.Background(), s, room, r)
	}
	keys := boxing.Grow(room, r.N)
	var part [boxing.Chunk][16]byte
	for left := r.N; left > 0; left -= boxing.Chunk {
		some := part[:min(left, boxing.Chunk)]
		if err := s.fill(some); err != nil {
			return room, err
		}
		keys = appendText(keys, layout, some)
	}
	return keys, nil
}

// Key16 returns one key as 16 bytes in RFC order, see [Source16]. For
// [dialect.SequentialAtEnd] it returns the bytes that the layout moves to that order.
// It returns [ErrEntropy].
func (s *UUIDv4) Key16(_ context.Context, l dialect.Layout) ([16]byte, error) {
	var one [1][16]byte
	err := s.fill(one[:])
	return sortable(one[0], l), err
}

// Append16 appends r.N keys of 16 bytes, as Key16 returns them, to room; see
// [Source16].
func (s *UUIDv4) Append16(_ context.Context, room [][16]byte, r Request) ([][16]byte, error) {
	if r.N < 1 {
		return room, ErrCount
	}
	keys := boxing.Grow(room, r.N)
	some := keys[len(keys) : len(keys)+r.N]
	if err := s.fill(some); err != nil {
		return room, err
	}
	for i, key := range some {
		some[i] = sortable(key, r.Layout)
	}
	return keys[:len(keys)+r.N], nil
}

// sortable returns the 16 bytes that a layout turns into key.
func sortable(key [16]byte, l dialect.Layout) [16]byte {
	if l == dialect.SequentialAtEnd {
		return dialect.FromAtEnd(key)
	}
	return key
}

// fill makes keys. It calls crypto/rand once for up to 16 keys, but a reader that the
// caller gave once for each key.
func (s *UUIDv4) fill(keys [][16]byte) error {
	const some = 16
	var few [some * 16]byte
	for len(keys) > 0 {
		n := min(len(keys), some)
		if s.rand.r != nil {
			n = 1
		}
		if err := s.rand.fill(few[:n*16]); err != nil {
			return err
		}
		for i := range n {
			key := [16]byte(few[i*16:])
			key[6] = key[6]&0x0f | 4<<4
			key[8] = key[8]&0x3f | 0x80
			keys[i] = key
		}
		keys = keys[n:]
	}
	return nil
}

// Traits returns that only uniqueness is promised, and no order.
func (s *UUIDv4) Traits() Traits { return Traits{} }
