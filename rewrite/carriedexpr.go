package rewrite

import (
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
)

// carriedExpr reads an expression to find out what is known about its value.
type carriedExpr struct{ reader }

func newCarriedExpr(d *dialect.Dialect, text string) *carriedExpr {
	return &carriedExpr{readerAt(d, text, 0)}
}

// star reports whether the text is * or t.*.
func (e *carriedExpr) star() bool {
	s := *e
	for s.tok.kind == tokWord || s.tok.kind == tokQuoted {
		if s.advance(); !s.acceptPunct('.') {
			return false
		}
	}
	return s.acceptPunct('*') && s.tok.kind == tokEnd
}

// looseness is how loosely an operator binds its operands.
type looseness uint8

const (
	opNone    looseness = iota
	opDiv               // DIV, whose result is an integer
	opArith             // the others of arithmetic, and those of bits
	opPlus              // + and -, which may add an interval
	opChanges           // those whose result has other digits
	opTruth             // comparisons and logic, whose result is 0 or 1
	opWrong             // not known
)

// expr reads an expression up to what cannot go on with it. The operator that binds
// its operands most loosely decides.
func (e *carriedExpr) expr() carried {
	not := e.accept("not")
	first := e.operand()
	all, loosest, operators := first, opNone, 0
	divides, interval := true, false
	for op := e.operator(); op != opNone; op = e.operator() {
		loosest, divides = max(loosest, op), divides && op == opDiv
		operators++
		if op == opPlus && e.accept("interval") {
			interval = true
			e.operand()
			e.advance() // its unit
			continue
		}
		all = min(all, e.operand())
	}
	switch {
	case loosest == opWrong, loosest == opChanges:
		return carriedUnknown
	case loosest == opTruth:
		return carriedInteger
	case not && loosest != opNone:
		return carriedUnknown // under HIGH_NOT_PRECEDENCE, NOT binds more tightly
	case not:
		return carriedInteger
	case loosest == opNone:
		return first
	case interval && operators == 1 && first != carriedUnknown:
		return carriedAlone
	case !interval && (divides || all == carriedInteger):
		return carriedInteger
	}
	return carriedUnknown
}

// operator reads an operator between operands, with the words after it that are no
// operand. It returns opNone if there is none.
func (e *carriedExpr) operator() looseness {
	switch {
	case e.isAny("and", "xor"), e.isWord("or"):
		e.advance()
		e.accept("not")
		return opTruth
	case e.isWord("is"):
		e.advance()
		e.accept("not")
		return opTruth // NULL, TRUE … is the operand
	case e.isWord("not"):
		e.advance() // LIKE, IN, BETWEEN
		return e.operator()
	case e.isAny("like", "regexp", "rlike", "between", "escape"):
		e.advance()
		return opTruth
	case e.isWord("in"):
		e.advance()
		return opTruth // the list is the operand
	case e.isWord("div"):
		e.advance()
		return opDiv
	case e.isWord("mod"):
		e.advance()
		return opArith
	case e.tok.kind != tokPunct:
		return opNone
	}
	switch c := e.q[e.tok.start]; c {
	case '=', '<', '>', '!':
		for e.tok.kind == tokPunct && (e.isPunct('=') || e.isPunct('<') || e.isPunct('>') || e.isPunct('!')) {
			shifts := e.pos < len(e.q) && e.q[e.pos] == c && c != '='
			e.advance()
			if shifts {
				e.advance()
				return opArith
			}
		}
		return opTruth
	case '+', '-':
		e.advance()
		return opPlus
	case '*', '%':
		e.advance()
		return opArith
	case '&', '|':
		e.advance()
		if e.tok.kind == tokPunct && e.q[e.tok.start] == c {
			e.advance()
			if c == '|' {
				return opWrong // OR, or under PIPES_AS_CONCAT what binds more tightly than +
			}
			return opTruth
		}
		return opArith
	case '/', '^':
		e.advance()
		return opChanges
	case ':':
		e.advance()
		return opWrong
	}
	return opNone
}

// operand reads an operand with its signs and what is attached to it.
func (e *carriedExpr) operand() carried {
	signed, flips, binary := false, false, false
	for {
		switch {
		case e.isPunct('-'), e.isPunct('+'):
			signed = true
		case e.isPunct('~'), e.isPunct('!'):
			flips = true
		case e.isWord("binary") && !e.nextIsPunct('('):
			binary = true
		default:
			number := e.tok.kind == tokNumber
			c := e.primary()
			if e.isWord("collate") {
				e.advance()
				e.advance()
			}
			switch {
			case c == carriedUnknown:
			case flips && c != carriedInteger:
				c = carriedUnknown
			case signed && c != carriedInteger && !number: // of a column the type decides
				c = carriedUnknown
			case binary && c == carriedInteger:
				c = carriedText
			}
			return c
		}
		e.advance()
	}
}

// primary reads a literal, a column, a call or what is in brackets.
func (e *carriedExpr) primary() carried {
	switch e.tok.kind {
	case tokNumber:
		text := e.text(e.tok)
		e.advance()
		switch {
		case len(text) > 1 && text[0] == '0' && (text[1]|0x20 == 'x' || text[1]|0x20 == 'b'):
			return carriedUnknown // a string that is a number only where it is not carried
		case digits(text):
			return carriedInteger
		}
		return carriedAlone
	case tokString:
		return e.literal()
	case tokParam:
		e.advance()
		return carriedAlone
	case tokQuoted:
		return e.column()
	case tokWord:
		return e.word()
	case tokPunct:
		if e.isPunct('(') {
			return e.bracketed()
		}
	}
	return carriedUnknown
}

