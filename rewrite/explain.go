package rewrite

import "strings"

// explain reads EXPLAIN and its like: the INSERT behind it is filled with a key
// that stands for any, unless it runs. PostgreSQL 18, "EXPLAIN"; MySQL 8.4,
// section 15.8.2; MariaDB Knowledge Base, "EXPLAIN" and "ANALYZE statement";
// https://www.sqlite.org/lang_explain.html.
func (p *parser) explain() {
	g := &p.d.Grammar
	runs, known := false, false
	switch {
	case g.Copy && p.accept("explain"):
		runs, known = p.postgresExplain()
	case g.OrAction && p.accept("explain"):
		if p.accept("query") {
			p.accept("plan")
		}
		known = true
	case g.OnDuplicateKey:
		runs, known = p.mysqlExplain(), true
	}
	merges := g.Merge && p.isWord("merge")
	if !known || !p.isVerb() && !merges && !p.isWord("with") {
		p.skip(ErrExplain)
		return
	}
	p.explained = !runs
	switch {
	case merges:
		p.merge()
	case p.isVerb():
		p.insert()
	default:
		p.with()
	}
	p.explained = false
}

// postgresExplain reads what stands between EXPLAIN and its statement, and
// reports whether the statement runs: the last ANALYZE counts. It is not known where
// an option or its value is spelled in a way that is not read here, as U&"\0061nalyze".
func (p *reader) postgresExplain() (runs, known bool) {
	if !p.acceptPunct('(') {
		runs = p.accept("analyze") || p.accept("analyse")
		p.accept("verbose")
		return runs, true
	}
	for known = true; !p.atEnd() && !p.isPunct(')'); p.acceptPunct(',') {
		option, plain := p.text(p.tok), p.tok.kind == tokWord
		if p.tok.kind == tokQuoted {
			if option = strings.Trim(option, `"`); option != strings.ToLower(option) || strings.Contains(option, `"`) {
				known = false // U&"…" has a quote in it still
			}
			plain = known
		}
		known = known && plain
		p.advance()
		value, tokens := p.tok, 0
		for !p.atEnd() && !p.isPunct(',') && !p.isPunct(')') {
			tokens++
			p.advance()
		}
		if !equalAny(option, "analyze", "analyse") {
			continue
		}
		text := strings.ToLower(strings.Trim(p.text(value), `'"`))
		switch {
		case tokens == 0, tokens == 1 && equalAny(text, "true", "on", "1"):
			runs = true
		case tokens == 1 && equalAny(text, "false", "off", "0"):
			runs = false
		default:
			known = false
		}
	}
	return runs, known && p.acceptPunct(')')
}

// mysqlExplain is postgresExplain for MySQL and MariaDB, where ANALYZE may stand
// instead of EXPLAIN.
func (p *reader) mysqlExplain() (runs bool) {
	for {
		switch {
		case p.isAny("analyze"):
			runs = true
			p.advance()
		case p.isAny("explain", "describe", "desc", "extended", "partitions"):
			p.advance()
		case p.accept("format"):
			p.acceptPunct('=')
			p.advance()
		default:
			return runs
		}
	}
}
