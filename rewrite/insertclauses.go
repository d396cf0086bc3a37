package rewrite

// tail reads the clauses behind the rows, up to the semicolon.
func (p *parser) tail(in *insertState) Reason {
	g := &p.d.Grammar
	if g.RowAlias && p.accept("as") {
		if reason := p.rowAlias(in); reason != "" {
			return reason
		}
		if p.atEnd() {
			return ""
		}
	}
	switch {
	case g.OnConflict && p.isWord("on"), g.OnDuplicateKey && p.isWord("on"):
	case g.Returning && p.isWord("returning"):
	case g.ReturningInto && p.isAny("returning", "return", "log"):
	case g.Option && p.isWord("option"):
		if p.advance(); !p.isPunct('(') {
			return p.grammar()
		}
		p.brackets()
		if p.atEnd() || p.beginsStatement() {
			return ""
		}
		return p.grammar()
	case p.tok.kind == tokExec:
		return ErrExecutableComment
	case p.isAny("union", "except", "intersect", "order", "for"):
		return p.rowsGoOn(in)
	case g.NoSemicolon && p.beginsStatement():
		return ""
	case p.isAny("limit", "offset", "fetch", "minus"):
		return p.rowsGoOn(in)
	default:
		return ErrGrammar
	}
	return p.clauses(in)
}

// rowsGoOn returns the reason of rows that are a part of a larger query.
func (p *parser) rowsGoOn(in *insertState) Reason {
	p.ofValues = in.Query == nil && !in.selects &&
		p.isAny("union", "except", "intersect", "minus", "order", "limit", "offset", "fetch", "for")
	return ErrSelectForm
}

// beginsStatement reports whether a statement of Transact-SQL, or a part of one that
// encloses others, begins at the current token.
func (p *reader) beginsStatement() bool {
	return p.isIn(statementWords) || p.isIn(otherStatementWords) || p.tok.kind == tokWord && p.nextIsPunct(':')
}

// otherStatementWords begin statements of Transact-SQL that cannot follow a query without a
// semicolon.
var otherStatementWords = newWordSet(`select else end break continue open close fetch deallocate bulk checkpoint reconfigure
	backup restore readtext writetext updatetext add enable disable receive send move get shutdown setuser load revert`)

// clauses reads upsert clauses and RETURNING. It notes only how they change the rows.
func (p *parser) clauses(in *insertState) Reason {
	assignment, begins := 0, false // of the update part
	part, place := updatePart{in: in}, placeClause
	for depth := 0; !p.atEnd(); p.advance() {
		if depth == 0 {
			next, ok := p.goesOn(place)
			if !ok {
				return p.grammar()
			}
			in.noteClauses(&p.reader, place, next)
			place = next
		}
		if begins {
			assignment = p.tok.start
		}
		begins = depth == 0 && (p.isPunct(',') || p.isWord("update"))
		part.read(&p.reader, depth)
		if in.Query != nil && p.d.Grammar.OnDuplicateKey && in.Conflict == ConflictUpdate && p.isOthers(in) {
			return ErrSelectForm
		}
		if in.Conflict == ConflictUpdate && p.d.Grammar.OnDuplicateKey && !in.Returning && p.isIdiom() {
			in.Idiom = true
			in.sure = in.sure || depth == 0 && p.isAssigned(assignment)
		}
		switch {
		case p.tok.kind == tokExec:
			return ErrExecutableComment
		case p.tok.kind == tokError:
			return ErrGrammar
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0 || p.tok.kind != tokWord:
			p.nested(ErrCTE)
		case p.isWord("returning"), p.isWord("return") && p.d.Grammar.ReturningInto:
			in.Returning = true
		case p.isWord("duplicate") && p.d.Grammar.OnDuplicateKey:
			in.Conflict = ConflictUpdate
		case p.isWord("do"):
			q := p.reader
			switch q.advance(); {
			case q.isWord("update"):
				in.Conflict = ConflictUpdate
			case q.isWord("nothing") && (in.Conflict == ConflictError || in.Conflict == ConflictReplace):
				in.Conflict = ConflictSkip
			}
		}
	}
	in.endClause(&p.reader)
	return ""
}

// isOthers reports whether a name begins here that is qualified by another table's
// than the INSERT's: one of the query's, which are not seen behind a WITH clause.
func (p *reader) isOthers(in *insertState) bool {
	if p.tok.kind != tokWord && p.tok.kind != tokQuoted || p.prev > 0 && p.q[p.prev-1] == '.' || !p.nextIsPunct('.') {
		return false
	}
	return !p.isTable(p.tok, in.name.table) && !p.isTable(p.tok, in.name.schema)
}

// rowAlias reads MySQL's alias of the new row and adds the keys to its column
// list, which must be as long as the INSERT's own: 8.4 manual, section
// 15.2.7.2.
func (p *parser) rowAlias(in *insertState) Reason {
	if p.tok.kind != tokWord && p.tok.kind != tokQuoted {
		return p.grammar()
	}
	p.advance()
	if !p.acceptPunct('(') {
		return ""
	}
	for {
		if p.tok.kind != tokWord && p.tok.kind != tokQuoted {
			return p.grammar()
		}
		p.advance()
		if !p.acceptPunct(',') {
			break
		}
	}
	end := p.prev
	if !p.acceptPunct(')') {
		return p.grammar()
	}
	var b []byte
	for _, k := range in.missing(nil) {
		b = append(b, ", "...)
		b = p.d.AppendIdent(b, p.unused("kf_"+in.Target.Keys[k].Column))
	}
	if len(b) > 0 {
		p.edit(end, end, string(b))
	}
	return ""
}
