package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// queryFacts describes a query that was read.
type queryFacts struct {
	outer    with // in front of the INSERT, or of the definition that it is
	near     with // in front of an INSERT that is a definition
	inner    with // in front of the SELECT, where it may not stand in another one
	main     span
	from, to int // the caller's placeholders in front of it and of what follows

	brackets int          // around its first SELECT
	open     openBrackets // the brackets that are open
	operand  operandPlace // of its set operations, up to the current token

	values bool   // it is a row of VALUES
	listed bool   // it has a select list
	items  int    // in the first one
	stars  int    // those that stand for several columns
	lifts  []lift // those that are nothing but a value without a type of its own

	lists []listEnd // the ends of its lists, see appends
	apart bool      // rows of its lists are left out or copied: DISTINCT, UNION, ROLLUP

	plain   bool   // it has a select list, and no DISTINCT or set operation, under which values have types of their own
	ordered bool   // it has ORDER BY
	limited bool   // it has TOP, OFFSET or FETCH
	unsure  bool   // it calls what may change something
	reason  Reason // why its rows cannot be numbered
	blamed  int    // the offset of the token that the reason is about, where that is not the current one; else 0
}

// width returns the least number of columns that the query can have, and
// whether it has no more.
func (s *queryFacts) width() (least int, exact bool) {
	if !s.listed {
		return 1, false
	}
	return max(s.items, 1), s.stars == 0
}

// queryFacts returns the facts about the query of an INSERT that are known
// before the query is read.
func (p *parser) queryFacts() queryFacts {
	if p.limit > 0 {
		return queryFacts{outer: p.enclosing, near: p.outer}
	}
	return queryFacts{outer: p.outer}
}

// readQuery reads a query up to the end of the statement, or to the clauses of
// the INSERT behind it.
func (p *reader) readQuery(s *queryFacts) {
	s.from, s.unsure = p.params.count, p.d.Numbering.Hidden
	s.main.start = p.tok.start
	if p.isWord("with") {
		s.inner = with{span: span{p.tok.start, p.tok.start}, from: s.from, to: s.from}
		var d definitions
		for depth := 0; !p.atEnd() && !d.end(p, depth); p.advance() {
			unsure, outside := s.unsure, depth == 0
			if p.surveyed(s, &depth); outside {
				s.unsure = unsure // n (i) is no call there
			}
		}
		s.inner.end, s.inner.to = p.prev, p.params.count
		if p.d.Numbering.Flat {
			s.main.start = p.tok.start
		} else {
			s.inner = with{}
		}
	}
	depth := 0
	for !p.d.Numbering.Flat && p.isPunct('(') {
		p.surveyedOperand(s, &depth)
		p.advance()
	}
	s.brackets = depth
	if depth > 0 && p.isWord("with") {
		p.withInBrackets(s)
	}
	if p.isWord("select") {
		p.listedSelect(s)
	}
	joins := false // an ON here would belong to a join
	for !p.endsQuery(s, depth) {
		if depth == 0 && p.tok.kind == tokWord {
			joins = p.isAny("from", "join") || joins && !p.isAny("on", "using", "where", "group", "having", "window", "order", "limit", "union", "intersect", "except")
		}
		if depth <= s.brackets && p.isIn(apartWords) {
			if s.apart = s.apart || depth < s.brackets || !p.isWord("union"); !s.apart && p.unionAll(s) {
				continue
			}
		}
		p.surveyedOperand(s, &depth)
		p.advance()
	}
	s.main.end, s.to = p.prev, p.params.count
	if joins && p.d.Numbering.Where && p.isWord("on") {
		// "Parsing Ambiguity", https://www.sqlite.org/lang_upsert.html: an
		// invalid text would become a valid one.
		s.refuse(p.grammar())
	}
	if depth != 0 || s.main.end <= s.main.start {
		s.refuse(ErrSelectForm)
	}
	if p.tok.kind == tokWord && p.tok.start == s.main.end && p.isPart(p.q[s.main.end-1]) {
		s.refuse(ErrGrammar) // 0RETURNING is no SQL to most engines, and would become some
	}
}

// apartWords are words of a query whose lists give other rows than it has.
var apartWords = newWordSet("union except intersect minus rollup cube grouping procedure into")

