package keysource

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// chunk is how many keys a source makes at a time where they need room of their
// own on the way.
const chunk = 64

// fresh returns the keys that s appends to no room: what Next returns.
func fresh(ctx context.Context, s Source, r Request) ([]driver.Value, error) {
	keys, err := s.Append(ctx, nil, r)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// grow returns room with place for n more keys.
func grow[K any](room []K, n int) []K {
	if room == nil {
		return make([]K, 0, n)
	}
	return slices.Grow(room, n)
}

// appendValues appends at most chunk keys, whose bytes sort in the order of
// generation, as a driver takes them. They share the memory of their bytes or
// characters, which lives as long as one of them: that saves almost half of the
// allocations.
func appendValues(room []driver.Value, l dialect.Layout, keys [][16]byte) []driver.Value {
	if len(keys) == 1 {
		return append(room, l.Value(keys[0]))
	}
	if l == dialect.SequentialAsBinary {
		return appendBinary(room, keys)
	}
	return appendText(room, l, keys)
}

func appendBinary(room []driver.Value, keys [][16]byte) []driver.Value {
	const size = 16
	shared := make([]byte, 0, len(keys)*size)
	for i, key := range keys {
		shared = append(shared, key[:]...)
		// Without the capacity, an append to one key would overwrite the next.
		room = append(room, shared[i*size:(i+1)*size:(i+1)*size])
	}
	return room
}

func appendText(room []driver.Value, l dialect.Layout, keys [][16]byte) []driver.Value {
	const size = 36
	var characters [chunk * size]byte
	b := characters[:0]
	for _, key := range keys {
		b = l.AppendText(b, key)
	}
	shared := string(b)
	for i := range keys {
		room = append(room, shared[i*size:(i+1)*size])
	}
	return room
}

// AppendIntegers appends n consecutive keys as a driver takes them: int64, or
// decimal text in [dialect.SequentialAsString].
func AppendIntegers(room []driver.Value, first int64, n int, l dialect.Layout) []driver.Value {
	if n == 1 && l == "" && room != nil {
		return append(room, first)
	}
	room = grow(room, n)
	for i := range int64(n) {
		room = append(room, integerKey(first+i, l))
	}
	return room
}

// Integers is [AppendIntegers] to no room.
func Integers(first int64, n int, l dialect.Layout) []driver.Value {
	return AppendIntegers(nil, first, n, l)
}
