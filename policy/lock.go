package policy

import "slices"

var lockField = of("lock", "How a number is taken that others may be taking. pessimistic: the row of the state is locked before it is read; optimistic: the row is changed if it is as it was read; range, for maxplusone: one statement at a time; none, for maxplusone: without a lock. Left out, it is range for maxplusone, optimistic for a coprime with table, and pessimistic elsewhere.",
	word[string](fieldWhat("lock"), lockWords), func(s *Source) *string { return &s.Lock }).as("optimistic")

var (
	counterLocks = []string{LockPessimistic, LockOptimistic}
	rangeLocks   = []string{LockRange, LockNone}
	lockWords    = slices.Concat(counterLocks, rangeLocks)
)
