package rewrite

// setsStatement reports whether MariaDB's SET STATEMENT begins here: Knowledge Base,
// "SET STATEMENT". Its settings hold for the statement behind FOR alone.
func (p *reader) setsStatement() bool {
	return p.d.Grammar.StatementSettings != nil && p.isWord("set") && p.nextIs("statement")
}

// setStatement reads SET STATEMENT and the statement behind it. An INSERT is refused
// there unless every setting is one that changes nothing but how long it may take, or
// how it is planned and logged, and is a plain value. An expression may have an effect
// of its own, and is missing when the rows of a query are counted.
func (p *parser) setStatement() {
	at := p.settingsAt()
	if !p.statementSettings() {
		p.skip(ErrStatementSetting)
		return
	}
	p.settings, p.settingsOf = at, p.tok.start
	switch {
	case p.isVerb():
		p.insert()
	case p.isWord("with"):
		p.with()
	case p.setsStatement():
		p.setStatement()
	case p.isAny("explain", "describe", "desc", "analyze"):
		p.explain()
	case p.isWord("prepare"):
		p.prepare()
	default:
		p.skip(p.beside())
	}
}

// settingsAt returns the offset of the first setting of the SET STATEMENT that begins
// here.
func (p *reader) settingsAt() int {
	s := p.scanner
	s.following()
	return s.following().start
}

// statementSettings reads SET STATEMENT up to the statement behind FOR, and reports
// whether the settings leave an INSERT what it is. Where it reports false it stands
// at the first setting that may not.
func (p *reader) statementSettings() bool {
	p.advance()
	p.advance()
	for {
		if p.tok.kind != tokWord || !p.isAny(p.d.Grammar.StatementSettings...) {
			return false
		}
		q := *p
		q.advance()
		q.acceptPunct(':')
		if !q.acceptPunct('=') {
			return false
		}
		_ = q.acceptPunct('-') || q.acceptPunct('+')
		if !q.acceptAny(tokNumber, tokString, tokWord) {
			return false
		}
		ends := q.isWord("for")
		if !ends && !q.isPunct(',') {
			return false
		}
		q.advance()
		if *p = q; ends {
			return true
		}
	}
}
