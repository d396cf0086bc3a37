// Package boxing lays keys out as values of database/sql with few allocations.
package boxing

import (
	"database/sql/driver"
	"reflect"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
)

// Chunk is how many keys a source makes at a time if it needs memory for them before
// they are appended to the caller's slice.
const Chunk = 64

// Grow returns room with capacity for n more keys.
func Grow[K any](room []K, n int) []K {
	if room == nil {
		return make([]K, 0, n)
	}
	return slices.Grow(room, n)
}

// Append appends the first n values as interfaces. To convert one value takes one
// allocation. But if an interface holds an array, reflect returns its elements as
// interfaces that share the memory of the array, because the array can no longer
// change. So the values are converted as a few arrays.
func Append[K []byte | string | int64](room []driver.Value, values *[Chunk]K, n int) []driver.Value {
	for from := 0; from < n; {
		var boxed reflect.Value
		rest, left := values[from:], n-from
		switch {
		case left == Chunk:
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

// Integer returns an integer in the form that a driver takes: int64, or decimal text
// for [dialect.SequentialAsString].
func Integer(key int64, l dialect.Layout) driver.Value {
	if l == dialect.SequentialAsString {
		return strconv.FormatInt(key, 10)
	}
	return key
}

// AppendIntegers appends the integers from first to first+n-1 to room, in the form that
// a driver takes: int64, or decimal text if l is [dialect.SequentialAsString].
func AppendIntegers(room []driver.Value, first int64, n int, l dialect.Layout) []driver.Value {
	if n == 1 && l == "" && room != nil {
		return append(room, first)
	}
	room = Grow(room, n)
	if l == dialect.SequentialAsString {
		for i := range int64(n) {
			room = append(room, Integer(first+i, l))
		}
		return room
	}
	var values [Chunk]int64
	for n > 0 {
		some := min(n, Chunk)
		for i := range some {
			values[i] = first + int64(i)
		}
		room = Append(room, &values, some)
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
