package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// Tail reads the clauses after the rows of an INSERT, up to the semicolon.
func Tail(p *plans.Draft, in *State) rewrite.Reason {
	g := &p.Dialect.Grammar
	if g.RowAlias && p.Accept("as") {
		if reason := rowAlias(p, in); reason != "" {
			return reason
		}
		if p.AtEnd() {
			return ""
		}
	}
	switch {
	case g.OnConflict && p.IsWord("on"), g.OnDuplicateKey && p.IsWord("on"):
	case g.Returning && p.IsWord("returning"):
	case g.ReturningInto && p.IsAny("returning", "return", "log"):
	case g.Option && p.IsWord("option"):
		if p.Advance(); !p.IsPunct('(') {
			return p.Grammar()
		}
		p.Brackets()
		if p.AtEnd() || beginsStatement(&p.Reader) {
			return ""
		}
		return p.Grammar()
	case p.Token.Kind == scan.Executable:
		return rewrite.ErrExecutableComment
	case p.IsAny("union", "except", "intersect", "order", "for"):
		return rowsGoOn(p, in)
	case g.NoSemicolon && beginsStatement(&p.Reader):
		return ""
	case p.IsAny("limit", "offset", "fetch", "minus"):
		return rowsGoOn(p, in)
	default:
		return rewrite.ErrGrammar
	}
	return clauses(p, in)
}

// rowsGoOn returns the reason to refuse rows that are a part of a larger query.
func rowsGoOn(p *plans.Draft, in *State) rewrite.Reason {
	p.IsValuesPart = in.Query == nil && !in.Selects &&
		p.IsAny("union", "except", "intersect", "minus", "order", "limit", "offset", "fetch", "for")
	return rewrite.ErrSelectForm
}

// beginsStatement reports whether the current token begins a statement of Transact-SQL, or
// a part of a statement that encloses others, such as ELSE.
func beginsStatement(p *reader.Reader) bool {
	return p.IsIn(selects.StatementWords) || p.IsIn(otherStatementWords) || p.Token.Kind == scan.Word && p.NextIsPunct(':')
}

// otherStatementWords begin statements of Transact-SQL that cannot follow a query without
// a semicolon.
var otherStatementWords = scan.NewWordSet(`select else end break continue open close fetch deallocate bulk checkpoint reconfigure
	backup restore readtext writetext updatetext add enable disable receive send move get shutdown setuser load revert`)

// clauses reads upsert clauses and RETURNING. It notes only how they change the rows.
func clauses(p *plans.Draft, in *State) rewrite.Reason {
	assignment, begins := 0, false // the offset of the current assignment in the update part, and whether the next one begins
	part, place := updatePart{in: in}, placeClause
	for depth := 0; !p.AtEnd(); p.Advance() {
		if depth == 0 {
			next, ok := goesOn(&p.Reader, place)
			if !ok {
				return p.Grammar()
			}
			in.noteClauses(&p.Reader, place, next)
			place = next
		}
		if begins {
			assignment = p.Token.Start
		}
		begins = depth == 0 && (p.IsPunct(',') || p.IsWord("update"))
		part.read(&p.Reader, depth)
		if in.Query != nil && p.Dialect.Grammar.OnDuplicateKey && in.Upsert.Conflict == plans.ConflictUpdate && isOthers(&p.Reader, in) {
			return rewrite.ErrSelectForm
		}
		if in.Upsert.Conflict == plans.ConflictUpdate && p.Dialect.Grammar.OnDuplicateKey && !in.Returning && plans.IsIdiom(&p.Reader) {
			in.Upsert.Idiom = true
			in.Upsert.Sure = in.Upsert.Sure || depth == 0 && plans.IsAssigned(&p.Reader, assignment)
		}
		switch {
		case p.Token.Kind == scan.Executable:
			return rewrite.ErrExecutableComment
		case p.Token.Kind == scan.Broken:
			return rewrite.ErrGrammar
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth > 0 || p.Token.Kind != scan.Word:
			JudgeInner(p, rewrite.ErrCTE)
		case p.IsWord("returning"), p.IsWord("return") && p.Dialect.Grammar.ReturningInto:
			in.Returning = true
		case p.IsWord("duplicate") && p.Dialect.Grammar.OnDuplicateKey:
			in.Upsert.Conflict = plans.ConflictUpdate
		case p.IsWord("do"):
			q := p.Reader
			switch q.Advance(); {
			case q.IsWord("update"):
				in.Upsert.Conflict = plans.ConflictUpdate
			case q.IsWord("nothing") && (in.Upsert.Conflict == plans.ConflictError || in.Upsert.Conflict == plans.ConflictReplace):
				in.Upsert.Conflict = plans.ConflictSkip
			}
		}
	}
	in.endClause(&p.Reader)
	return ""
}

// isOthers reports whether the current token begins a name that is qualified by a table
// other than the INSERT's, which is a table of the query. keyfill puts the query into a
// WITH clause, outside of which that table's name means nothing.
func isOthers(p *reader.Reader, in *State) bool {
	if p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted || p.PrevEnd > 0 && p.Text[p.PrevEnd-1] == '.' || !p.NextIsPunct('.') {
		return false
	}
	return !p.IsTable(p.Token, in.name.Table) && !p.IsTable(p.Token, in.name.Schema)
}

// rowAlias reads MySQL's alias of the new row and adds the keys to its column list, which
// must have the same length as the INSERT's own: 8.4 manual, section 15.2.7.2.
func rowAlias(p *plans.Draft, in *State) rewrite.Reason {
	if p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted {
		return p.Grammar()
	}
	p.Advance()
	if !p.AcceptPunct('(') {
		return ""
	}
	for {
		if p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted {
			return p.Grammar()
		}
		p.Advance()
		if !p.AcceptPunct(',') {
			break
		}
	}
	end := p.PrevEnd
	if !p.AcceptPunct(')') {
		return p.Grammar()
	}
	var b []byte
	for _, k := range in.Missing(nil) {
		b = append(b, ", "...)
		b = p.Dialect.AppendIdent(b, p.Unused("kf_"+in.Target.Keys[k].Column))
	}
	if len(b) > 0 {
		p.Edit(end, end, string(b))
	}
	return ""
}
