// Package mapping makes the keys of a statement from the numbers of a counter, by a
// mapping, which turns each number into another key.
package mapping

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Keys returns the keys of the n numbers from first on, in order. It returns
// [keysource.ErrCount] if n is less than 1; [keysource.ErrStoreState] for numbers below 1,
// which only a counter with a wrong value gives; and [keysource.ErrExhausted] if one of the
// numbers is greater than the last that has a key. It then returns no keys.
func Keys(m keysource.Mapping, first int64, n int, l dialect.Layout) ([]driver.Value, error) {
	switch last := m.Last(); {
	case n < 1:
		return nil, keysource.ErrCount
	case first < 1:
		return nil, anchor.Endf("%w: it counts from below 1; set it to the next number, at least 1", keysource.ErrStoreState)
	case int64(n) > last || first > last-int64(n)+1:
		return nil, anchor.Endf("%w: there are %d keys with these parameters", keysource.ErrExhausted, last)
	}
	keys := make([]driver.Value, 0, n)
	for i := range int64(n) {
		keys = append(keys, m.Key(first+i, l))
	}
	return keys, nil
}

// WarnShare is the share of used numbers from which on a warning says that the mapping will
// come to its end; see [Share].
const WarnShare = 0.8

// Share returns the share of a mapping's numbers that are used, from 0 to 1. next is the
// first number that is not used.
func Share(m keysource.Mapping, next int64) float64 {
	return min(max(float64(next-1)/float64(m.Last()), 0), 1)
}
