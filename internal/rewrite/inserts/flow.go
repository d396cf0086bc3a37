package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// The statements of a block run when the text runs, in Transact-SQL, and in PL/SQL if no
// routine is around them: once; or, if a condition decides, once or not at all; or in a
// loop any number of times. Outside of a loop an INSERT takes one key for each row; the key
// of an INSERT that does not run is a gap.

// Flow says how often the statements after a word run.
type Flow uint8

// How often statements run.
const (
	Unbranched Flow = iota // as often as the statement before them
	branched               // as often as the statement before them, or not at all
	Repeated               // any number of times
)

// OpensBlock returns how often the statements after the current word run, in a text of
// Transact-SQL.
func OpensBlock(p *reader.Reader) Flow {
	if !p.Dialect.Grammar.NoSemicolon || p.Token.Kind != scan.Word {
		return Unbranched
	}
	switch {
	case p.IsWord("if"):
		// DROP TABLE IF EXISTS t is no condition: EXISTS has no bracket after it.
		q := *p
		if q.Advance(); q.Accept("exists") && !q.IsPunct('(') {
			return Unbranched
		}
		return branched
	case p.IsWord("begin"):
		q := *p
		if q.Advance(); q.IsAny("tran", "transaction", "distributed") {
			return Unbranched
		}
		return branched
	case p.IsAny("while", "goto"):
		return Repeated
	case p.IsWord("return"):
		return branched
	}
	return Unbranched
}
