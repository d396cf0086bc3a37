package selects

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// listedSelect reads SELECT and its list, and notes the end of the list.
func listedSelect(p *reader.Reader, s *Facts) {
	selectList(p, s)
	if s.place.operand != operandBrackets {
		s.place.operand = operandOther
	}
	s.Lists = append(s.Lists, ListEnd{p.PrevEnd, p.Params.Count})
}

// unionAll reads UNION ALL SELECT and the list after it, if they begin at the current
// token, in a query whose lists may all get another item. It reports whether it has moved.
func unionAll(p *reader.Reader, s *Facts) bool {
	_, behind := p.Peek()
	all := p.NextIs("all")
	if n := behind.Following(); !all || n.Kind != scan.Word || !scan.EqualWord(p.Text[n.Start:n.End], "select") {
		s.apart = true
		return false
	}
	depth := s.place.brackets
	surveyed(p, s, &depth)
	p.Advance()
	p.Advance()
	first := *s
	listedSelect(p, s)
	s.Items, s.Stars, s.Lifts, s.Plain = first.Items, first.Stars, first.Lifts, first.Plain
	return true
}

// selectItem is one item of a select list.
type selectItem struct {
	value scan.Token // the only value of the item, besides an alias; of kind End for an expression
	star  bool
}

// selectList reads SELECT and its list.
func selectList(p *reader.Reader, s *Facts) {
	p.Advance()
	s.Plain = true
	for p.IsAny("all", "distinct", "distinctrow", "unique", "top", "straight_join", "high_priority",
		"sql_small_result", "sql_big_result", "sql_buffer_result", "sql_no_cache", "sql_cache", "sql_calc_found_rows") {
		s.Plain = s.Plain && (!p.IsAny("distinct", "distinctrow", "unique") || p.NextIs("on"))
		if p.IsAny("high_priority", "sql_no_cache", "sql_cache", "sql_calc_found_rows") {
			s.refuse(rewrite.ErrSelectForm) // these words may only be in a statement's first SELECT
		}
		s.apart = s.apart || p.IsAny("distinct", "distinctrow", "unique")
		top := p.IsWord("top")
		distinct := p.IsWord("distinct")
		p.Advance()
		switch {
		case top:
			s.Limited = true
			if !p.AcceptAny(scan.Number, scan.Placeholder) {
				bracketsIn(p, s)
			}
			p.Accept("percent")
			if p.IsWord("with") && p.NextIs("ties") {
				p.Advance()
				p.Advance()
			}
		case distinct && p.Accept("on"):
			bracketsIn(p, s)
		}
	}
	s.Listed = true
	for !endsList(p, s, 0) {
		item := readItem(p, s)
		if item.star {
			s.Stars++
		}
		if v := item.value; Lifts(p, v) {
			s.Lifts = append(s.Lifts, Lift{scan.Span{Start: v.Start, End: v.End}, s.Items, v.Kind == scan.Placeholder})
		}
		s.Items++
		if !p.AcceptPunct(',') {
			return
		}
	}
}

// endsList reports whether a select list ends at the current token, where depth brackets
// are open.
func endsList(p *reader.Reader, s *Facts, depth int) bool {
	switch {
	case s.place.ahead && insertFollows(p, depth):
		return true
	case depth > 0:
		return endsQuery(p, s, depth)
	case p.IsPunct(')'):
		return true
	case !p.IsIn(listEnds) && (depth == 0 || p.Token.Kind != scan.Word || !isNamed(p)):
		return endsQuery(p, s, depth)
	case isNamed(p):
		return p.AtEnd()
	case p.IsAny("minus", "start", "connect"):
		return p.Dialect.Family == dialect.FamilyOracle && isOracles(p) || endsQuery(p, s, depth)
	}
	return true
}

// listEnds are words that may begin the text after a select list.
var listEnds = scan.NewWordSet(`from where group having window order limit offset fetch for union except intersect into
	minus start connect`)

// isOracles reports whether the current word begins a clause that only Oracle has.
func isOracles(p *reader.Reader) bool {
	return p.IsWord("minus") || p.IsWord("start") && p.NextIs("with") || p.IsWord("connect") && p.NextIs("by")
}

