// Package mapping makes the keys of a statement with a mapping of the numbers of a counter.
package mapping

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Keys returns the keys of n numbers from first on, in their order. It returns
// [keysource.ErrCount]; [keysource.ErrStoreState] for numbers below 1, which no store has
// given that was set up for keys; and [keysource.ErrExhausted] for those beyond the last:
// of a store that stands there no key is handed out, rather than an old one again.
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

// WarnShare is the part of a mapping's numbers after whose use it is time to
// think about its end; see [Share].
const WarnShare = 0.8

// Share returns which part of the numbers of a mapping is used, from 0 to 1,
// when next is the first that is not.
func Share(m keysource.Mapping, next int64) float64 {
	return min(max(float64(next-1)/float64(m.Last()), 0), 1)
}
