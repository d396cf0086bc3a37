package keysource

import (
	"database/sql/driver"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
)

// Integers returns n consecutive keys as a driver takes them: int64, or decimal
// text in [dialect.SequentialAsString].
func Integers(first int64, n int, l dialect.Layout) []driver.Value {
	keys := make([]driver.Value, n)
	for i := range keys {
		if key := first + int64(i); l == dialect.SequentialAsString {
			keys[i] = strconv.FormatInt(key, 10)
		} else {
			keys[i] = key
		}
	}
	return keys
}
