package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// definition skips a statement that defines or permits something, since the body of a
// routine or trigger does not run now. It reports whether the text ends inside such a body.
func definition(p *plans.Draft) (open bool) {
	switch {
	case !p.IsAny("create", "alter") || !p.Defines():
		defined(p)
	case p.Dialect.Grammar.RoutineIsRest:
		for p.Token.Kind != scan.End {
			p.Advance()
		}
	default:
		return routine(p)
	}
	return false
}

// defined reads a definition without a body. The query of CREATE TABLE AS runs now, and so
// do INSERTs in its WITH clause, which only PostgreSQL has: see modifies.
func defined(p *plans.Draft) {
	g := &p.Dialect.Grammar
	for depth := 0; !(p.Token.Kind == scan.End || depth <= 0 && p.IsPunct(';')); p.Advance() {
		if depth <= 0 && p.Flow.SeveralReason == rewrite.ErrSeveral && inserts.BeginsStatement(p) {
			return
		}
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case g.NoSemicolon, g.Copy && depth > 0, p.Token.Kind == scan.Executable:
			inserts.JudgeInner(p, inserts.InnerReason(p))
		}
	}
}

// routine reads the definition of a routine or trigger to the semicolon after it. It
// reports whether the text ends before that semicolon. The end of the body is then
// uncertain, and an INSERT after its first semicolon is refused if it lacks a key.
func routine(p *plans.Draft) (open bool) {
	first, open := p.RoutineBody()
	if !open {
		if p.IsPunct(';') {
			p.Flow.AfterBody = len(p.Inserts) + 1
		}
		return false
	}
	for p.Reader = *first; p.Token.Kind != scan.End; p.Advance() {
		inserts.JudgeInner(p, rewrite.ErrBlock)
	}
	return true
}
