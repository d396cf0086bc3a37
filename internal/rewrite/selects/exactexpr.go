package selects

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Arithmetic without a division has the same value in a temporary table if its operands
// are integers and decimals. The text does not show the types of its columns: see
// rowcount.OperandsQuery.

// exactOperands returns the columns of an item of a select list that is arithmetic without
// a division; nil for any other item. The item may have an alias.
func exactOperands(d *dialect.Dialect, item string) []string {
	e := &exactExpr{carriedExpr: newCarriedExpr(d, item)}
	if !e.expr() {
		return nil
	}
	e.Accept("as")
	if e.Token.Kind == scan.Word || e.Token.Kind == scan.Quoted || e.Token.Kind == scan.String {
		e.Advance()
	}
	if e.Token.Kind != scan.End {
		return nil
	}
	return e.columns
}

// exactExpr reads an expression to find out whether it is exact arithmetic.
type exactExpr struct {
	*carriedExpr
	columns []string
}

// exactFunctions are functions whose value is exact if their arguments are.
var exactFunctions = scan.NewWordSet("sum min max abs floor ceil ceiling round truncate mod")

// expr reads an expression, and reports whether it is exact arithmetic.
func (e *exactExpr) expr() bool {
	for {
		for e.IsPunct('-') || e.IsPunct('+') {
			e.Advance()
		}
		if !e.operand() {
			return false
		}
		switch {
		case e.IsPunct('+'), e.IsPunct('-'), e.IsPunct('*'), e.IsPunct('%'), e.IsWord("div"), e.IsWord("mod"):
			e.Advance()
		default:
			return true
		}
	}
}

// operand reads an operand, and reports whether it may be part of exact arithmetic.
func (e *exactExpr) operand() bool {
	switch {
	case e.Token.Kind == scan.Number:
		text := e.TextOf(e.Token)
		e.Advance()
		return strings.Trim(text, "0123456789.") == ""
	case e.AcceptPunct('('):
		return !e.IsWord("select") && e.expr() && e.AcceptPunct(')')
	case e.IsIn(exactFunctions) && e.NextIsPunct('('):
		e.Advance()
		e.Advance()
		e.Accept("distinct")
		for e.expr() {
			if e.AcceptPunct(',') {
				continue
			}
			return e.AcceptPunct(')') && !e.IsWord("over")
		}
		return false
	case e.Token.Kind == scan.Word && (e.IsIn(carriedNoColumns) || e.IsIn(carriedConstants) || e.IsAny("null", "true", "false", "case", "binary", "interval", "not")):
		return false
	}
	start := e.Token.Start
	for e.Token.Kind == scan.Word || e.Token.Kind == scan.Quoted {
		if e.Advance(); !e.AcceptPunct('.') {
			e.columns = append(e.columns, e.Text[start:e.PrevEnd])
			return !e.IsPunct('(')
		}
	}
	return false
}
