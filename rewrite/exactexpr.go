package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Arithmetic without a division has the same value in a temporary table if its operands are
// integers and decimals. Which types its columns have is not in the text: see Plan.Operands.

// exactOperands returns the columns of an item that is such arithmetic, nil for any other.
// The item may have an alias.
func exactOperands(d *dialect.Dialect, item string) []string {
	e := &exactExpr{carriedExpr: newCarriedExpr(d, item)}
	if !e.expr() {
		return nil
	}
	e.accept("as")
	if e.tok.kind == tokWord || e.tok.kind == tokQuoted || e.tok.kind == tokString {
		e.advance()
	}
	if e.tok.kind != tokEnd {
		return nil
	}
	return e.columns
}

// exactExpr reads an expression to find out whether it is exact arithmetic.
type exactExpr struct {
	*carriedExpr
	columns []string
}

// exactFunctions are those whose value is exact if their arguments are.
var exactFunctions = newWordSet("sum min max abs floor ceil ceiling round truncate mod")

func (e *exactExpr) expr() bool {
	for {
		for e.isPunct('-') || e.isPunct('+') {
			e.advance()
		}
		if !e.operand() {
			return false
		}
		switch {
		case e.isPunct('+'), e.isPunct('-'), e.isPunct('*'), e.isPunct('%'), e.isWord("div"), e.isWord("mod"):
			e.advance()
		default:
			return true
		}
	}
}

func (e *exactExpr) operand() bool {
	switch {
	case e.tok.kind == tokNumber:
		text := e.text(e.tok)
		e.advance()
		return strings.Trim(text, "0123456789.") == ""
	case e.acceptPunct('('):
		return !e.isWord("select") && e.expr() && e.acceptPunct(')')
	case e.isIn(exactFunctions) && e.nextIsPunct('('):
		e.advance()
		e.advance()
		e.accept("distinct")
		for e.expr() {
			if e.acceptPunct(',') {
				continue
			}
			return e.acceptPunct(')') && !e.isWord("over")
		}
		return false
	case e.tok.kind == tokWord && (e.isIn(carriedNoColumns) || e.isIn(carriedConstants) || e.isAny("null", "true", "false", "case", "binary", "interval", "not")):
		return false
	}
	start := e.tok.start
	for e.tok.kind == tokWord || e.tok.kind == tokQuoted {
		if e.advance(); !e.acceptPunct('.') {
			e.columns = append(e.columns, e.q[start:e.prev])
			return !e.isPunct('(')
		}
	}
	return false
}

// fromEnds are the words that end the FROM clause of a query.
var fromEnds = newWordSet("where group having window order limit offset fetch for lock into procedure rows union except intersect minus")

// Operands returns a query, without a row, for the types of the columns of the exact
// arithmetic of an INSERT's [Doubt]s, in their order. It is "" where their names cannot be
// read beside the FROM clause alone.
func (pl *Plan) Operands(insert int) string {
	q := pl.Inserts[insert].Query
	var columns []string
	for _, d := range q.doubts {
		columns = append(columns, d.Operands...)
	}
	if len(columns) == 0 || !q.outer.empty() || !q.near.empty() || q.inner.end > q.inner.start || q.SetRow {
		return ""
	}
	e := readerAt(pl.Dialect, pl.query[:q.main.end], q.main.start)
	if !e.isWord("select") {
		return ""
	}
	from := 0
	for depth := 0; e.tok.kind != tokEnd && !(depth == 0 && from > 0 && e.isIn(fromEnds)); e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case e.isPunct(')'):
			depth--
		case from > 0 && e.tok.kind == tokParam:
			return ""
		case depth == 0 && from == 0 && e.isWord("from"):
			from = e.tok.start
		}
	}
	if from == 0 {
		return ""
	}
	return "SELECT " + strings.Join(columns, ", ") + " " + pl.query[from:e.prev] + " LIMIT 0"
}
