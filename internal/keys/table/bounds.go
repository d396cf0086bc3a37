package table

import (
	"cmp"
	"math"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// Bounds returns the bounds of the integers that the column's source gives.
func (k *Column) Bounds() sequence.Bounds {
	src := k.Rule.Source
	return sequence.Bounds{Max: k.Limit(), Below: src.Below, StartAt: src.StartAt, Skip: k.Skipped()}
}

// isBesideCounter reports whether the engine's own counter of a column gives integers above
// the source's.
func isBesideCounter(src policy.Source) bool { return src.Below > 0 }

// Limit returns the greatest integer key of the column.
func (k *Column) Limit() int64 {
	limit := min(int64(math.MaxInt64)>>(63-cmp.Or(k.Rule.MaxBits, 63)), GreatestNumber)
	if below := k.Rule.Source.Below; below > 0 {
		limit = min(limit, below-1)
	}
	return limit
}

// Gives reports whether an explicit key of an INSERT could also come from the column's
// source.
func (k *Column) Gives(key int64) bool {
	return key >= 1 && key < k.Limit() && !k.Skipped().Has(key)
}

// Skipped returns the range of integers that the column's source does not give.
func (k *Column) Skipped() store.Range {
	skip := k.Rule.Source.SkipRange
	return store.Range{First: skip.First, Last: skip.Last}
}

// GreatestNumber is the greatest number that a store gives: the store keeps the next
// number, which has to fit an int64 too.
const GreatestNumber = math.MaxInt64 - 1
