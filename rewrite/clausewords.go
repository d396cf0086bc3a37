package rewrite

// clausePlace is a place among the words of upsert clauses and RETURNING, outside of
// brackets. Only words that keyfill knows may stand at a place where a clause begins or goes
// on: a later version of the engine may give another word a meaning. In expressions
// (placeExpression and the places after it) unknown words are the engine's business.
//
//	ON CONFLICT [(…) [WHERE …] | ON CONSTRAINT name] DO {NOTHING | UPDATE SET … [WHERE …]}
//	ON DUPLICATE KEY UPDATE …
//	RETURNING … | RETURN …
//	LOG ERRORS [INTO name] [(…)] [REJECT LIMIT n]
//
// PostgreSQL 18 and SQLite, "INSERT"; MySQL 8.4 Reference Manual, section 15.2.7.2; MariaDB,
// "INSERT ... RETURNING"; Oracle SQL Language Reference 23, "INSERT".
type clausePlace uint8

const (
	placeClause     clausePlace = iota // a clause begins, or the text ends
	placeOn                            // after ON
	placeConflict                      // after ON CONFLICT
	placeTarget                        // after the columns of ON CONFLICT
	placeConstraint                    // after ON CONFLICT ON
	placeName                          // after ON CONFLICT ON CONSTRAINT
	placeNamed                         // after that name
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

// goesOn returns the place after the current token, which stands outside of brackets, and
// reports whether it may stand here. Opening brackets count as the token for all that they
// hold.
func (p *reader) goesOn(at clausePlace) (next clausePlace, ok bool) {
	g := &p.d.Grammar
	switch at {
	case placeClause, placeExpression:
		switch {
		case p.isWord("on"):
			return placeOn, true
		case p.isWord("returning"), g.ReturningInto && p.isWord("return"):
			return placeRest, true
		case g.ReturningInto && p.isWord("log"):
			return placeLog, true
		}
		return at, at == placeExpression
	case placeOn:
		if g.OnConflict && p.isWord("conflict") {
			return placeConflict, true
		}
		return placeDuplicate, g.OnDuplicateKey && p.isWord("duplicate")
	case placeDuplicate:
		return placeKey, p.isWord("key")
	case placeKey:
		return placeExpression, p.isWord("update")
	case placeConflict:
		switch {
		case p.isPunct('('):
			return placeTarget, true
		case p.isWord("on"):
			return placeConstraint, true
		}
		return placeDo, p.isWord("do")
	case placeConstraint:
		return placeName, p.isWord("constraint")
	case placeName:
		return placeNamed, p.tok.kind == tokWord || p.tok.kind == tokQuoted
	case placeTarget:
		if p.isWord("where") {
			return placeCondition, true
		}
		return placeDo, p.isWord("do")
	case placeNamed:
		return placeDo, p.isWord("do")
	case placeCondition:
		if q := *p; p.isWord("do") {
			if q.advance(); q.isAny("nothing", "update") {
				return placeDo, true
			}
		}
		return placeCondition, true
	case placeDo:
		if p.isWord("nothing") {
			return placeClause, true
		}
		return placeUpdate, p.isWord("update")
	case placeUpdate:
		return placeExpression, p.isWord("set")
	case placeLog:
		return placeErrors, p.isWord("errors")
	case placeErrors:
		switch {
		case p.isWord("into"):
			return placeInto, true
		case p.isWord("reject"):
			return placeReject, true
		case p.isPunct('.'):
			return placeInto, true
		}
		return placeErrors, p.isPunct('(')
	case placeInto:
		return placeErrors, p.tok.kind == tokWord || p.tok.kind == tokQuoted
	case placeReject:
		return placeLimit, p.isWord("limit")
	case placeLimit:
		return placeClause, p.tok.kind == tokNumber || p.tok.kind == tokParam || p.isWord("unlimited")
	}
	return at, true
}