// withInBrackets moves past the WITH clause of a query that stands in brackets. It has
// facts of its own, as in surveyWith.
func (p *reader) withInBrackets(s *queryFacts) {
	clause := queryFacts{unsure: s.unsure}
	var d definitions
	for depth := 0; !p.atEnd() && depth >= 0 && !d.end(p, depth); p.advance() {
		p.surveyed(&clause, &depth)
	}
	s.take(&clause)
}

// take takes over what holds for the whole statement from the facts of a WITH clause.
func (s *queryFacts) take(clause *queryFacts) {
	s.unsure = clause.unsure
	if clause.reason != "" {
		s.refuse(clause.reason)
	}
}

// surveyWith surveys a WITH clause in front of the INSERT, or a part of one. What
// its definitions change where the engine has such is changed by the count, too, and
// undone. The clause has facts of its own, of which s takes over what holds for the
// whole statement: its brackets and set operations are not those of the query.
func (p *reader) surveyWith(s *queryFacts, w with) {
	if w.empty() {
		return
	}
	clause := queryFacts{unsure: s.unsure}
	q := p.within(w.span)
	depth := 0
	for q.advance(); q.tok.kind != tokEnd; q.advance() {
		if depth == 0 && p.d.Grammar.Copy && q.isPunct('(') && q.changes() {
			clause.unsure = true
			clause.open.open('(')
			depth++
			continue
		}
		q.surveyed(&clause, &depth)
	}
	s.take(&clause)
}

func (s *queryFacts) refuse(reason Reason) {
	if s.reason == "" {
		s.reason = reason
	}
}

// queryEnds are words that may begin what follows the query of an INSERT.
var queryEnds = newWordSet("on returning log return option")

// endsQuery reports whether the query ends here, outside of brackets.
func (p *reader) endsQuery(s *queryFacts, depth int) bool {
	g := &p.d.Grammar
	switch {
	case p.atEnd():
		return true
	case depth < 0, p.tok.kind == tokError, p.tok.kind == tokExec:
		s.refuse(p.grammar())
		return true
	case depth > 0 || !p.isIn(queryEnds) || p.isNamed():
		return false
	case p.isWord("on"):
		return p.upserts()
	case p.isWord("returning"):
		if g.OnDuplicateKey && !g.Returning {
			s.refuse(ErrGrammar)
		}
		return g.Returning || g.ReturningInto || g.OnDuplicateKey
	case p.isAny("log", "return"):
		return g.ReturningInto && (p.isWord("return") || p.nextIs("errors"))
	case p.isWord("option"):
		return g.Option
	}
	return false
}

// upserts reports whether ON begins an upsert clause here, not the condition of a
// join with a table of that name.
func (p *reader) upserts() bool {
	n, behind := p.peek()
	if n.kind != tokWord {
		return false
	}
	after := behind.following()
	switch {
	case p.d.Grammar.OnConflict && equalWord(p.text(n), "conflict"):
		return p.text(after) == "(" || after.kind == tokWord && !operatorWords.has(p.text(after))
	case p.d.Grammar.OnDuplicateKey && equalWord(p.text(n), "duplicate"):
		return after.kind == tokWord && !operatorWords.has(p.text(after))
	}
	return false
}

// operatorWords are the words that may follow an operand.
var operatorWords = newWordSet(`and or xor not is isnull notnull in like ilike rlike regexp similar between glob match
	collate escape div mod sounds member overlaps at operator
	where group having window order limit offset fetch for union except intersect returning
	join inner left right full cross natural straight_join`)

