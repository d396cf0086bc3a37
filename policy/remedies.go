package policy

import "github.com/keyfill/keyfill/keysource"

var onBehindField = of("on_behind", "What happens when the table has greater keys than the state. error: the INSERT is an error; advance, for sequence and recycled: the state is raised above them; warn: it is logged. Left out, it is error, advance for a sequence that follows the keys that INSERTs bring and is not joined, and warn for native with block 1.",
	word[keysource.Remedy](fieldWhat("on_behind"), remedies), func(s *Source) *keysource.Remedy { return &s.OnBehind }).as("advance")

var onStoreRollbackField = of("on_store_rollback", "What happens when the state has gone back. error: the INSERT is an error; advance, for all but native: the state is raised above the integers that the process has seen; warn, for native with block 1: the INSERT gets what the engine's sequence gives. Left out, it is error, and warn for native with block 1.",
	word[keysource.Remedy](fieldWhat("on_store_rollback"), remedies), func(s *Source) *keysource.Remedy { return &s.OnStoreRollback }).as("advance")

// checkRollback checks what the source at p is to do about a state (counter) that has gone
// back to an earlier number.
func checkRollback(m *mistakes, p place, s Source) {
	if s.OnStoreRollback == keysource.RemedyWarn {
		m.wrong(p.in("on_store_rollback"), "a %s that went on from there would give keys twice; say error or advance", s.Kind)
		return
	}
	checkWord(m, p, "on_store_rollback", s.OnStoreRollback, remedies)
}

var remedies = []string{
	string(keysource.RemedyError), string(keysource.RemedyAdvance), string(keysource.RemedyWarn),
}