// hasOtherBytes reports whether a string of the text is not valid in utf8mb4, such as
// 'x\xe9y', and does not name its character set: in the column of a temporary table other
// bytes take their place.
func (e *carriedExpr) hasOtherBytes() bool {
	if utf8.ValidString(e.q) {
		return false
	}
	named := false
	for s := *e; s.tok.kind != tokEnd; s.advance() {
		text := s.text(s.tok)
		if s.tok.kind == tokString && !named && !utf8.ValidString(text) {
			return true
		}
		named = s.tok.kind == tokWord && text[0] == '_'
	}
	return false
}

// literal reads a string, and others that follow it.
func (e *carriedExpr) literal() carried {
	c := carriedText
	for e.tok.kind == tokString {
		if e.q[e.tok.start]|0x20 == 'b' {
			c = carriedUnknown // bits, as 0b1
		}
		e.advance()
	}
	return c
}

// bracketed reads an expression or a query in brackets.
func (e *carriedExpr) bracketed() carried {
	if e.nextIs("select") {
		return e.subquery()
	}
	e.advance()
	c := e.expr()
	if !e.acceptPunct(')') {
		// A row, or what is not known: the rest decides nothing but where it ends.
		e.close()
		return carriedUnknown
	}
	return c
}

// close moves past the bracket that closes the one that is open.
func (e *carriedExpr) close() {
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case e.isPunct(')'):
			if depth--; depth < 0 {
				e.advance()
				return
			}
		}
	}
}

// subquery reads a scalar subquery. A column's value may change on the way through
// it, as the value of a BIT does.
func (e *carriedExpr) subquery() carried {
	e.advance()
	e.advance()
	c := e.expr()
	if c != carriedInteger && c != carriedText && c != carriedNull || !e.isWord("from") && !e.isPunct(')') {
		c = carriedUnknown
	}
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case e.isPunct(')'):
			if depth--; depth < 0 {
				e.advance()
				return c
			}
		case depth == 0 && e.isAny("union", "except", "intersect", "minus"):
			c = carriedUnknown
		}
	}
	return carriedUnknown
}

// word reads what begins with a word.
func (e *carriedExpr) word() carried {
	switch {
	case e.nextIsPunct('('):
		return e.call()
	case e.isWord("null"):
		e.advance()
		return carriedNull
	case e.isAny("true", "false"):
		e.advance()
		return carriedInteger
	case e.isWord("case"):
		return e.cases()
	case e.isAny("date", "time", "timestamp"):
		if n, _ := e.peek(); n.kind == tokString {
			e.advance()
			e.advance()
			return carriedAlone
		}
	case e.isIn(carriedConstants):
		e.advance()
		return carriedAlone
	case e.isIn(carriedNoColumns), isDigit(e.q[e.tok.start]): // 0b1
		return carriedUnknown
	case e.q[e.tok.start] == '_':
		if n, _ := e.peek(); n.kind == tokString { // a string with its character set
			e.advance()
			return e.literal()
		}
	}
	return e.column()
}

// carriedConstants are functions that need no brackets.
var carriedConstants = newWordSet(`current_timestamp current_date current_time localtime localtimestamp
	utc_date utc_time utc_timestamp current_user current_role`)

// carriedNoColumns are words that begin an expression and are no columns.
var carriedNoColumns = newWordSet(`default next interval match row rownum select distinct all any some exists from as
	where group having order limit union then else end when over`)

// column reads the name of a column. All types of columns survive: a temporary table
// has them too.
func (e *carriedExpr) column() carried {
	for {
		if e.tok.kind != tokWord && e.tok.kind != tokQuoted {
			return carriedUnknown
		}
		e.advance()
		if !e.isPunct('.') {
			break
		}
		e.advance()
	}
	if e.isPunct('(') || e.isPunct(':') {
		return carriedUnknown // a function of a schema
	}
	if e.isPunct('-') && e.pos < len(e.q) && e.q[e.pos] == '>' {
		// column->'$.a' and ->> are JSON_EXTRACT, and text.
		for e.isPunct('-') || e.isPunct('>') {
			e.advance()
		}
		return e.literal()
	}
	return carriedAlone
}

// cases reads CASE … END, whose branches have to be of one type.
func (e *carriedExpr) cases() carried {
	e.advance()
	var b carriedBranches
	for depth := 0; e.tok.kind != tokEnd; {
		switch {
		case e.isPunct('('):
			depth++
		case e.isPunct(')'):
			depth--
		case depth == 0 && e.isWord("case"):
			e.cases() // of a condition
			continue
		case depth == 0 && e.isAny("then", "else"):
			e.advance()
			b.add(e.expr())
			continue
		case depth == 0 && e.isWord("end"):
			e.advance()
			return b.carried()
		}
		e.advance()
	}
	return carriedUnknown
}

// carriedBranches are the values one of which an expression has.
type carriedBranches struct {
	of    carried
	mixed bool
}

func (b *carriedBranches) add(c carried) {
	switch {
	case c == carriedNull:
	case c != carriedInteger && c != carriedText, b.of != carriedUnknown && b.of != c:
		b.mixed = true
	default:
		b.of = c
	}
}

// carried returns what is known about the value of one of the branches.
func (b *carriedBranches) carried() carried {
	switch {
	case b.mixed:
		return carriedUnknown
	case b.of == carriedUnknown:
		return carriedNull
	}
	return b.of
}
