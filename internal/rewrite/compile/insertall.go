package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// multiTable reads Oracle's INSERT ALL, FIRST or WHEN, and reports whether the statement is
// one. It is filled if its query gives one row, sent as it is if every INTO names the keys
// of its table, and otherwise refused. Oracle SQL Language Reference 23, "INSERT",
// multi_table_insert.
func multiTable(p *plans.Draft) bool {
	if !inserts.IsMulti(&p.Reader) {
		return false
	}
	before := *p
	m := &branches{}
	reason := fillBranches(p, m)
	if reason == "" {
		return true
	}
	*p = before
	inserts.KeptBranches(p, p, reason)
	if reason == rewrite.ErrNoColumnList && m.unlisted != nil {
		p.Inserts = append(p.Inserts, *m.unlisted)
	}
	return true
}

// branches are the INTOs of the multi-table INSERT that is being read.
type branches struct {
	conditional bool          // whether a WHEN decides about the INTOs
	unlisted    *plans.Insert // an INTO that is refused because its columns are unknown
}

// fillBranches fills the multi-table INSERT that begins at the current token, if its query
// gives exactly one row and every INTO has VALUES. If it returns a reason, the INSERT needs
// no key or cannot be filled, and the caller must restore the draft.
func fillBranches(p *plans.Draft, m *branches) rewrite.Reason {
	if !endsInRow(inserts.Fork(p)) {
		return rewrite.ErrMultiTable
	}
	edits, slots := len(p.Edits), len(p.Slots)
	p.Advance()
	condition := false // whether the token is in a WHEN condition, up to the INTO after its THEN
	for depth := 0; !p.AtEnd(); {
		switch {
		case p.Token.Kind == scan.Broken:
			return rewrite.ErrGrammar
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			if depth--; depth < 0 {
				return rewrite.ErrGrammar
			}
		case depth > 0:
			inserts.JudgeInner(p, rewrite.ErrCTE)
		case p.IsWord("when"):
			m.conditional, condition = true, true
		case p.IsWord("select"):
			inserts.Skip(p, rewrite.ErrCTE)
			continue
		case p.Accept("log"):
			// LOG ERRORS INTO names a table that the engine fills.
			if !p.Accept("errors") {
				return rewrite.ErrGrammar
			}
			if p.Accept("into") {
				p.TableName()
			}
			continue
		case p.IsWord("into"):
			condition = false
			if reason := branch(p, m); reason != "" {
				return reason
			}
			continue
		case !condition && p.Token.Kind == scan.Word && !branchWords.Has(p.TextOf(p.Token)):
			return rewrite.ErrGrammar
		}
		p.Advance()
	}
	if len(p.Slots) == slots {
		return rewrite.ErrMultiTable // every INTO brings its keys, so that nothing is filled
	}
	if why := inserts.BarredReason(p, inserts.Head{}); why != "" {
		p.Refuse(p.Inserts[p.Slots[slots].Insert].Target, p.Edits[edits].Start, why)
		p.Edits, p.Slots = p.Edits[:edits], p.Slots[:slots]
	}
	return ""
}

// branchWords are the words between the INTOs of a multi-table INSERT, outside of
// conditions and brackets.
var branchWords = scan.NewWordSet("all first else values reject limit unlimited")

// branch reads one INTO of a multi-table INSERT to the end of its values.
func branch(p *plans.Draft, m *branches) rewrite.Reason {
	at := p.Token.Start
	p.Advance()
	if p.IsWord("into") {
		return rewrite.ErrGrammar // a second INTO follows the first, and INTO is no table's name
	}
	var h inserts.Head
	if inserts.Into(p, &h, true); h.Target == nil {
		return ""
	}
	if h.Reason != "" {
		return h.Reason
	}
	state, slots := inserts.NewState(h, at), len(p.Slots)
	in := &state
	if reason := inserts.Rest(p, in); reason != "" {
		if in.Name.Unlisted != "" && m.unlisted == nil {
			m.unlisted = &in.Insert
		}
		if p.IsWord("select") && reason != rewrite.ErrScope {
			return rewrite.ErrMultiTable // the values come from the query
		}
		return reason
	}
	switch {
	case in.Rows != 1, in.Selects:
		return rewrite.ErrMultiTable
	case !p.IsAny("into", "when", "else", "log", "select"):
		return rewrite.ErrGrammar
	case m.conditional, p.IsWord("log"):
		in.Rows, in.Upsert.Conflict = -1, plans.ConflictConditional
	}
	in.End = p.PrevEnd
	inserts.Note(p, in, slots)
	return ""
}

// endsInRow reports whether the query of a multi-table INSERT, which follows its INTOs,
// gives one row.
func endsInRow(p *plans.Draft) bool {
	for depth := 0; !p.AtEnd(); p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth == 0 && p.IsWord("select"):
			return oneRow(p) && p.AtEnd()
		}
	}
	return false
}
