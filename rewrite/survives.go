package rewrite

import (
	"encoding/hex"

	"github.com/keyfill/keyfill/dialect"
)

// MariaDB and MySQL work out ROW_NUMBER() in a temporary table, which holds each
// value of the row in a column of the value's type. Some values are others there:
// 1/3 has 4 digits behind the point, which without the table has 9, and 0x41 is a
// string, which without the table is a number where it is stored as one. What was
// compared on MariaDB 10.11 is in e2e/statements, TestSurvives.

// carried is what is known about a value in a temporary table.
type carried uint8

const (
	carriedUnknown carried = iota // it may be another value
	carriedAlone                  // it is the same, but not as a branch of IF or CASE, and not in a sum
	carriedNull
	carriedText
	carriedInteger
)

// survives reports whether the value of an item of a select list is the same after it
// was stored in a temporary table, whatever the types of its columns. It says no for
// what it does not know. The item may have an alias.
func survives(d *dialect.Dialect, item string) bool {
	e := newCarriedExpr(d, item)
	if e.star() {
		return true
	}
	if e.expr() == carriedUnknown {
		return false
	}
	e.accept("as")
	if e.tok.kind == tokWord || e.tok.kind == tokQuoted || e.tok.kind == tokString {
		e.advance()
	}
	return e.tok.kind == tokEnd
}

// carriedExpr reads an expression to find out what is known about its value.
type carriedExpr struct{ parser }

func newCarriedExpr(d *dialect.Dialect, text string) *carriedExpr {
	e := &carriedExpr{parser{scanner: scanner{d: d, q: text}}}
	e.read()
	return e
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

// operator reads an operator between operands, with what stands behind it that is no
// operand; opNone where there is none.
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
// it, as that of a BIT.
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

// call reads the call of a function, with OVER.
func (e *carriedExpr) call() carried {
	c := e.called()
	if e.isWord("over") {
		if e.advance(); e.isPunct('(') {
			e.brackets()
		} else {
			e.advance()
		}
		if c != carriedInteger {
			return carriedUnknown
		}
	}
	return c
}

func (e *carriedExpr) called() carried {
	switch {
	case e.isAny("cast", "convert"):
		return e.cast()
	case e.isWord("if"):
		e.advance()
		e.advance()
		e.condition()
		e.advance()
		return e.choice()
	case e.isAny("ifnull", "coalesce", "nullif", "nvl"):
		e.advance()
		e.advance()
		return e.choice()
	case e.isAny("abs", "sign", "floor", "ceil", "ceiling", "round", "truncate", "greatest", "least", "max", "min", "sum", "any_value"):
		return e.sameKind()
	case e.isIn(carriedTexts):
		return e.behind(carriedText)
	case e.isIn(carriedIntegers):
		return e.behind(carriedInteger)
	case e.isIn(carriedTimes):
		return e.behind(carriedAlone)
	}
	e.behind(carriedUnknown)
	return carriedUnknown
}

// behind moves past a call, of which c is known whatever its arguments are.
func (e *carriedExpr) behind(c carried) carried {
	e.advance()
	e.brackets()
	return c
}

// carriedTexts are functions whose value is text or bytes, whatever the arguments.
var carriedTexts = newWordSet(`concat concat_ws upper lower ucase lcase trim ltrim rtrim left right substring substr mid
	substring_index replace reverse repeat lpad rpad space md5 sha sha1 sha2 hex unhex to_base64 from_base64
	regexp_replace quote group_concat json_object json_array json_quote json_unquote json_extract json_value
	json_arrayagg json_objectagg uuid user current_user session_user system_user database schema version
	dayname monthname inet6_aton`)

// carriedIntegers are functions whose value is an integer, whatever the arguments.
var carriedIntegers = newWordSet(`count length octet_length char_length character_length bit_length ascii instr locate
	position field find_in_set strcmp isnull crc32 bit_count inet_aton json_length json_valid
	year month day dayofmonth dayofweek weekday week quarter hour to_days datediff timestampdiff
	exists row_number rank dense_rank ntile connection_id interval`)

// carriedTimes are functions whose value is a date or time.
var carriedTimes = newWordSet(`now current_timestamp current_date current_time localtime localtimestamp curdate curtime
	utc_date utc_time utc_timestamp date last_day makedate date_add date_sub`)

// sameKind reads the call of a function whose value is an integer if its arguments
// are.
func (e *carriedExpr) sameKind() carried {
	sums := e.isWord("sum")
	e.advance()
	e.advance()
	e.accept("distinct")
	for c := carriedInteger; ; {
		if c = min(c, e.expr()); e.acceptPunct(',') {
			continue
		}
		if !e.acceptPunct(')') {
			e.close()
			return carriedUnknown
		}
		switch {
		case c != carriedInteger:
			return carriedUnknown
		case sums:
			return carriedAlone // a decimal
		}
		return c
	}
}

// choice reads what is behind the bracket of a function whose value is one of its
// arguments.
func (e *carriedExpr) choice() carried {
	var b carriedBranches
	for {
		b.add(e.expr())
		switch {
		case e.acceptPunct(','):
		case e.acceptPunct(')'):
			return b.carried()
		default:
			e.close()
			return carriedUnknown
		}
	}
}

// condition moves to the comma behind the condition of IF, whatever it is.
func (e *carriedExpr) condition() {
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case depth == 0 && (e.isPunct(',') || e.isPunct(')')):
			return
		case e.isPunct(')'):
			depth--
		}
	}
}

