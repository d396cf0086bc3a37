package rewrite

// The statements of a block run when the text runs, in Transact-SQL and in PL/SQL
// without a routine around them: once, or not at all where a condition decides, or
// in a loop. Outside of a loop an INSERT takes one key for each row; the key of an
// INSERT that does not run is a gap.

// flow is how often what follows a word runs.
type flow uint8

const (
	plain    flow = iota // as often as what stands in front of it
	branched             // as often, or not at all
	repeated             // any number of times
)

// opensBlock returns how often the statements run that follow the current word
// in a text of Transact-SQL.
func (p *reader) opensBlock() flow {
	if !p.d.Grammar.NoSemicolon || p.tok.kind != tokWord {
		return plain
	}
	switch {
	case p.isWord("if"):
		// DROP TABLE IF EXISTS t has no bracket there.
		q := *p
		if q.advance(); q.accept("exists") && !q.isPunct('(') {
			return plain
		}
		return branched
	case p.isWord("begin"):
		q := *p
		if q.advance(); q.isAny("tran", "transaction", "distributed") {
			return plain
		}
		return branched
	case p.isAny("while", "goto"):
		return repeated
	case p.isWord("return"):
		return branched
	}
	return plain
}

// block reads a statement that may open a block of statements.
func (p *parser) block() {
	g := &p.d.Grammar
	switch {
	case g.PLSQL:
		p.anonymous()
		return
	case g.NoSemicolon:
		if !p.isWord("declare") {
			p.passed()
			p.advance()
		}
	case p.accept("begin") && (p.atEnd() || p.isWord("work")):
	default:
		p.several = ErrBlock
	}
	p.skip(p.several)
}

// anonymous reads the beginning of a block of PL/SQL up to its first statement:
// Oracle Database PL/SQL Language Reference 23ai, "Block". The statements of a
// routine that is declared in it run any number of times.
func (p *parser) anonymous() {
	p.procedural, p.branched = true, true
	for p.tok.kind != tokEnd && !p.isWord("begin") {
		if p.isAny("procedure", "function") {
			p.several = ErrBlock
		}
		p.nested(p.beside())
		p.advance()
	}
	p.accept("begin")
}

// controls moves past the words that control the statements of a block of PL/SQL,
// up to the next statement, and reports whether such words stood here.
func (p *parser) controls() bool {
	switch {
	case p.isAny("loop", "while", "for", "forall"):
		p.several = ErrLoop
		p.advance()
	case p.isWord("goto"):
		p.jumps = true
		p.advance()
	case p.isAny("begin", "declare"):
		p.anonymous()
	case p.isAny("else", "exception", "then"):
		p.advance()
	case p.isAny("if", "elsif", "when", "case"):
		for p.advance(); !p.atEnd() && !p.isAny("then", "when"); p.advance() {
			p.nested(p.beside())
		}
	case p.isWord("end"):
		p.skip(p.beside())
	default:
		return p.label()
	}
	return true
}

// label moves past <<name>>, if it stands here.
func (p *reader) label() bool {
	q := *p
	if !q.acceptTwice('<') {
		return false
	}
	if q.advance(); !q.acceptTwice('>') {
		return false
	}
	*p = q
	return true
}

// acceptTwice moves past a punctuation mark that stands twice, and reports
// whether it does. It also moves past a mark that stands once.
func (p *reader) acceptTwice(c byte) bool {
	first := p.acceptPunct(c)
	return first && p.acceptPunct(c)
}

// uncertain returns why an INSERT that may not run cannot be filled, "" where all
// can be filled. Numbers without gaps, numbers within a parent and greatest keys
// plus one are drawn only for a row that is stored. PL/SQL binds a name once,
// however often it stands there: PL/SQL Language Reference 23ai, "Repeated
// Placeholder Names in Dynamic SQL Statements".
func (p *parser) uncertain() Reason {
	if !p.branched {
		return ""
	}
	for i := range p.slots {
		s := &p.slots[i]
		if in := &p.inserts[s.insert]; in.Branched && (in.Target.Keys[s.key].Joined || in.Target.Keys[s.key].Scope != nil) {
			return ErrBlock
		}
	}
	if p.procedural && p.params.count > 0 {
		if u := p.uses(); u.names < p.params.count {
			return ErrBlock
		}
	}
	return ""
}
