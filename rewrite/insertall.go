package rewrite

// multiTable reads Oracle's INSERT ALL, FIRST and WHEN and reports whether it
// is one: it is filled where its query gives one row, kept when every INTO names
// the keys of its target, and refused else. Oracle SQL Language Reference 23,
// "INSERT", multi_table_insert.
func (p *parser) multiTable() bool {
	if !p.isMulti() {
		return false
	}
	before := *p
	m := &branches{}
	reason := p.branches(m)
	if reason == "" {
		return true
	}
	*p = before
	p.keptBranches(p, reason)
	if reason == ErrNoColumnList && m.unlisted != nil {
		p.inserts = append(p.inserts, *m.unlisted)
	}
	return true
}

// isMulti reports whether the INSERT that begins here has INTOs.
func (p *reader) isMulti() bool {
	if !p.d.Grammar.MultiInsert {
		return false
	}
	q := *p
	q.advance()
	return q.isAny("all", "first", "when")
}

// keptBranches reads a multi-table INSERT, in outer or in a fork of it, and
// refuses it for the reason unless every INTO brings its keys.
func (p *parser) keptBranches(outer *parser, reason Reason) {
	p.advance()
	for depth := 0; !p.atEnd() && depth >= 0; p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth == 0 && p.isAny("select", "with"):
			// Behind the query only LOG ERRORS INTO may follow.
			p.skip(ErrCTE)
			return
		case outer != p && p.isWord("insert"):
			return // outer reads it next
		case depth == 0 && p.isWord("into"):
			p.keptBranch(outer, reason)
		default:
			p.nested(ErrCTE)
		}
	}
}

// keptBranch is keptBranches for one INTO.
func (p *parser) keptBranch(outer *parser, reason Reason) {
	at := p.tok.start
	q := p.fork()
	q.advance()
	var h head
	if q.into(&h, true); h.target != nil {
		q.judgeInside(outer, h, at, reason)
	}
}

// branches are the INTOs of a multi-table INSERT being read.
type branches struct {
	conditional bool    // a WHEN decides
	unlisted    *Insert // one that is refused for want of columns
}

// branches fills the multi-table INSERT that begins here: its query gives one
// row, and each INTO has VALUES of its own. With a reason there is nothing to
// fill, or not exactly, and the parser has to go back.
func (p *parser) branches(m *branches) Reason {
	if !p.fork().endsInRow() {
		return ErrMultiTable
	}
	edits, slots := len(p.edits), len(p.slots)
	p.advance()
	condition := false // of WHEN, to the INTO after its THEN
	for depth := 0; !p.atEnd(); {
		switch {
		case p.tok.kind == tokError:
			return ErrGrammar
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			if depth--; depth < 0 {
				return ErrGrammar
			}
		case depth > 0:
			p.nested(ErrCTE)
		case p.isWord("when"):
			m.conditional, condition = true, true
		case p.isWord("select"):
			p.skip(ErrCTE)
			continue
		case p.accept("log"):
			// LOG ERRORS INTO names a table that the engine fills.
			if !p.accept("errors") {
				return ErrGrammar
			}
			if p.accept("into") {
				p.tableName()
			}
			continue
		case p.isWord("into"):
			condition = false
			if reason := p.branch(m); reason != "" {
				return reason
			}
			continue
		case !condition && p.tok.kind == tokWord && !branchWords.has(p.text(p.tok)):
			return ErrGrammar
		}
		p.advance()
	}
	if len(p.slots) == slots {
		return ErrMultiTable // each INTO brings its keys
	}
	if why := p.barred(head{}); why != "" {
		p.refuse(p.inserts[p.slots[slots].insert].Target, p.edits[edits].start, why)
		p.edits, p.slots = p.edits[:edits], p.slots[:slots]
	}
	return ""
}

// branchWords are the words between the INTOs of a multi-table INSERT, outside of
// conditions and brackets.
var branchWords = newWordSet("all first else values reject limit unlimited")

// branch reads an INTO of a multi-table INSERT to the end of its values.
func (p *parser) branch(m *branches) Reason {
	at := p.tok.start
	p.advance()
	if p.isWord("into") {
		return ErrGrammar // no table has this name
	}
	var h head
	if p.into(&h, true); h.target == nil {
		return ""
	}
	if h.reason != "" {
		return h.reason
	}
	state, slots := newInsertState(h, at), len(p.slots)
	in := &state
	if reason := p.rest(in); reason != "" {
		if in.Unlisted != "" && m.unlisted == nil {
			m.unlisted = &in.Insert
		}
		if p.isWord("select") && reason != ErrScope {
			return ErrMultiTable // the values come from the query
		}
		return reason
	}
	switch {
	case in.Rows != 1, in.selects:
		return ErrMultiTable
	case !p.isAny("into", "when", "else", "log", "select"):
		return ErrGrammar
	case m.conditional, p.isWord("log"):
		in.Rows, in.Conflict = -1, ConflictConditional
	}
	in.end = p.prev
	p.note(in, slots)
	return ""
}

// endsInRow reports whether the query of a multi-table INSERT, behind its INTOs,
// gives one row.
func (p *parser) endsInRow() bool {
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth == 0 && p.isWord("select"):
			return p.oneRow() && p.atEnd()
		}
	}
	return false
}
