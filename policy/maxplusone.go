package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

var maxPlusOneKind = kind{
	name: KindMaxPlusOne,
	doc:  "the greatest key of the table and one, which the deletion of the last row gives again",
	// Without a lock, two statements at the same time may get the same key. With or without
	// a lock, the greatest key is made again after its row was deleted.
	guarantee: Guarantee{Unique: NotUnique, Ordered: Ordered, Contiguous: true, GapFree: true},
	integer:   true,
	stateful:  true,
	fields:    []*sourceField{lockField, ensureSchemaField, exclusiveField},
	check:     checkMaxPlusOne,
	defaults:  completeMaxPlusOne,
	open:      ofDatabase,
}

func checkMaxPlusOne(m *mistakes, p place, s Source) {
	switch {
	case slices.Contains(counterLocks, s.Lock):
		m.wrong(p.in("lock"), "maxplusone has no row to lock; write lock: range or none")
	default:
		checkWord(m, p, "lock", s.Lock, rangeLocks)
	}
	if s.Lock == LockNone && s.EnsureSchema {
		m.wrong(p.in("ensure_schema"), "this field has no use without a lock; leave the field out")
	}
}

// completeMaxPlusOne sets the field that maxplusone leaves out to its default.
func completeMaxPlusOne(s *Source, _ *dialect.Dialect) { s.Lock = cmp.Or(s.Lock, LockRange) }
