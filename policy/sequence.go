package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var sequenceKind = kind{
	name:      KindSequence,
	doc:       "integers that count through a row of a store",
	guarantee: Guarantee{Unique: Unique, Ordered: OrderedInProcess, Contiguous: true},
	integer:   true,
	stateful:  true,
	layouts:   asText,
	fields: slices.Concat(counterFields, []*sourceField{
		belowField, startAtField, skipRangeField, upstreamField, upstreamBlockField, upstreamLastsField,
		followExplicitField, onBehindField, viaField, procedureField, scopeField, transactionField,
		formatField, maxLengthField, alphabetField, periodField,
	}),
	check:    checkSequence,
	defaults: completeSequence,
	open:     ofDatabase,
}

var transactionField = of("transaction", "In which transaction numbers are reserved. autonomous: in one of their own, so that a rollback leaves a gap; joined: in the statement's, without gaps, and one transaction at a time. With scope it is joined.",
	word[string](fieldWhat("transaction"), transactionWords), func(s *Source) *string { return &s.Transaction }).byDefault("autonomous").as("joined").
	ruled(fieldRules{check: checkJoined})

var followExplicitField = of("follow_explicit", "Whether the state is raised above the keys that INSERTs bring. Left out, it is so with transaction: joined, on SQLite, and where the column has AUTO_INCREMENT and the sequence says exclusive or below.",
	boolean, func(s *Source) *bool { return &s.FollowExplicit }).as(true)

var transactionWords = []string{TransactionAutonomous, TransactionJoined}

func checkSequence(m *mistakes, p place, s Source) {
	checkWord(m, p, "on_behind", s.OnBehind, remedies)
	checkCounter(m, p, s)
	checkStart(m, p, s)
	checkWord(m, p, "transaction", s.Transaction, transactionWords)
	checkWord(m, p, "via", s.Via, viaWords)
}

// checkJoined reports the fields that are of no use for the sequence at p, which
// reserves the numbers of each statement in the statement's own transaction.
func checkJoined(m *mistakes, p place, s Source) {
	if !s.joined() {
		return
	}
	what := "joined"
	if s.Scope != nil {
		what = "scoped"
	}
	for _, name := range given(s, blockField, minBlockField, maxBlockField) {
		m.wrong(p.in(name), "a %s sequence reserves just the numbers that each statement needs; leave this field out", what)
	}
	if s.Store != "" && s.Store != StoreNone {
		m.wrong(p.in("store"), "a %s sequence stands in the application's own database, with the rows that it numbers; leave this field out", what)
	}
	if s.Lock == LockOptimistic {
		m.wrong(p.in("lock"), "a %s sequence holds the lock of its row until the transaction ends; leave this field out", what)
	}
	if s.Via == ViaProcedure {
		m.wrong(p.in("via"), "a procedure commits its numbers apart from the rows, which a %s sequence does not allow; leave it out", what)
	}
}

// completeSequence sets the fields that a sequence leaves out to their defaults.
func completeSequence(s *Source, d *dialect.Dialect) {
	completeCounter(s, d)
	switch {
	case s.FollowExplicit:
		// keyfill raises the state after an INSERT that has brought its own key. If the
		// process ends between the two, the state stays too low, and the next process has
		// to raise it.
		s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyAdvance)
	case s.joined() || s.Table != nil || (d == nil || !d.LastRowID) && !s.Exclusive && s.Below == 0:
		// OnBehind stays empty in the remaining case, since the default then depends on
		// whether the engine numbers the column too.
		s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	}
	completeUpstream(s)
	s.Via = cmp.Or(s.Via, ViaTable)
	if s.joined() {
		s.Transaction = TransactionJoined
	}
	s.Transaction = cmp.Or(s.Transaction, TransactionAutonomous)
	if s.Period.isNone() {
		s.Period = Period{}
	}
	completeColumns(s.Scope)
}
