package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var nativeKind = kind{
	name:      KindNative,
	doc:       "integers of a sequence of the engine, which other programs may use too",
	guarantee: Guarantee{Unique: Unique, Ordered: OrderedInProcess, Contiguous: true},
	integer:   true,
	stateful:  true,
	layouts:   asText,
	fields:    []*sourceField{sequenceField, blockField, exclusiveField, onBehindField, onStoreRollbackField},
	check:     checkNative,
	suit:      namer.suitNative,
	defaults:  completeNative,
	open:      ofDatabase,
}

var sequenceField = of("sequence", "The engine's sequence, written as in SQL. Left out, it is the column's own.",
	text, func(s *Source) *string { return &s.Sequence }).as("order_seq")

// withoutSequences are the engines that have no CREATE SEQUENCE.
var withoutSequences = []string{dialect.MySQL().Name, dialect.SQLite().Name}

func checkNative(m *mistakes, p place, s Source) {
	if s.Block < 0 {
		m.wrong(p.in("block"), "%d is less than 1", s.Block)
	}
	for _, f := range []struct {
		name   string
		remedy keysource.Remedy
	}{{"on_behind", s.OnBehind}, {"on_store_rollback", s.OnStoreRollback}} {
		if f.remedy == keysource.RemedyAdvance {
			m.wrong(p.in(f.name), "keyfill does not move a sequence of the engine; say error or warn")
		} else {
			checkWord(m, p, f.name, f.remedy, remedies)
		}
	}
	if s.OnStoreRollback == keysource.RemedyWarn && s.Block > 1 {
		m.wrong(p.in("on_store_rollback"), "with block: %d other processes may still have numbers that the sequence gives again; say error", s.Block)
	}
}

// suitNative checks the native source at p for a dialect.
func (n namer) suitNative(m *mistakes, p place, s Source) {
	switch {
	case n.d.Name == dialect.MySQL().Name:
		m.wrongField(p.in("kind"), "MySQL has no sequences, which native needs; write kind: sequence, or dialect: mariadb where the server is MariaDB")
	case slices.Contains(withoutSequences, n.d.Name):
		m.wrongField(p.in("kind"), n.d.Title+" has no sequences, which native needs; write kind: sequence")
	case s.Sequence != "":
		n.suitName(m, p.in("sequence"), s.Sequence)
	}
}

// completeNative sets the fields that a native source leaves out. Engines increment by one
// by default. With Block 1 the source gives exactly the numbers that the engine's sequence
// returns, so a sequence that is too low is only logged. With larger blocks other processes
// may have the same numbers, so it is an error.
func completeNative(s *Source, _ *dialect.Dialect) {
	s.Block = cmp.Or(s.Block, 1)
	remedy := keysource.RemedyError
	if s.Block == 1 {
		remedy = keysource.RemedyWarn
	}
	s.OnBehind, s.OnStoreRollback = cmp.Or(s.OnBehind, remedy), cmp.Or(s.OnStoreRollback, remedy)
}
