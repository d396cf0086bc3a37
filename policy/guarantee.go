package policy

import "github.com/keyfill/keyfill/dialect"

// Guarantee describes the keys of a source in its default layout. It holds for all keys
// that the source makes, whether their rows are stored or not. There is one exception: a
// source whose state is written in the statement's own transaction makes the keys of a
// rolled-back transaction a second time. Such sources are joined or scoped sequences,
// maxplusone, and every counting source on SQLite.
type Guarantee struct {
	Unique  Uniqueness // why no key is made twice. "by chance": random bits make it improbable; "by worker": only the worker's number keeps processes apart; "no": two rows may get the same key, or a row the key of a deleted row, and only the primary key prevents that
	Ordered Order      // whether later keys sort after earlier keys, in a column of text as text

	// Contiguous reports whether the keys of one statement are consecutive integers.
	// With a scope, it is about the keys of each value of the scope. Texts of a format are no
	// integers.
	Contiguous bool

	// GapFree reports whether the stored keys leave out no number, even after rollbacks
	// and the end of processes. Only deleted rows leave gaps.
	GapFree bool

	// Short reports whether a key has at most 8 bytes, as an integer or as text.
	Short bool

	// Unguessable reports whether a key cannot be predicted from other keys.
	Unguessable bool
}

// In returns the guarantee of keys in a layout: in [dialect.Swapped] they are not ordered.
func (g Guarantee) In(l dialect.Layout) Guarantee {
	if l == dialect.Swapped {
		g.Ordered = NotOrdered
	}
	return g
}

// Uniqueness is why a source makes no key twice.
type Uniqueness string

const (
	// NotUnique means that a key can be made twice: only the primary key of the table
	// prevents the key from being stored twice.
	NotUnique Uniqueness = "no"
	// UniqueByChance means that random bits make equal keys improbable, but not impossible.
	UniqueByChance Uniqueness = "by chance"
	// UniqueByWorker means that keys are kept apart by the worker's number alone, which no
	// two processes may share, and by a clock that does not go back between two processes.
	UniqueByWorker Uniqueness = "by worker"
	// UniqueInScope means that keys are unique together with the columns of the scope (the
	// columns for whose values rows are numbered separately).
	UniqueInScope Uniqueness = "in its scope"
	// Unique means that the state (counter) keeps keys apart, over all processes and
	// restarts. If a store loses its last commits, a key can still be made twice.
	Unique Uniqueness = "yes"
)

// Order says among which keys a later key sorts after an earlier one.
type Order string

const (
	// NotOrdered means that a later key can sort before any earlier one.
	NotOrdered Order = "no"
	// OrderedByMillisecond means that the keys of one process sort by the
	// millisecond in which they were made.
	OrderedByMillisecond Order = "by the millisecond"
	// OrderedInSeries means that the keys of one series (a range that one process owns
	// at a time) sort as they were made.
	OrderedInSeries Order = "in a series"
	// OrderedInSpread means that the keys of one spread (the first three digits of a
	// composite key) sort as they were made.
	OrderedInSpread Order = "in a spread"
	// OrderedInProcess means that the keys of one process sort as they were made.
	OrderedInProcess Order = "in a process"
	// OrderedInPeriod means that the keys of one period, such as a year, sort as they were made.
	OrderedInPeriod Order = "in a period"
	// OrderedInScope means that the keys of one value of the scope sort as they were made;
	// with periods, the keys of one value in one period.
	OrderedInScope Order = "in its scope"
	// Ordered means that all keys sort as they were made.
	Ordered Order = "yes"
)
