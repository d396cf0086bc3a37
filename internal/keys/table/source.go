package table

import (
	"fmt"

	"github.com/keyfill/keyfill/policy"
)

// InStore reports whether a store of the policy keeps the state of a source.
func InStore(src policy.Source) bool { return src.Store != "" && src.Store != policy.StoreNone }

// NeedsClaim reports whether the table of claims is made for the claim of a source. An
// exclusive source claims its column only if its state is in a store, which may lose it. A
// source in the column's own database leaves the column to a later one with start_at while
// there is no table.
func NeedsClaim(src policy.Source) bool { return !src.Exclusive || InStore(src) }

// StateElsewhere returns how claims name a state that a store of the policy keeps.
func StateElsewhere(name, at string) string { return fmt.Sprintf("%s (store %s)", name, at) }

// OfWorkers reports whether the numbers of a source are made of the time and the number
// of a worker, or of another spread.
func OfWorkers(src policy.Source) bool {
	return src.Kind == policy.KindSnowflake || src.Kind == policy.KindComposite
}

// CountsInRows reports whether the state of a source is a row that is changed by
// the keys that are drawn.
func CountsInRows(src policy.Source) bool {
	switch src.Kind {
	case policy.KindSequence, policy.KindPseudorandom, policy.KindScatter, policy.KindCoprime, policy.KindRecycled:
		return true
	}
	return false
}