// cast reads CAST(x AS type), CONVERT(x, type) and CONVERT(x USING charset). The
// type decides, whatever x is.
func (e *carriedExpr) cast() carried {
	e.advance()
	e.advance()
	c := carriedUnknown
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case e.isPunct(')'):
			if depth--; depth < 0 {
				e.advance()
				return c
			}
		case depth > 0:
		case e.isWord("using"):
			c = carriedText
		case e.isWord("as"), e.isPunct(','):
			n, _ := e.peek()
			switch word := e.text(n); {
			case n.kind != tokWord:
			case equalAny(word, "char", "nchar", "binary", "varchar"):
				c = carriedText
			case equalAny(word, "signed", "unsigned", "integer", "int"):
				c = carriedInteger
			case equalAny(word, "decimal", "dec", "double", "date", "datetime", "time"):
				c = carriedAlone
			}
		}
	}
	return carriedUnknown
}

// feeding are words before a bracket whose query gives rows, not the value of an
// expression.
var feeding = newWordSet("from join straight_join lateral as union all distinct except intersect minus")

// Doubt is a column of a query whose value may be another one after a temporary table. It
// is the same if the engine says that it is an integer.
type Doubt struct {
	Column int // from 0

	// Call says that it is the result of a stored function, which is the same but for
	// the types FLOAT, BIT and YEAR.
	Call bool
}

// isStored reports whether an item is a call of a stored function and nothing else but an
// alias.
func isStored(d *dialect.Dialect, item string) bool {
	e := newCarriedExpr(d, item)
	if e.tok.kind != tokWord || !e.mayChange() || e.isWord("extract") {
		return false
	}
	e.behind(carriedAlone)
	e.accept("as")
	if e.tok.kind == tokWord || e.tok.kind == tokQuoted {
		e.advance()
	}
	return e.tok.kind == tokEnd
}

// querySurvives reports whether no item of a query's lists may change in a temporary
// table. The lists of derived tables and common table expressions are its own, since the
// engine may merge them into it. Where one may change, offset is the place of the first
// such item. doubts are the columns of the query that have one, nil if other items may
// change too.
func (p *parser) querySurvives(q span) (offset int, doubts []Doubt, ok bool) {
	e := newCarriedExpr(p.d, p.q[:q.end])
	e.pos = q.start
	e.read()
	if e.isWord("table") {
		return 0, nil, true // its columns
	}
	if !e.isAny("select", "with") && !e.isPunct('(') {
		return q.start, nil, false // VALUES
	}
	feeds := true // the rows of a query in the bracket that was opened last
	known := true // all doubts are about columns
	offset = -1
	var last token
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
			before := e.text(last)
			feeds = last.end == 0 || before == "," || before == "(" && feeds || last.kind == tokWord && feeding.has(before)
		case e.isPunct(')'):
			depth--
		case e.isWord("values"):
			return e.tok.start, nil, false
		case e.isWord("select") && (feeds || e.text(last) != "("):
			at, columns, stars := e.listDoubts()
			if len(columns) > 0 && offset < 0 {
				offset = at
			}
			known = known && (len(columns) == 0 || depth == 0 && !stars)
			doubts = append(doubts, columns...)
		}
		last = e.tok
	}
	switch {
	case offset < 0:
		return 0, nil, true
	case !known:
		doubts = nil
	}
	return offset, doubts, false
}

