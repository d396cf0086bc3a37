package reader

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// RoutineBody reads the definition of a routine or trigger up to the semicolon after it.
// open reports whether the text ends before that semicolon. first is then a reader at the
// definition's first semicolon.
//
// END closes a block only where a statement could begin, so neither CASE … END nor a column
// of that name counts.
func (p *Reader) RoutineBody() (first *Reader, open bool) {
	var before scan.Token
	depth, body := 0, 0
	starts := false // whether a statement of the body may begin here
	for ; p.Token.Kind != scan.End; p.Advance() {
		started := starts
		starts = p.IsPunct(';')
		switch {
		case starts && depth <= 0 && body == 0:
			return nil, false
		case starts && first == nil:
			q := *p
			first = &q
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth > 0:
		case p.IsWord("begin") && p.opensBody(before, body):
			body++
			starts = true
		case p.IsWord("atomic"):
			starts = started
		case p.IsWord("end") && started && body > 0 && !p.nextIsAny("if", "case", "loop", "while", "repeat", "for"):
			// This END closes a block that BEGIN opened. END IF, END CASE and END LOOP close blocks
			// that are not counted.
			body--
		}
		before = p.Token
	}
	return first, first != nil && (depth > 0 || body > 0)
}

// opensBody reports whether the BEGIN at the current token opens a block of a routine, and
// is not the name of a column. before is the token before it, and blocks is how many blocks
// are open. In doubt opensBody is true, so that keyfill refuses the rest of the text
// instead of taking it for statements that run now.
func (p *Reader) opensBody(before scan.Token, blocks int) bool {
	text := p.TextOf(before)
	switch before.Kind {
	case scan.Punct:
		if text != ")" && text != ";" && text != ":" {
			return false
		}
	case scan.Word:
		for _, w := range beforeNames {
			if scan.EqualWord(text, w) {
				return false
			}
		}
	}
	if words := p.Dialect.Grammar.BodyWords; words != nil {
		return blocks == 0 && p.nextIsAny(words...)
	}
	q := *p
	q.Advance()
	return q.IsPunct('(') || q.Token.Kind != scan.Punct && !q.IsAny(behindNames...)
}

var beforeNames = []string{
	"of", "select", "all", "distinct", "by", "from", "join", "update", "on", "to", "into", "table", "only",
	"procedure", "function", "trigger", "event", "rule", "exists", "follows", "precedes",
}

var behindNames = []string{"from", "into", "where", "order", "group", "limit", "is", "in", "and", "or", "as"}

// Defines moves past CREATE or ALTER and the words after it that say what is defined, and
// reports whether an object of that kind, such as a procedure, has a body of statements.
func (p *Reader) Defines() bool {
	prefixes := []string{"or", "replace", "alter", "temp", "temporary", "constraint", "aggregate", "editionable", "noneditionable", "type"}
	p.Advance()
	for {
		switch {
		case p.IsAny(p.Dialect.Grammar.Routines...):
			return true
		case p.Token.Kind == scan.Executable, slices.ContainsFunc(prefixes, p.IsWord):
			p.Advance()
		case p.Accept("definer"):
			// DEFINER = user@host or CURRENT_USER()
			p.AcceptPunct('=')
			p.Advance()
			p.Brackets()
			if p.Token.Kind == scan.Variable {
				p.Advance()
			}
		default:
			return false
		}
	}
}
