package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var (
	transactionWords = []string{TransactionAutonomous, TransactionJoined}
	viaWords         = []string{ViaTable, ViaProcedure}
)

// withoutProcedures are the engines that have no stored procedures:
// https://www.sqlite.org/whentouse.html.
var withoutProcedures = []string{dialect.SQLite().Name}

// joined reports whether the numbers of a sequence are reserved in the
// transaction of the statement that takes them.
func (s Source) joined() bool { return s.Transaction == TransactionJoined || s.Scope != nil }

func (m *mistakes) checkSequence(p place, s Source) {
	checkWord(m, p, "on_behind", s.OnBehind, remedies)
	m.checkCounter(p, s)
	m.checkStart(p, s)
	m.checkBelow(p, s)
	m.checkStartAt(p, s)
	m.checkSkipRange(p, s)
	m.checkUpstream(p, s)
	checkWord(m, p, "transaction", s.Transaction, transactionWords)
	checkWord(m, p, "via", s.Via, viaWords)
	m.checkProcedure(p, s)
	if s.Scope != nil {
		m.checkScope(p, s)
	}
	if s.joined() {
		m.checkJoined(p, s)
	}
}

// checkProcedure refuses the fields without a use beside the procedure of the sequence at
// p, or without one.
func (m *mistakes) checkProcedure(p place, s Source) {
	if s.Via != ViaProcedure {
		if s.Procedure != "" {
			m.wrong(p.in("procedure"), "it is called with via: procedure; say that too")
		}
		return
	}
	if s.Table != nil {
		m.wrong(p.in("table"), "the procedure knows where its numbers are; leave it out, or say via: table")
	}
	if s.Lock == LockOptimistic {
		m.wrong(p.in("lock"), "the procedure locks as it is written; leave it out, or say via: table")
	}
}

// checkJoined refuses the fields without a use for the sequence at p, whose numbers are
// reserved one statement at a time in the application's own database.
func (m *mistakes) checkJoined(p place, s Source) {
	what := "joined"
	if s.Scope != nil {
		what = "scoped"
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"block", s.Block != 0}, {"min_block", s.MinBlock != 0}, {"max_block", s.MaxBlock != 0}} {
		if f.given {
			m.wrong(p.in(f.name), "a %s sequence reserves what each statement needs; leave it out", what)
		}
	}
	if s.Store != "" && s.Store != StoreNone {
		m.wrong(p.in("store"), "a %s sequence is kept in the application's own database, with the rows that it numbers; leave it out", what)
	}
	if s.Lock == LockOptimistic {
		m.wrong(p.in("lock"), "a %s sequence holds the lock of its row until the transaction ends; leave it out", what)
	}
	if s.Via == ViaProcedure {
		m.wrong(p.in("via"), "a procedure commits its numbers apart from the rows, which a %s sequence does not allow; leave it out", what)
	}
}

// suitSequence checks the sequence at p for a dialect.
func (n namer) suitSequence(m *mistakes, p place, s Source) {
	n.suitCounter(m, p, s)
	if s.Scope != nil {
		n.suitScope(m, p.in("scope"), *s.Scope)
	}
	n.suitBelow(m, p, s)
	if s.Via != ViaProcedure {
		return
	}
	if s.Store == "" && slices.Contains(withoutProcedures, n.d.Name) {
		m.wrong(p.in("via"), "%s has no stored procedures; leave it out", n.d.Title)
	}
	// The name of a procedure in a store is written as the store's engine writes names,
	// and that engine is not known here.
	if s.Procedure != "" && s.Store == "" {
		n.suitName(m, p.in("procedure"), s.Procedure)
	}
}

// suitName checks a name of one or more parts, which stands at p.
func (n namer) suitName(m *mistakes, p place, name string) {
	parts, msg := n.parse(name)
	if msg == "" && slices.ContainsFunc(parts, func(part pattern) bool { return part.wild }) {
		msg = "* and ? stand for other characters in tables' names only; write " + n.hint(name)
	}
	if msg != "" {
		m.wrong(p, "%s", msg)
	}
}

// suitColumn is suitName for a column. It returns the folded name.
func (n namer) suitColumn(m *mistakes, p place, name string) string {
	folded, msg := n.single(name)
	if msg != "" {
		m.wrong(p, "%s", msg)
	}
	return folded
}

// completeSequence sets the fields that a sequence leaves out.
func completeSequence(s *Source, d *dialect.Dialect) {
	completeCounter(s, d)
	switch {
	case s.FollowExplicit:
		// Its process may end between an INSERT that brings a key and the raise.
		s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyAdvance)
	case s.joined() || s.Table != nil || (d == nil || !d.LastRowID) && !s.Exclusive && s.Below == 0:
		// Elsewhere the column says: the engine may number it too.
		s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	}
	completeUpstream(s)
	s.Via = cmp.Or(s.Via, ViaTable)
	if s.joined() {
		s.Transaction = TransactionJoined
	}
	s.Transaction = cmp.Or(s.Transaction, TransactionAutonomous)
	if s.Scope != nil {
		for i := range *s.Scope { // a copy: see kind.complete
			c := &(*s.Scope)[i]
			c.Type = cmp.Or(c.Type, ScopeInteger)
		}
	}
}
