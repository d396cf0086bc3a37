package policy

import "github.com/keyfill/keyfill/dialect"

var viaField = of("via", "What reserves the numbers. table: statements; procedure: a stored procedure.",
	word[string](fieldWhat("via"), viaWords), func(s *Source) *string { return &s.Via }).byDefault("table").as("procedure")

var procedureField = of("procedure", "The stored procedure, with via: procedure.",
	text, func(s *Source) *string { return &s.Procedure }).byDefault("keyfill_reserve").as("shop.reserve_numbers").
	checked(checkProcedure)

// checkProcedure reports the fields of the sequence at p that are of no use with a
// stored procedure, or without one.
func checkProcedure(m *mistakes, p place, s Source) {
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

// withoutProcedures are the engines that have no stored procedures:
// https://www.sqlite.org/whentouse.html.
var withoutProcedures = []string{dialect.SQLite().Name}

var viaWords = []string{ViaTable, ViaProcedure}
