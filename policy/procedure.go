package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

var viaField = of("via", "What reserves the numbers. table: statements; procedure: a stored procedure.",
	word[string](fieldWhat("via"), viaWords), func(s *Source) *string { return &s.Via }).byDefault("table").as("procedure")

var procedureField = of("procedure", "The stored procedure, with via: procedure.",
	text, func(s *Source) *string { return &s.Procedure }).byDefault("keyfill_reserve").as("shop.reserve_numbers").
	ruled(fieldRules{check: checkProcedure, suit: namer.suitProcedure})

// checkProcedure reports the fields of the sequence at p that are of no use with a
// stored procedure, or without one.
func checkProcedure(m *mistakes, p place, s Source) {
	if s.Via != ViaProcedure {
		if s.Procedure != "" {
			m.wrong(p.in("procedure"), "keyfill calls the procedure only with via: procedure; write that too")
		}
		return
	}
	if s.Table != nil {
		m.wrong(p.in("table"), "the procedure itself knows where its numbers are; leave this field out, or write via: table")
	}
	if s.Lock == LockOptimistic {
		m.wrong(p.in("lock"), "the procedure itself takes its locks; leave this field out, or write via: table")
	}
}

// suitProcedure checks the procedure of the sequence at p for a dialect.
func (n namer) suitProcedure(m *mistakes, p place, s Source) {
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

// withoutProcedures are the engines that have no stored procedures:
// https://www.sqlite.org/whentouse.html.
var withoutProcedures = []string{dialect.SQLite().Name}

var viaWords = []string{ViaTable, ViaProcedure}
