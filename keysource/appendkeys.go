package keysource

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
)

// fresh returns the keys of a request in a new slice. It implements Next by Append,
// which appends to the caller's slice.
func fresh(ctx context.Context, s Source, r Request) ([]driver.Value, error) {
	keys, err := s.Append(ctx, nil, r)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// appendBinary appends the keys of a request as byte slices. They share one array,
// which stays allocated while any of them is in use: one allocation serves all keys.
func appendBinary(ctx context.Context, s Source16, room []driver.Value, r Request) ([]driver.Value, error) {
	keys, err := s.Append16(ctx, nil, r)
	if err != nil {
		return room, err
	}
	room = boxing.Grow(room, r.N)
	var values [boxing.Chunk][]byte
	if r.Layout == dialect.Swapped {
		for i, key := range keys {
			keys[i] = dialect.Swap(key)
		}
	}
	for len(keys) > 0 {
		n := min(len(keys), boxing.Chunk)
		for i := range n {
			values[i] = keys[i][:] // its capacity is 16, so that appending to it cannot overwrite the next key
		}
		room = boxing.Append(room, &values, n)
		keys = keys[n:]
	}
	return room, nil
}

// textSize is how many characters the text of a UUID has.
const textSize = 36

// appendText appends at most chunk keys as text. The texts are parts of one string, so
// that one allocation serves all.
func appendText(room []driver.Value, l dialect.Layout, keys [][16]byte) []driver.Value {
	const size = textSize
	var characters [boxing.Chunk * size]byte
	b := characters[:0]
	for _, key := range keys {
		b = l.AppendText(b, key)
	}
	shared := string(b)
	var values [boxing.Chunk]string
	for i := range keys {
		values[i] = shared[i*size : (i+1)*size]
	}
	return boxing.Append(room, &values, len(keys))
}
