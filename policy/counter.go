package policy

import (
	"cmp"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// counterFields are the fields of the kinds that count through a row of a store.
var counterFields = []*sourceField{
	nameField, storeField, blockField, minBlockField, maxBlockField, startField, ensureSchemaField, createField,
	exclusiveField, onStoreRollbackField, lockField, tableField,
}

// checkCounter checks the fields of the source at p that concern the row in which it
// counts.
func checkCounter(m *mistakes, p place, s Source) {
	checkState(m, p, s)
	checkStored(m, p, s)
	checkBlocks(m, p, s)
	checkRollback(m, p, s)
	if s.Lock == LockRange || s.Lock == LockNone {
		m.wrong(p.in("lock"), "%s is for maxplusone; say pessimistic or optimistic", s.Lock)
	} else {
		checkWord(m, p, "lock", s.Lock, counterLocks)
	}
}

// completeCounter sets the fields that a counting source leaves out to their defaults.
func completeCounter(s *Source, _ *dialect.Dialect) {
	s.OnStoreRollback = cmp.Or(s.OnStoreRollback, keysource.RemedyError)
	s.Lock = cmp.Or(s.Lock, LockPessimistic)
}
