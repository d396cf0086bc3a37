package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// clausePlace is a place among the words of upsert clauses and RETURNING, outside of
// brackets. Where a clause begins or continues, only words that keyfill knows are accepted:
// a later version of the engine may give another word a meaning. In expressions
// (placeExpression and the places after it) the engine checks unknown words.
//
//	ON CONFLICT [(…) [WHERE …] | ON CONSTRAINT name] DO {NOTHING | UPDATE SET … [WHERE …]}
//	ON DUPLICATE KEY UPDATE …
//	RETURNING … | RETURN …
//	LOG ERRORS [INTO name] [(…)] [REJECT LIMIT n]
//
// PostgreSQL 18 and SQLite, "INSERT"; MySQL 8.4 Reference Manual, section 15.2.7.2;
// MariaDB, "INSERT ... RETURNING"; Oracle SQL Language Reference 23, "INSERT".
type clausePlace uint8

const (
	placeClause     clausePlace = iota // a clause begins, or the text ends
	placeOn                            // after ON
	placeConflict                      // after ON CONFLICT
	placeTarget                        // after the columns of ON CONFLICT
	placeConstraint                    // after ON CONFLICT ON
	placeName                          // after ON CONFLICT ON CONSTRAINT
	placeNamed                         // after the name of the constraint
	placeDo                            // after DO
	placeUpdate                        // after DO UPDATE
	placeDuplicate                     // after ON DUPLICATE
	placeKey                           // after ON DUPLICATE KEY
	placeLog                           // after LOG
	placeErrors                        // after LOG ERRORS, and after its table and tag
	placeInto                          // in the name after LOG ERRORS INTO
	placeReject                        // after REJECT
	placeLimit                         // after REJECT LIMIT
	placeCondition                     // in the WHERE before DO
	placeExpression                    // in the update part
	placeRest                          // in RETURNING, to the end
)

// goesOn returns the place after the current token, which is outside of brackets, and
// reports whether the token may stand at the place at. Brackets with all their content
// count as one token.
func goesOn(p *reader.Reader, at clausePlace) (next clausePlace, ok bool) {
	g := &p.Dialect.Grammar
	switch at {
	case placeClause, placeExpression:
		switch {
		case p.IsWord("on"):
			return placeOn, true
		case p.IsWord("returning"), g.ReturningInto && p.IsWord("return"):
			return placeRest, true
		case g.ReturningInto && p.IsWord("log"):
			return placeLog, true
		}
		return at, at == placeExpression
	case placeOn:
		if g.OnConflict && p.IsWord("conflict") {
			return placeConflict, true
		}
		return placeDuplicate, g.OnDuplicateKey && p.IsWord("duplicate")
	case placeDuplicate:
		return placeKey, p.IsWord("key")
	case placeKey:
		return placeExpression, p.IsWord("update")
	case placeConflict:
		switch {
		case p.IsPunct('('):
			return placeTarget, true
		case p.IsWord("on"):
			return placeConstraint, true
		}
		return placeDo, p.IsWord("do")
	case placeConstraint:
		return placeName, p.IsWord("constraint")
	case placeName:
		return placeNamed, p.Token.Kind == scan.Word || p.Token.Kind == scan.Quoted
	case placeTarget:
		if p.IsWord("where") {
			return placeCondition, true
		}
		return placeDo, p.IsWord("do")
	case placeNamed:
		return placeDo, p.IsWord("do")
	case placeCondition:
		if q := *p; p.IsWord("do") {
			if q.Advance(); q.IsAny("nothing", "update") {
				return placeDo, true
			}
		}
		return placeCondition, true
	case placeDo:
		if p.IsWord("nothing") {
			return placeClause, true
		}
		return placeUpdate, p.IsWord("update")
	case placeUpdate:
		return placeExpression, p.IsWord("set")
	case placeLog:
		return placeErrors, p.IsWord("errors")
	case placeErrors:
		switch {
		case p.IsWord("into"):
			return placeInto, true
		case p.IsWord("reject"):
			return placeReject, true
		case p.IsPunct('.'):
			return placeInto, true
		}
		return placeErrors, p.IsPunct('(')
	case placeInto:
		return placeErrors, p.Token.Kind == scan.Word || p.Token.Kind == scan.Quoted
	case placeReject:
		return placeLimit, p.IsWord("limit")
	case placeLimit:
		return placeClause, p.Token.Kind == scan.Number || p.Token.Kind == scan.Placeholder || p.IsWord("unlimited")
	}
	return at, true
}
