package table

import (
	"fmt"

	"github.com/keyfill/keyfill/policy"
)

// InStore reports whether the state of a source (its stored counter) is in a store that
// the policy names.
func InStore(src policy.Source) bool { return src.Store != "" && src.Store != policy.StoreNone }

// NeedsClaim reports whether the table for claims is created, if it is missing, for the
// claim of a source (the row that says which source fills a column). An exclusive
// source claims its column only if its stored counter is in a store, which may lose it.
// While that table is missing, a source in the column's own database leaves the column
// to a later source with start_at.
func NeedsClaim(src policy.Source) bool { return !src.Exclusive || InStore(src) }

// StateElsewhere returns the name that claims use for a stored counter in a store that
// the policy names.
func StateElsewhere(name, at string) string { return fmt.Sprintf("%s (store %s)", name, at) }

// OfWorkers reports whether the numbers of a source are made from the time and a worker
// number, or another number that distinguishes processes.
func OfWorkers(src policy.Source) bool {
	return src.Kind == policy.KindSnowflake || src.Kind == policy.KindComposite
}

// CountsInRows reports whether the stored counter of a source is a row that changes
// when keys are drawn.
func CountsInRows(src policy.Source) bool {
	switch src.Kind {
	case policy.KindSequence, policy.KindPseudorandom, policy.KindScatter, policy.KindCoprime, policy.KindRecycled:
		return true
	}
	return false
}

// InKeyfillsTables reports whether the state of a source is in keyfill's tables, if its store
// is a database.
func InKeyfillsTables(src policy.Source) bool {
	return (CountsInRows(src) || OfWorkers(src)) && src.Table == nil && src.Store != policy.StoreNone
}
