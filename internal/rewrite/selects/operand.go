package selects

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// operandPlace is a place among the operands of the set operations of a query, outside of
// all brackets except those around an operand. After an operand in brackets and after
// TABLE name, only words that keyfill knows may follow: a later version of the engine may
// have a clause of the INSERT there, which would move into the WITH clause with the
// query. After any other SELECT an unknown word may be an alias or a part of an
// expression.
//
//	operand = "(" … ")" | TABLE [ONLY] name [*] | SELECT …
//	query   = operand { {UNION | EXCEPT | INTERSECT | MINUS} [ALL | DISTINCT] operand } [ORDER … | LIMIT … | …]
//
// PostgreSQL 18, "SELECT"; MySQL 8.4 Reference Manual, sections 15.2.14 and 15.2.16;
// MariaDB, "UNION"; Transact-SQL reference, "Set Operators"; Oracle SQL Language
// Reference 23, "SELECT".
type operandPlace uint8

const (
	operandBegins   operandPlace = iota // an operand begins
	operandBrackets                     // inside an operand in brackets
	operandTable                        // after TABLE
	operandNamed                        // after the name of the table
	operandEnded                        // after a whole operand
	operandOther                        // in any other operand, and in the clauses after the last
)

// operandEnds are the words that may follow a whole operand, besides words of the INSERT's
// own clauses.
var operandEnds = scan.NewWordSet("union except intersect minus order limit offset fetch for lock into procedure")

// surveyedOperand reads one token of a query. It refuses the query if the token may not
// follow the operand before it.
func surveyedOperand(p *reader.Reader, s *Facts, depth *int) {
	at, ok := operandAfter(p, s.place.operand, *depth)
	s.place.operand = at
	surveyed(p, s, depth)
	if !ok && s.Reason == "" {
		s.refuse(p.Grammar())
		s.Blamed = p.Token.Start
	}
}

// operandAfter returns the place after the current token, and reports whether the token may
// stand here. at is the place before the token, and depth is how many brackets are open
// before it.
func operandAfter(p *reader.Reader, at operandPlace, depth int) (next operandPlace, ok bool) {
	switch {
	case at == operandBrackets:
		if depth == 1 && p.IsPunct(')') {
			return operandEnded, true
		}
		return at, true
	case depth > 0:
		return at, true
	case at == operandBegins:
		switch {
		case p.IsPunct('('):
			return operandBrackets, true
		case p.IsWord("table"):
			return operandTable, true
		case p.IsAny("all", "distinct"):
			return operandBegins, true
		}
		return operandOther, true
	case at == operandTable:
		if p.IsWord("only") || p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted {
			return operandTable, true
		}
		return operandNamed, true
	case at == operandNamed && p.IsPunct('.'):
		return operandTable, true
	case at == operandNamed && p.IsPunct('*'):
		return operandEnded, true
	case p.IsAny("union", "except", "intersect"):
		return operandBegins, true
	}
	return operandOther, at == operandOther || p.IsIn(operandEnds)
}
