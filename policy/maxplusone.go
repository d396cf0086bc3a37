package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

func (m *mistakes) checkMaxPlusOne(p place, s Source) {
	switch {
	case slices.Contains(counterLocks, s.Lock):
		m.wrong(p.in("lock"), "maxplusone has no row to lock; say range or none")
	default:
		checkWord(m, p, "lock", s.Lock, rangeLocks)
	}
	if s.Lock == LockNone && s.EnsureSchema {
		m.wrong(p.in("ensure_schema"), "it has no use without a lock; leave it out")
	}
}

// completeMaxPlusOne sets the fields that maxplusone leaves out.
func completeMaxPlusOne(s *Source, _ *dialect.Dialect) { s.Lock = cmp.Or(s.Lock, LockRange) }
