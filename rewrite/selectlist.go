package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// selectItem is one item of a select list.
type selectItem struct {
	value token // what it is besides its alias; of kind tokEnd for an expression
	star  bool
}

// selectList reads SELECT and its first list.
func (p *reader) selectList(s *queryFacts) {
	p.advance()
	s.plain = true
	for p.isAny("all", "distinct", "distinctrow", "unique", "top", "straight_join", "high_priority",
		"sql_small_result", "sql_big_result", "sql_buffer_result", "sql_no_cache", "sql_cache", "sql_calc_found_rows") {
		s.plain = s.plain && (!p.isAny("distinct", "distinctrow", "unique") || p.nextIs("on"))
		if p.isAny("high_priority", "sql_no_cache", "sql_cache", "sql_calc_found_rows") {
			s.refuse(ErrSelectForm) // of a whole statement alone
		}
		s.apart = s.apart || p.isAny("distinct", "distinctrow", "unique")
		top := p.isWord("top")
		distinct := p.isWord("distinct")
		p.advance()
		switch {
		case top:
			s.limited = true
			if !p.acceptAny(tokNumber, tokParam) {
				p.brackets()
			}
			p.accept("percent")
			if p.isWord("with") && p.nextIs("ties") {
				p.advance()
				p.advance()
			}
		case distinct && p.accept("on"):
			p.brackets()
		}
	}
	s.listed = true
	for !p.endsList(s, 0) {
		item := p.selectItem(s)
		if item.star {
			s.stars++
		}
		if v := item.value; p.lifts(v) {
			s.lifts = append(s.lifts, lift{span{v.start, v.end}, s.items, v.kind == tokParam})
		}
		s.items++
		if !p.acceptPunct(',') {
			return
		}
	}
}

// acceptAny moves past a token of one of the kinds.
func (p *reader) acceptAny(kinds ...kind) bool {
	for _, k := range kinds {
		if p.tok.kind == k {
			p.advance()
			return true
		}
	}
	return false
}

// endsList reports whether a select list ends here, outside of brackets.
func (p *reader) endsList(s *queryFacts, depth int) bool {
	switch {
	case depth > 0:
		return p.endsQuery(s, depth)
	case p.isPunct(')'):
		return true
	case !p.isIn(listEnds) && (depth == 0 || p.tok.kind != tokWord || !p.isNamed()):
		return p.endsQuery(s, depth)
	case p.isNamed():
		return p.atEnd()
	case p.isAny("minus", "start", "connect"):
		return p.d.Family == dialect.FamilyOracle && p.isOracles() || p.endsQuery(s, depth)
	}
	return true
}

// listEnds are words that may begin what follows a select list.
var listEnds = newWordSet(`from where group having window order limit offset fetch for union except intersect into
	minus start connect`)

// isOracles reports whether the word here begins a clause that only Oracle has.
func (p *reader) isOracles() bool {
	return p.isWord("minus") || p.isWord("start") && p.nextIs("with") || p.isWord("connect") && p.nextIs("by")
}

// isNamed reports whether the keyword here begins no clause, by what stands in
// front of it: it is a name, or goes on with an expression.
func (p *reader) isNamed() bool {
	if p.prev == 0 {
		return false
	}
	if c := p.q[p.prev-1]; c == ')' {
		return false
	} else if c == '.' && !p.endsNumber() || c == ',' && !p.isWord("from") {
		return true
	}
	at := p.prev
	for at > 0 && p.isPart(p.q[at-1]) {
		at--
	}
	if at > 0 && strings.IndexByte(".@:$", p.q[at-1]) >= 0 {
		return false // the word in front is a name itself
	}
	before := p.q[at:p.prev]
	switch {
	case equalWord(before, "as"):
		return true
	case p.isWord("from"):
		return equalWord(before, "distinct")
	case p.isWord("group"):
		return equalWord(before, "within")
	case p.isWord("for"):
		return equalWord(before, "value")
	case p.isAny("offset", "fetch", "window", "limit"):
		return equalAny(before, "select", "all", "distinct")
	}
	return false
}

// endsNumber reports whether the point before the current token ends a number,
// as in 1. and so begins no name.
func (p *reader) endsNumber() bool {
	at := p.prev - 1
	for at > 0 && p.isPart(p.q[at-1]) {
		at--
	}
	return digits(p.q[at : p.prev-1])
}

// selectItem reads one item of a select list.
func (p *reader) selectItem(s *queryFacts) selectItem {
	var first [maxItem]token
	tokens := first[:0]
	var last, before token
	depth := s.brackets
	for !p.endsList(s, depth-s.brackets) && !(depth == s.brackets && (p.isPunct(',') || p.isDistinct(last, before))) {
		before, last = last, p.tok
		if len(tokens) < maxItem {
			tokens = append(tokens, p.tok)
		}
		p.surveyed(s, &depth)
		p.advance()
	}
	if last.kind == tokPunct && p.text(last) == "*" && (len(tokens) == 1 || p.text(before) == ".") {
		return selectItem{star: true, value: token{kind: tokEnd}}
	}
	return selectItem{value: p.alone(tokens)}
}

// isDistinct reports whether FROM stands here behind an alias: SELECT a DISTINCT FROM t. It
// goes on with an operator in a IS DISTINCT FROM b.
func (p *reader) isDistinct(last, before token) bool {
	return p.isWord("from") && last.kind == tokWord && equalWord(p.text(last), "distinct") &&
		!(before.kind == tokWord && equalAny(p.text(before), "is", "not"))
}

// maxItem is how many tokens an item may have that is a value alone: in
// brackets, and with an alias.
const maxItem = 16

// postfixWords are operators behind their operand. All other words there are an alias, where
// the engine takes one without AS.
var postfixWords = []string{"isnull", "notnull"}

// alone returns the value of an item that is nothing else, in brackets or not,
// with an alias or without; a token of kind tokEnd for any other.
func (p *reader) alone(tokens []token) token {
	n := 0
	for n < len(tokens) && p.text(tokens[n]) == "(" {
		n++
	}
	none := token{kind: tokEnd}
	if len(tokens) == maxItem || len(tokens) < 2*n+1 {
		return none
	}
	value, rest := tokens[n], tokens[n+1:]
	for _, t := range rest[:n] {
		if p.text(t) != ")" {
			return none
		}
	}
	rest = rest[n:]
	switch {
	case len(rest) == 0 || rest[0].kind != tokWord:
	case equalWord(p.text(rest[0]), "as"):
		rest = rest[1:]
	case equalAny(p.text(rest[0]), postfixWords...):
		return none
	}
	if len(rest) > 1 || len(rest) == 1 && rest[0].kind != tokWord && rest[0].kind != tokQuoted {
		return none
	}
	return value
}
