package keysource

import (
	"context"
	"database/sql/driver"
	"reflect"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// chunk is how many keys a source makes at a time if it needs memory for them before
// they are appended to the caller's slice.
const chunk = 64

// fresh returns the keys of a request in a new slice. It implements Next by Append,
// which appends to the caller's slice.
func fresh(ctx context.Context, s Source, r Request) ([]driver.Value, error) {
	keys, err := s.Append(ctx, nil, r)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// grow returns room with capacity for n more keys.
func grow[K any](room []K, n int) []K {
	if room == nil {
		return make([]K, 0, n)
	}
	return slices.Grow(room, n)
}

// appendBinary appends the keys of a request as byte slices. They share one array,
// which stays allocated while any of them is in use: one allocation serves all keys.
func appendBinary(ctx context.Context, s Source16, room []driver.Value, r Request) ([]driver.Value, error) {
	keys, err := s.Append16(ctx, nil, r)
	if err != nil {
		return room, err
	}
	room = grow(room, r.N)
	var values [chunk][]byte
	for len(keys) > 0 {
		n := min(len(keys), chunk)
		for i := range n {
			values[i] = keys[i][:] // its capacity is 16, so that appending to it cannot overwrite the next key
		}
		room = appendBoxed(room, &values, n)
		keys = keys[n:]
	}
	return room, nil
}

// appendText appends at most chunk keys as text. The texts are parts of one string, so
// that one allocation serves all.
func appendText(room []driver.Value, l dialect.Layout, keys [][16]byte) []driver.Value {
	const size = 36
	var characters [chunk * size]byte
	b := characters[:0]
	for _, key := range keys {
		b = l.AppendText(b, key)
	}
	shared := string(b)
	var values [chunk]string
	for i := range keys {
		values[i] = shared[i*size : (i+1)*size]
	}
	return appendBoxed(room, &values, len(keys))
}

// appendBoxed appends the first n values as interfaces. To convert one value takes one
// allocation. But if an interface holds an array, reflect returns its elements as
// interfaces that share the memory of the array, because the array can no longer
// change. So the values are converted as a few arrays.
func appendBoxed[K []byte | string | int64](room []driver.Value, values *[chunk]K, n int) []driver.Value {
	for from := 0; from < n; {
		var boxed reflect.Value
		rest, left := values[from:], n-from
		switch {
		case left == chunk:
			boxed = reflect.ValueOf(*values)
		case left >= 32:
			boxed = reflect.ValueOf([32]K(rest))
		case left >= 16:
			boxed = reflect.ValueOf([16]K(rest))
		case left >= 8:
			boxed = reflect.ValueOf([8]K(rest))
		case left >= 4:
			boxed = reflect.ValueOf([4]K(rest))
		case left >= 2:
			boxed = reflect.ValueOf([2]K(rest))
		default:
			return append(room, values[from])
		}
		for i := range boxed.Len() {
			room = append(room, boxed.Index(i).Interface())
		}
		from += boxed.Len()
	}
	return room
}

// AppendIntegers appends the integers from first to first+n-1 to room, in the form that
// a driver takes: int64, or decimal text if l is [dialect.SequentialAsString].
func AppendIntegers(room []driver.Value, first int64, n int, l dialect.Layout) []driver.Value {
	if n == 1 && l == "" && room != nil {
		return append(room, first)
	}
	room = grow(room, n)
	if l == dialect.SequentialAsString {
		for i := range int64(n) {
			room = append(room, integerKey(first+i, l))
		}
		return room
	}
	var values [chunk]int64
	for n > 0 {
		some := min(n, chunk)
		for i := range some {
			values[i] = first + int64(i)
		}
		room = appendBoxed(room, &values, some)
		first += int64(some)
		n -= some
	}
	return room
}

// Integers returns the integers from first to first+n-1 in a new slice; see
// [AppendIntegers].
func Integers(first int64, n int, l dialect.Layout) []driver.Value {
	return AppendIntegers(nil, first, n, l)
}