// isNamed reports whether the keyword at the current token begins no clause. The text
// before it shows that it is a name, or continues an expression.
func isNamed(p *reader.Reader) bool {
	if p.PrevEnd == 0 {
		return false
	}
	if c := p.Text[p.PrevEnd-1]; c == ')' {
		return false
	} else if c == '.' && !endsNumber(p) || c == ',' && !p.IsWord("from") {
		return true
	}
	at := p.PrevEnd
	for at > 0 && p.IsPart(p.Text[at-1]) {
		at--
	}
	if at > 0 && strings.IndexByte(".@:$", p.Text[at-1]) >= 0 {
		return false // the word before is a name itself
	}
	before := p.Text[at:p.PrevEnd]
	switch {
	case scan.EqualWord(before, "as"):
		return true
	case p.IsWord("from"):
		return scan.EqualWord(before, "distinct")
	case p.IsWord("group"):
		return scan.EqualWord(before, "within")
	case p.IsWord("for"):
		return scan.EqualWord(before, "value")
	case p.IsAny("offset", "fetch", "window", "limit"):
		return scan.EqualAny(before, "select", "all", "distinct")
	}
	return false
}

// endsNumber reports whether the point before the current token ends a number, such as 1.,
// so that no name follows.
func endsNumber(p *reader.Reader) bool {
	at := p.PrevEnd - 1
	for at > 0 && p.IsPart(p.Text[at-1]) {
		at--
	}
	return scan.Digits(p.Text[at : p.PrevEnd-1])
}

// readItem reads one item of a select list.
func readItem(p *reader.Reader, s *Facts) selectItem {
	var first [maxItem]scan.Token
	tokens := first[:0]
	var last, before scan.Token
	depth := s.place.brackets
	for !endsList(p, s, depth-s.place.brackets) && !(depth == s.place.brackets && (p.IsPunct(',') || isDistinct(p, last, before))) {
		before, last = last, p.Token
		if len(tokens) < maxItem {
			tokens = append(tokens, p.Token)
		}
		surveyed(p, s, &depth)
		p.Advance()
	}
	if last.Kind == scan.Punct && p.TextOf(last) == "*" && (len(tokens) == 1 || p.TextOf(before) == ".") {
		return selectItem{star: true, value: scan.Token{Kind: scan.End}}
	}
	return selectItem{value: alone(p, tokens)}
}

// isDistinct reports whether FROM is the current token and follows an alias: SELECT a
// DISTINCT FROM t. In a IS DISTINCT FROM b it continues an operator.
func isDistinct(p *reader.Reader, last, before scan.Token) bool {
	return p.IsWord("from") && last.Kind == scan.Word && scan.EqualWord(p.TextOf(last), "distinct") &&
		!(before.Kind == scan.Word && scan.EqualAny(p.TextOf(before), "is", "not"))
}

// maxItem bounds how many tokens of an item are kept. A single value, in brackets and with
// an alias, has fewer.
const maxItem = 16

// postfixWords are operators that follow their operand. Any other word there is an alias,
// if the engine allows an alias without AS.
var postfixWords = []string{"isnull", "notnull"}

// alone returns the value of an item that is a single value, with or without brackets and
// an alias. For any other item it returns a token of kind End.
func alone(p *reader.Reader, tokens []scan.Token) scan.Token {
	n := 0
	for n < len(tokens) && p.TextOf(tokens[n]) == "(" {
		n++
	}
	none := scan.Token{Kind: scan.End}
	if len(tokens) == maxItem || len(tokens) < 2*n+1 {
		return none
	}
	value, rest := tokens[n], tokens[n+1:]
	for _, t := range rest[:n] {
		if p.TextOf(t) != ")" {
			return none
		}
	}
	rest = rest[n:]
	switch {
	case len(rest) == 0 || rest[0].Kind != scan.Word:
	case scan.EqualWord(p.TextOf(rest[0]), "as"):
		rest = rest[1:]
	case scan.EqualAny(p.TextOf(rest[0]), postfixWords...):
		return none
	}
	if len(rest) > 1 || len(rest) == 1 && rest[0].Kind != scan.Word && rest[0].Kind != scan.Quoted {
		return none
	}
	return value
}
