package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// noteBlock notes what a statement's first words say of the statements in a block, and
// reports whether the words open or close a block, or are in a block of PL/SQL. e is the
// effect of the first word.
func noteBlock(p *plans.Draft, e words.Effect) bool {
	opens := inserts.OpensBlock(&p.Reader)
	switch {
	case opens != inserts.Unbranched:
		p.Flow.Branched = true
		if opens == inserts.Repeated {
			p.Flow.SeveralReason = rewrite.ErrLoop
		}
	case p.Flow.Branched && p.IsAny("end", "else"), p.Flow.Procedural:
	case e == words.EffectBlock && !p.Dialect.Grammar.PLSQL:
		p.Flow.SeveralReason = rewrite.ErrBlock
	default:
		return false
	}
	return true
}

// block reads a statement that may open a block of statements.
func block(p *plans.Draft) {
	g := &p.Dialect.Grammar
	switch {
	case g.PLSQL:
		anonymous(p)
		return
	case g.NoSemicolon:
		if !p.IsWord("declare") {
			inserts.NotePassed(p)
			p.Advance()
		}
	case p.Accept("begin") && (p.AtEnd() || p.IsWord("work")):
	default:
		p.Flow.SeveralReason = rewrite.ErrBlock
	}
	inserts.Skip(p, p.Flow.SeveralReason)
}

// anonymous reads the beginning of a PL/SQL block up to its first statement: Oracle
// Database PL/SQL Language Reference 23ai, "Block". The statements of a routine that the
// block declares may run any number of times.
func anonymous(p *plans.Draft) {
	p.Flow.Procedural, p.Flow.Branched = true, true
	for p.Token.Kind != scan.End && !p.IsWord("begin") {
		if p.IsAny("procedure", "function") {
			p.Flow.SeveralReason = rewrite.ErrBlock
		}
		inserts.JudgeInner(p, inserts.InnerReason(p))
		p.Advance()
	}
	p.Accept("begin")
}

// controls moves past the words that control the statements of a PL/SQL block, such as IF
// and LOOP, up to the next statement. It reports whether there were any.
func controls(p *plans.Draft) bool {
	switch {
	case p.IsAny("loop", "while", "for", "forall"):
		p.Flow.SeveralReason = rewrite.ErrLoop
		p.Advance()
	case p.IsWord("goto"):
		p.Flow.MayRepeat = true
		p.Advance()
	case p.IsAny("begin", "declare"):
		anonymous(p)
	case p.IsAny("else", "exception", "then"):
		p.Advance()
	case p.IsAny("if", "elsif", "when", "case"):
		for p.Advance(); !p.AtEnd() && !p.IsAny("then", "when"); p.Advance() {
			inserts.JudgeInner(p, inserts.InnerReason(p))
		}
	case p.IsWord("end"):
		inserts.Skip(p, inserts.InnerReason(p))
	default:
		return label(&p.Reader)
	}
	return true
}

// label moves past a <<name>> at the current token, and reports whether there was one.
func label(p *reader.Reader) bool {
	q := *p
	if !acceptTwice(&q, '<') {
		return false
	}
	if q.Advance(); !acceptTwice(&q, '>') {
		return false
	}
	*p = q
	return true
}

// acceptTwice moves past a doubled punctuation mark, and reports whether there was one.
// It also moves past a single mark.
func acceptTwice(p *reader.Reader, c byte) bool {
	first := p.AcceptPunct(c)
	return first && p.AcceptPunct(c)
}
