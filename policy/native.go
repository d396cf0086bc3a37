package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// withoutSequences are the engines that have no CREATE SEQUENCE.
var withoutSequences = []string{dialect.MySQL().Name, dialect.SQLite().Name}

func (m *mistakes) checkNative(p place, s Source) {
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

// completeNative sets the fields that a native source leaves out: engines increment by one
// where nothing else is said. With that, the source gives what the engine itself would,
// wherever the sequence stands; with larger blocks others may have the same numbers.
func completeNative(s *Source, _ *dialect.Dialect) {
	s.Block = cmp.Or(s.Block, 1)
	remedy := keysource.RemedyError
	if s.Block == 1 {
		remedy = keysource.RemedyWarn
	}
	s.OnBehind, s.OnStoreRollback = cmp.Or(s.OnBehind, remedy), cmp.Or(s.OnStoreRollback, remedy)
}

// ofColumn names the part of the column that a source counts through, which no two
// columns can share; "" when the source counts through something of its own.
func (s Source) ofColumn() string {
	switch {
	case s.Kind == KindMaxPlusOne:
		return "the keys of the column"
	case s.Kind == KindNative && s.Sequence == "":
		return "the column's own sequence"
	case s.StartAt != 0:
		return "the row of one column (start_at)"
	case s.Scope != nil:
		return "the rows of one table's parents"
	}
	return ""
}

// checkOwn refuses a source of a column that a key shares with others: keys would
// not be unique over all these columns, as the keys of other sources are.
func (k *compiler) checkOwn(u keyUse) {
	if what := u.key().Source.ofColumn(); what != "" {
		k.wrong(u.at.in("source"), "it counts through %s, and cannot be shared: write it in place for each", what)
	}
}