// surveyed notes one token of a query.
func (p *reader) surveyed(s *queryFacts, depth *int) {
	switch {
	case p.isPunct('('):
		*depth++
		s.open.open('(')
		if p.changes() {
			s.refuse(ErrSelectForm)
		}
	case p.isPunct('['), p.isPunct('{'):
		*depth++
		s.open.open(p.q[p.tok.start])
	case p.isPunct(')'), p.isPunct(']'), p.isPunct('}'):
		*depth--
		if !s.open.shut(p.q[p.tok.start]) {
			s.refuse(ErrGrammar)
		}
	case p.isPunct(':') && p.d.Lexis.UserVariables && p.tok.end < len(p.q) && p.q[p.tok.end] == '=':
		// It would be set twice.
		s.refuse(ErrSelectForm)
	case p.tok.kind != tokWord && p.tok.kind != tokQuoted:
	case !s.unsure && p.mayChange():
		s.unsure = true
	case !p.isIn(surveyWords):
		if *depth <= s.brackets && p.followsQuery() {
			s.refuse(ErrSelectForm)
		}
	case p.isAny("nextval", "currval") && p.d.Family == dialect.FamilyOracle, p.d.Numbering.First && p.isWord("next") && p.nextIs("value"):
		// Neither may stand in a WITH clause: Oracle's SQL Language Reference,
		// "Sequence Pseudocolumns"; Transact-SQL reference, "NEXT VALUE FOR".
		s.refuse(ErrSelectForm)
	case *depth > s.brackets:
	case p.isAny("union", "except", "intersect", "minus"), p.isAny("rollup", "cube") && p.nextIsPunct('('),
		p.isWord("grouping") && p.nextIs("sets"):
		s.plain = false
	case p.isWord("order"):
		s.ordered = true
	case p.isAny("offset", "fetch"):
		s.limited = true
	case p.isWord("into"), p.d.Numbering.First && p.isWord("for"):
		s.refuse(ErrSelectForm)
	}
}

// surveyWords are words that surveyed looks at, besides those that may begin
// another statement.
var surveyWords = newWordSet("nextval currval next union except intersect minus rollup cube grouping order offset fetch into for")

// changes reports whether a statement that changes data begins behind the
// bracket here.
func (p *reader) changes() bool {
	at := p.pos
	for at < len(p.q) && isSpace(p.q[at]) {
		at++
	}
	if at < len(p.q) && classes[p.q[at]]&(classLetter|classDigit|classPunct) != 0 && p.q[at] < 0x80 &&
		strings.IndexByte("iudmr", p.q[at]|0x20) < 0 {
		return false // as nearly always
	}
	n, behind := p.peek()
	if n.kind != tokWord {
		return false
	}
	switch word := p.text(n); {
	case equalAny(word, "insert", "update", "delete", "merge", "replace"):
		after := behind.following()
		return after.kind != tokPunct || p.text(after) != "("
	}
	return false
}

// peek returns the token behind the current one, and the scanner behind it.
func (p *reader) peek() (token, scanner) {
	s := p.scanner
	return s.following(), s
}

// following returns the next token that is neither white space nor a comment.
func (s *scanner) following() token {
	for {
		i := s.pos
		for i < len(s.q) && classes[s.q[i]]&classSpace != 0 {
			i++
		}
		if s.pos = i; i >= len(s.q) {
			return token{tokEnd, i, i}
		}
		c := s.q[i]
		if classes[c]&classPunct != 0 {
			s.pos = i + 1
			return token{tokPunct, i, i + 1}
		}
		if classes[c]&(classPlain|classDigit) == classPlain {
			k := s.word()
			return token{k, i, s.pos}
		}
		if k := s.scan(c); k != tokSpace && k != tokComment {
			return token{k, i, s.pos}
		}
	}
}

// nextIs reports whether the word follows the current token.
func (p *reader) nextIs(word string) bool {
	n, _ := p.peek()
	return n.kind == tokWord && equalWord(p.text(n), word)
}

// nextIsPunct reports whether the byte follows the current token.
func (p *reader) nextIsPunct(c byte) bool {
	at := p.pos
	for at < len(p.q) && isSpace(p.q[at]) {
		at++
	}
	if at < len(p.q) && classes[p.q[at]]&classPunct != 0 {
		return p.q[at] == c
	}
	if at < len(p.q) && isDigit(p.q[at]) {
		return false
	}
	n, _ := p.peek()
	return n.kind == tokPunct && p.q[n.start] == c
}

// followsQuery reports whether the word here begins another statement of a text
// that needs no semicolons.
func (p *reader) followsQuery() bool {
	switch {
	case !p.d.Grammar.NoSemicolon || !p.isIn(statementWords):
		return false
	case p.isWord("with"):
		return !p.nextIsPunct('(') && !p.nextIs("ties")
	case p.isWord("merge"):
		return !p.nextIs("join") && !p.nextIs("union")
	}
	return true
}

// statementWords are words that begin a statement of Transact-SQL.
var statementWords = newWordSet(`insert update delete exec execute declare set if while begin commit rollback save print
	raiserror throw return truncate create drop alter use go waitfor grant revoke deny goto kill dbcc with merge`)
