package rewrite

// definitions follows the definitions of a WITH clause to the query behind them,
// which may stand in brackets.
type definitions struct {
	as   bool // the next brackets hold a definition
	done bool // one has ended
}

// end reports whether the query begins at the current token, where depth brackets are
// open.
func (d *definitions) end(p *reader, depth int) bool {
	switch {
	case depth == 1 && p.isPunct(')') && d.as:
		d.as, d.done = false, true
	case depth > 0:
	case p.isAny("select", "values", "table"), d.done && p.isPunct('('):
		return true
	case p.isWord("as"):
		d.as = true
	case p.isPunct(','):
		d.done = false
	}
	return false
}

// with reads a statement that begins with WITH: its verb is the first one
// outside of brackets that is not a name.
func (p *parser) with() {
	outer := with{span: span{p.tok.start, p.tok.start}, from: p.params.count}
	p.advance()
	recursive := p.accept("recursive")
	as := false       // the word before opens a definition
	earlier := with{} // the definitions in front of the one that is read
	for depth, named := 0, true; !p.atEnd(); p.advance() {
		opens := as
		as = p.isAny("as", "materialized")
		switch {
		case p.isPunct('('):
			if depth == 0 && opens && p.modifies(earlier, recursive) {
				continue
			}
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0:
			p.nested(ErrCTE)
		case p.isPunct(','):
			named = true
			earlier = with{span{outer.start, p.prev}, outer.from, p.params.count}
		case named:
			q := p.reader
			n, _, _ := q.ident()
			p.ctes = append(p.ctes, cte{n, p.tok.end})
			named = false
		case p.isVerb():
			outer.end, outer.to = p.prev, p.params.count
			p.outer = outer
			p.insert()
			return
		case p.isWord("merge") && p.d.Grammar.Merge:
			p.merge()
			return
		case p.isAny("select", "update", "delete", "values", "table"):
			p.skip(p.beside())
			return
		}
	}
}

// modifies reads a definition that is an INSERT, from its bracket to the one that
// closes it, and reports whether it is one: PostgreSQL 18, section 7.8.4,
// "Data-Modifying Statements in WITH". No other engine has them, and COPY is the
// mark of PostgreSQL's grammar. earlier are the definitions that it may name.
func (p *parser) modifies(earlier with, recursive bool) bool {
	if !p.d.Grammar.Copy {
		return false
	}
	q := p.reader
	if q.advance(); !q.isVerb() && !q.isWord("with") {
		return false
	}
	end := p.reader
	if !end.balanced('(', ')') {
		return false
	}
	limit, outer := p.limit, p.outer
	p.limit, p.outer, p.enclosing, p.recursive = end.prev-1, with{}, earlier, recursive
	p.advance()
	if p.isVerb() {
		p.insert()
	} else {
		p.with()
	}
	p.limit, p.outer, p.enclosing, p.recursive = limit, outer, with{}, false
	return true
}
