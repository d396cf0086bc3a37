package rewrite

// explain reads EXPLAIN and its like: the INSERT behind it is filled with a key
// that stands for any, unless it runs. PostgreSQL 18, "EXPLAIN"; MySQL 8.4,
// section 15.8.2; MariaDB Knowledge Base, "EXPLAIN" and "ANALYZE statement";
// https://www.sqlite.org/lang_explain.html.
func (p *parser) explain() {
	g := &p.d.Grammar
	runs, known := false, false
	switch {
	case g.Copy && p.accept("explain"):
		runs, known = p.postgresExplain(), true
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
// reports whether the statement runs: the last ANALYZE counts.
func (p *parser) postgresExplain() (runs bool) {
	if !p.acceptPunct('(') {
		runs = p.accept("analyze") || p.accept("analyse")
		p.accept("verbose")
		return runs
	}
	for !p.atEnd() && !p.isPunct(')') {
		if p.accept("analyze") || p.accept("analyse") {
			runs = !p.isAny("false", "off") && !equalAny(p.text(p.tok), "0", "'false'", "'off'", `"false"`, `"off"`)
			continue
		}
		p.advance()
	}
	p.acceptPunct(')')
	return runs
}

// mysqlExplain does so for MySQL and MariaDB, whose ANALYZE may stand in the place
// of EXPLAIN.
func (p *parser) mysqlExplain() (runs bool) {
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