// listDoubts returns the items of the list of the SELECT here that may change, the place
// of the first, and whether one stands for several columns.
func (e *carriedExpr) listDoubts() (offset int, items []Doubt, stars bool) {
	s := *e
	s.advance()
	for s.isIn(selectModifiers) {
		s.advance()
	}
	for start, depth, n := s.tok.start, 0, 0; ; s.advance() {
		ends := depth == 0 && (s.isIn(listEnds) && s.q[s.prev-1] != '.' || s.isPunct(')') || s.tok.kind == tokEnd)
		switch {
		case ends, depth == 0 && s.isPunct(','):
			item := s.q[start:max(start, s.prev)]
			if !survives(s.d, item) {
				if items == nil {
					offset = start
				}
				items = append(items, Doubt{n, isStored(s.d, item)})
			} else if star := newCarriedExpr(s.d, item); star.star() {
				stars = true
			}
			if ends {
				return offset, items, stars
			}
			start = s.pos
			n++
		case s.tok.kind == tokEnd:
			if items == nil {
				offset = start
			}
			return offset, append(items, Doubt{Column: n}), true
		case s.isPunct('('):
			depth++
		case s.isPunct(')'):
			depth--
		}
	}
}

// selectModifiers are the words of MySQL and MariaDB between SELECT and its list.
var selectModifiers = newWordSet(`all distinct distinctrow straight_join high_priority sql_small_result sql_big_result
	sql_buffer_result sql_no_cache sql_cache sql_calc_found_rows`)

// Views returns an expression for the number of views that the queries whose rows are
// numbered in a temporary table may read: the columns of a view may be expressions, which
// are not in the text. Each name is compared with =, for which MySQL and MariaDB read the
// files of one table: see describeMySQL in package catalog.
func (pl *Plan) Views() string {
	schemas, tables := pl.relations()
	from := []string{"DATABASE()"}
	for _, s := range schemas {
		from = append(from, nameLiteral(s))
	}
	text := "0"
	for _, table := range tables {
		for _, schema := range from {
			text += " + (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = " + schema +
				" AND TABLE_NAME = " + nameLiteral(table) + " AND TABLE_TYPE LIKE '%VIEW')"
		}
	}
	return text
}

// nameLiteral returns a name as a string that is read alike under each sql_mode.
func nameLiteral(name string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(name)) + "'" }

// relations returns the names, as the engine has them, of what the queries whose rows are
// numbered in a temporary table may read: of schemas and of tables, with some that are
// columns and aliases.
func (pl *Plan) relations() (schemas, tables []string) {
	for i := range pl.Inserts {
		q := pl.Inserts[i].Query
		if q == nil || !q.merged {
			continue
		}
		e := newCarriedExpr(pl.d, pl.query[:q.main.end])
		e.pos = q.main.start
		e.read()
		var last token
		for ; e.tok.kind != tokEnd; e.advance() {
			before := e.text(last)
			names := last.kind == tokWord && feeding.has(before) || last.kind == tokPunct && (before == "," || before == "(") || before == "."
			if names && (e.tok.kind == tokWord || e.tok.kind == tokQuoted) {
				name := e.exact(e.text(e.tok), e.tok.kind)
				if n, _ := e.peek(); e.text(n) == "." {
					schemas = append(schemas, name)
				} else {
					tables = append(tables, name)
				}
			}
			last = e.tok
		}
	}
	return schemas, tables
}
