package selects

import (
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// carriedExpr reads an expression to find out whether its value stays the same in a
// temporary table.
type carriedExpr struct{ reader.Reader }

// newCarriedExpr returns a reader of an expression.
func newCarriedExpr(d *dialect.Dialect, text string) *carriedExpr {
	return &carriedExpr{reader.At(d, text, 0)}
}

// star reports whether the text is * or t.*.
func (e *carriedExpr) star() bool {
	s := *e
	for s.Token.Kind == scan.Word || s.Token.Kind == scan.Quoted {
		if s.Advance(); !s.AcceptPunct('.') {
			return false
		}
	}
	return s.AcceptPunct('*') && s.Token.Kind == scan.End
}

// looseness says how loosely an operator binds its operands.
type looseness uint8

const (
	opNone    looseness = iota
	opDiv               // DIV, whose result is an integer
	opArith             // other arithmetic operators, and bitwise ones
	opPlus              // + and -, which may add an interval
	opChanges           // operators whose result has other digits in a temporary table
	opTruth             // comparisons and logic, whose result is 0 or 1
	opWrong             // unknown operators
)

// expr reads an expression up to the first token that cannot continue it, and returns what
// is known about its value in a temporary table. The operator that binds most loosely
// decides.
func (e *carriedExpr) expr() carried {
	not := e.Accept("not")
	first := e.operand()
	all, loosest, operators := first, opNone, 0
	divides, interval := true, false
	for op := e.operator(); op != opNone; op = e.operator() {
		loosest, divides = max(loosest, op), divides && op == opDiv
		operators++
		if op == opPlus && e.Accept("interval") {
			interval = true
			e.operand()
			e.Advance() // its unit
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

// operator reads the operator between two operands, and the words after it that are no
// operand, such as NOT. It returns opNone if there is no operator.
func (e *carriedExpr) operator() looseness {
	switch {
	case e.IsAny("and", "xor"), e.IsWord("or"):
		e.Advance()
		e.Accept("not")
		return opTruth
	case e.IsWord("is"):
		e.Advance()
		e.Accept("not")
		return opTruth // the next word is the operand, such as NULL or TRUE
	case e.IsWord("not"):
		e.Advance() // skips the NOT before LIKE, IN or BETWEEN
		return e.operator()
	case e.IsAny("like", "regexp", "rlike", "between", "escape"):
		e.Advance()
		return opTruth
	case e.IsWord("in"):
		e.Advance()
		return opTruth // the list after IN is the operand
	case e.IsWord("div"):
		e.Advance()
		return opDiv
	case e.IsWord("mod"):
		e.Advance()
		return opArith
	case e.Token.Kind != scan.Punct:
		return opNone
	}
	switch c := e.Text[e.Token.Start]; c {
	case '=', '<', '>', '!':
		for e.Token.Kind == scan.Punct && (e.IsPunct('=') || e.IsPunct('<') || e.IsPunct('>') || e.IsPunct('!')) {
			shifts := e.Pos < len(e.Text) && e.Text[e.Pos] == c && c != '='
			e.Advance()
			if shifts {
				e.Advance()
				return opArith
			}
		}
		return opTruth
	case '+', '-':
		e.Advance()
		return opPlus
	case '*', '%':
		e.Advance()
		return opArith
	case '&', '|':
		e.Advance()
		if e.Token.Kind == scan.Punct && e.Text[e.Token.Start] == c {
			e.Advance()
			if c == '|' {
				return opWrong // OR, or under PIPES_AS_CONCAT an operator that binds more tightly than +
			}
			return opTruth
		}
		return opArith
	case '/', '^':
		e.Advance()
		return opChanges
	case ':':
		e.Advance()
		return opWrong
	}
	return opNone
}

// operand reads an operand with its signs and COLLATE.
func (e *carriedExpr) operand() carried {
	signed, flips, binary := false, false, false
	for {
		switch {
		case e.IsPunct('-'), e.IsPunct('+'):
			signed = true
		case e.IsPunct('~'), e.IsPunct('!'):
			flips = true
		case e.IsWord("binary") && !e.NextIsPunct('('):
			binary = true
		default:
			number := e.Token.Kind == scan.Number
			c := e.primary()
			if e.IsWord("collate") {
				e.Advance()
				e.Advance()
			}
			switch {
			case c == carriedUnknown:
			case flips && c != carriedInteger:
				c = carriedUnknown
			case signed && c != carriedInteger && !number: // the sign of a column depends on its type
				c = carriedUnknown
			case binary && c == carriedInteger:
				c = carriedText
			}
			return c
		}
		e.Advance()
	}
}

// primary reads a literal, a column, a call or an expression in brackets.
func (e *carriedExpr) primary() carried {
	switch e.Token.Kind {
	case scan.Number:
		text := e.TextOf(e.Token)
		e.Advance()
		switch {
		case len(text) > 1 && text[0] == '0' && (text[1]|0x20 == 'x' || text[1]|0x20 == 'b'):
			return carriedUnknown // such a literal is a string in a temporary table, but elsewhere perhaps a number
		case scan.Digits(text):
			return carriedInteger
		}
		return carriedAlone
	case scan.String:
		return e.literal()
	case scan.Placeholder:
		e.Advance()
		return carriedAlone
	case scan.Quoted:
		return e.column()
	case scan.Word:
		return e.word()
	case scan.Punct:
		if e.IsPunct('(') {
			return e.bracketed()
		}
	}
	return carriedUnknown
}

// hasOtherBytes reports whether a string of the text is not valid in utf8mb4, such as
// 'x\xe9y', and does not name its character set: the column of a temporary table changes
// its bytes.
func (e *carriedExpr) hasOtherBytes() bool {
	if utf8.ValidString(e.Text) {
		return false
	}
	named := false
	for s := *e; s.Token.Kind != scan.End; s.Advance() {
		text := s.TextOf(s.Token)
		if s.Token.Kind == scan.String && !named && !utf8.ValidString(text) {
			return true
		}
		named = s.Token.Kind == scan.Word && text[0] == '_'
	}
	return false
}

// literal reads a string, and the strings that directly follow it.
func (e *carriedExpr) literal() carried {
	c := carriedText
	for e.Token.Kind == scan.String {
		if e.Text[e.Token.Start]|0x20 == 'b' {
			c = carriedUnknown // b'1' is a bit string, as 0b1 is
		}
		e.Advance()
	}
	return c
}

// bracketed reads an expression or a query that is in brackets.
func (e *carriedExpr) bracketed() carried {
	if e.NextIs("select") {
		return e.subquery()
	}
	e.Advance()
	c := e.expr()
	if !e.AcceptPunct(')') {
		// The brackets hold a row, or something unknown, and are skipped.
		e.close()
		return carriedUnknown
	}
	return c
}

// close moves past the closing bracket of the innermost open bracket.
func (e *carriedExpr) close() {
	for depth := 0; e.Token.Kind != scan.End; e.Advance() {
		switch {
		case e.IsPunct('('):
			depth++
		case e.IsPunct(')'):
			if depth--; depth < 0 {
				e.Advance()
				return
			}
		}
	}
}

// subquery reads a subquery that gives one value, and returns what is known about that
// value in a temporary table. The value of a column, such as a BIT, may change in a
// subquery.
func (e *carriedExpr) subquery() carried {
	e.Advance()
	e.Advance()
	c := e.expr()
	if c != carriedInteger && c != carriedText && c != carriedNull || !e.IsWord("from") && !e.IsPunct(')') {
		c = carriedUnknown
	}
	for depth := 0; e.Token.Kind != scan.End; e.Advance() {
		switch {
		case e.IsPunct('('):
			depth++
		case e.IsPunct(')'):
			if depth--; depth < 0 {
				e.Advance()
				return c
			}
		case depth == 0 && e.IsAny("union", "except", "intersect", "minus"):
			c = carriedUnknown
		}
	}
	return carriedUnknown
}

// word reads an operand that begins with a word.
func (e *carriedExpr) word() carried {
	switch {
	case e.NextIsPunct('('):
		return e.call()
	case e.IsWord("null"):
		e.Advance()
		return carriedNull
	case e.IsAny("true", "false"):
		e.Advance()
		return carriedInteger
	case e.IsWord("case"):
		return e.cases()
	case e.IsAny("date", "time", "timestamp"):
		if n, _ := e.Peek(); n.Kind == scan.String {
			e.Advance()
			e.Advance()
			return carriedAlone
		}
	case e.IsIn(carriedConstants):
		e.Advance()
		return carriedAlone
	case e.IsIn(carriedNoColumns), scan.IsDigit(e.Text[e.Token.Start]): // 0b1
		return carriedUnknown
	case e.Text[e.Token.Start] == '_':
		if n, _ := e.Peek(); n.Kind == scan.String { // a string after its character set: _latin1'a'
			e.Advance()
			return e.literal()
		}
	}
	return e.column()
}

// carriedConstants are functions that need no brackets.
var carriedConstants = scan.NewWordSet(`current_timestamp current_date current_time localtime localtimestamp
	utc_date utc_time utc_timestamp current_user current_role`)

// carriedNoColumns are words that begin an expression but name no column.
var carriedNoColumns = scan.NewWordSet(`default next interval match row rownum select distinct all any some exists from as
	where group having order limit union then else end when over`)

// column reads the name of a column. The values of all column types stay the same, because
// a temporary table has columns of these types too.
func (e *carriedExpr) column() carried {
	for {
		if e.Token.Kind != scan.Word && e.Token.Kind != scan.Quoted {
			return carriedUnknown
		}
		e.Advance()
		if !e.IsPunct('.') {
			break
		}
		e.Advance()
	}
	if e.IsPunct('(') || e.IsPunct(':') {
		return carriedUnknown // a call of a function in a schema, or something unknown
	}
	if e.IsPunct('-') && e.Pos < len(e.Text) && e.Text[e.Pos] == '>' {
		// column->'$.a' and ->> are JSON_EXTRACT, and return text.
		for e.IsPunct('-') || e.IsPunct('>') {
			e.Advance()
		}
		return e.literal()
	}
	return carriedAlone
}

// cases reads CASE … END. Its value is known only if all branches have one type.
func (e *carriedExpr) cases() carried {
	e.Advance()
	var b carriedBranches
	for depth := 0; e.Token.Kind != scan.End; {
		switch {
		case e.IsPunct('('):
			depth++
		case e.IsPunct(')'):
			depth--
		case depth == 0 && e.IsWord("case"):
			e.cases() // a CASE in a condition
			continue
		case depth == 0 && e.IsAny("then", "else"):
			e.Advance()
			b.add(e.expr())
			continue
		case depth == 0 && e.IsWord("end"):
			e.Advance()
			return b.carried()
		}
		e.Advance()
	}
	return carriedUnknown
}

// carriedBranches collects what is known about the branches of an expression, such as CASE,
// whose value is the value of one branch.
type carriedBranches struct {
	of    carried
	mixed bool
}

// add adds the value of a branch.
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
