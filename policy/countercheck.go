package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// checkCounter checks the fields of the source at p about the row that it counts
// through.
func (m *mistakes) checkCounter(p place, s Source) {
	m.checkState(p, s)
	m.checkStored(p, s)
	m.checkBlocks(p, s)
	m.checkRollback(p, s)
	switch {
	case s.Lock == LockRange || s.Lock == LockNone:
		m.wrong(p.in("lock"), "%s is for maxplusone; say pessimistic or optimistic", s.Lock)
	default:
		checkWord(m, p, "lock", s.Lock, counterLocks)
	}
	if s.Table != nil {
		m.checkKeyTable(p, s)
	}
}

// checkRollback checks what the source at p does when its state has gone back.
func (m *mistakes) checkRollback(p place, s Source) {
	if s.OnStoreRollback == keysource.RemedyWarn {
		m.wrong(p.in("on_store_rollback"), "a %s that went on from there would give keys twice; say error or advance", s.Kind)
		return
	}
	checkWord(m, p, "on_store_rollback", s.OnStoreRollback, remedies)
}

// checkStored refuses a source at p without a store.
func (m *mistakes) checkStored(p place, s Source) {
	if s.Store == StoreNone {
		m.wrong(p.in("store"), "a %s needs one; none is for snowflake and composite", s.Kind)
	}
}

// checkBlocks checks how many integers the source at p reserves. These are the
// rules of keysource.NewSequence, which knows no places.
func (m *mistakes) checkBlocks(p place, s Source) {
	for _, f := range []struct {
		name  string
		value int64
	}{{"block", s.Block}, {"min_block", s.MinBlock}, {"max_block", s.MaxBlock}} {
		if f.value < 0 {
			m.wrong(p.in(f.name), "%d is less than 1", f.value)
		}
	}
	switch {
	case s.Block != 0 && s.MinBlock != 0:
		m.wrong(p.in("min_block"), "block already says how many keys are reserved at a time; leave one of the two out")
	case s.Block != 0 && s.MaxBlock != 0:
		m.wrong(p.in("max_block"), "block already says how many keys are reserved at a time; leave one of the two out")
	case s.MaxBlock > 0 && s.MinBlock > s.MaxBlock:
		m.wrong(p.in("max_block"), "%d is less than min_block, %d", s.MaxBlock, s.MinBlock)
	}
}

// checkStart checks the first number of the source at p, where the policy gives
// one.
func (m *mistakes) checkStart(p place, s Source) {
	if at := p.in("start"); s.Start < 0 || s.Start == 0 && m.has(at) {
		m.wrong(at, "%d is less than 1", s.Start)
	}
}

// suitCounter checks the names of the counter at p in a dialect.
func (n namer) suitCounter(m *mistakes, p place, s Source) {
	if s.Table != nil {
		n.suitKeyTable(m, p.in("table"), *s.Table)
	}
}

// completeCounter sets the fields that a counter leaves out.
func completeCounter(s *Source, _ *dialect.Dialect) {
	s.OnStoreRollback = cmp.Or(s.OnStoreRollback, keysource.RemedyError)
	s.Lock = cmp.Or(s.Lock, LockPessimistic)
}

func (m *mistakes) checkScatter(p place, s Source) {
	m.checkCounter(p, s)
	m.checkStart(p, s)
}

// lastSeed is the last one of a pseudorandom. The modulus after it, and 0, are
// mapped to 0.
var lastSeed = keysource.NewPseudorandom().Last()

func (m *mistakes) checkPseudorandom(p place, s Source) {
	m.checkCounter(p, s)
	switch at := p.in("start"); {
	case s.Start == 0 && m.has(at), s.Start == lastSeed+1:
		m.wrong(at, "from the seed %d all keys would be 0; a seed is from 1 to %d", s.Start, lastSeed)
	case s.Start < 0 || s.Start > lastSeed:
		m.wrong(at, "%d is not a seed, which is from 1 to %d", s.Start, lastSeed)
	}
}

var (
	counterLocks = []string{LockPessimistic, LockOptimistic}
	rangeLocks   = []string{LockRange, LockNone}
	lockWords    = slices.Concat(counterLocks, rangeLocks)
)
