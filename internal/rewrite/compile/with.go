package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// with reads a statement that begins with WITH. The statement's verb is the first verb
// outside of brackets that is not a name.
func with(p *plans.Draft) {
	outer := selects.With{Span: scan.Span{Start: p.Token.Start, End: p.Token.Start}, From: p.Params.Count}
	p.Advance()
	recursive := p.Accept("recursive")
	as := false               // whether the next bracket may open a definition
	earlier := selects.With{} // the definitions before the current one
	for depth, named := 0, true; !p.AtEnd(); p.Advance() {
		opens := as
		as = p.IsAny("as", "materialized")
		switch {
		case p.IsPunct('('):
			if depth == 0 && opens && modifies(p, earlier, recursive) {
				continue
			}
			depth++
		case p.IsPunct(')'):
			depth--
		case depth > 0:
			inserts.JudgeInner(p, rewrite.ErrCTE)
		case p.IsPunct(','):
			named = true
			earlier = selects.With{Span: scan.Span{Start: outer.Start, End: p.PrevEnd}, From: outer.From, To: p.Params.Count}
		case named:
			q := p.Reader
			n, _, _ := q.Ident()
			p.With.CTEs = append(p.With.CTEs, plans.CTE{Name: n, Body: p.Token.End})
			named = false
		case p.IsVerb():
			outer.End, outer.To = p.PrevEnd, p.Params.Count
			p.With.Outer = outer
			insert(p)
			return
		case p.IsWord("merge") && p.Dialect.Grammar.Merge:
			merge(p)
			return
		case p.IsAny("select", "update", "delete", "values", "table"):
			inserts.Skip(p, inserts.InnerReason(p))
			return
		}
	}
}

// modifies reads a definition that is an INSERT, between its brackets, and reports whether
// it is one: PostgreSQL 18, section 7.8.4, "Data-Modifying Statements in WITH". No other
// engine has them, and Grammar.Copy identifies PostgreSQL. earlier are the definitions that
// the INSERT may name.
func modifies(p *plans.Draft, earlier selects.With, recursive bool) bool {
	if !p.Dialect.Grammar.Copy {
		return false
	}
	q := p.Reader
	if q.Advance(); !q.IsVerb() && !q.IsWord("with") {
		return false
	}
	end := p.Reader
	if !closed(&end) {
		return false
	}
	limit, outer := p.Limit, p.With.Outer
	p.Limit, p.With.Outer, p.With.Enclosing, p.With.Recursive = end.PrevEnd-1, selects.With{}, earlier, recursive
	p.Advance()
	if p.IsVerb() {
		insert(p)
	} else {
		with(p)
	}
	p.Limit, p.With.Outer, p.With.Enclosing, p.With.Recursive = limit, outer, selects.With{}, false
	return true
}

// closed moves past the brackets that begin at the current token, and reports whether they
// are closed in the statement. In a text of many statements whose brackets are not closed,
// [reader.Reader.Balanced] would read to the end of the text for each of them.
func closed(p *reader.Reader) bool {
	for depth := 0; !p.AtEnd() && p.Token.Kind != scan.Broken && p.Token.Kind != scan.Executable; {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		}
		if p.Advance(); depth == 0 {
			return true
		}
	}
	return false
}
