package rewrite

import "github.com/keyfill/keyfill/dialect"

// updatePart reads what the update part of an upsert clause assigns, as far as it
// says whether a row that was there may get another key, or stays as it is.
type updatePart struct {
	in      *insertState
	began   bool // the words UPDATE, or UPDATE SET, are behind
	assigns bool // an assignment begins at the next token
	over    bool // the assignments have ended
}

// read notes the current token.
func (u *updatePart) read(p *reader, depth int) {
	if u.in.Conflict != ConflictUpdate || depth != 0 {
		return
	}
	if u.assigns {
		u.assignment(p)
	}
	switch {
	case p.isWord("update"):
		u.began, u.over = true, false
		u.assigns = p.d.Family == dialect.FamilyMySQL
	case p.isAny("where", "returning", "on"):
		u.assigns, u.over = false, u.began
	default:
		u.assigns = u.began && !u.over && (p.isPunct(',') || p.isWord("set"))
	}
}

// assignment reads the assignment that begins at the current token.
func (u *updatePart) assignment(p *reader) {
	first := !u.in.assigned
	u.in.assigned = true
	q := *p
	if q.isPunct('(') {
		// Columns in brackets: (a, b) = (1, 2).
		u.in.LeavesRow = false
		for ; !q.atEnd() && !q.isPunct(')'); q.advance() {
			u.in.UpdatesKey = u.in.UpdatesKey || q.keyAt(u.in.Target) >= 0
		}
		return
	}
	_, key := q.assignedColumn(u.in)
	if key < 0 {
		u.in.LeavesRow = false
		return
	}
	if !q.acceptPunct('=') || !q.isItself(u.in, key) {
		u.in.UpdatesKey, u.in.LeavesRow = true, false
		return
	}
	u.in.LeavesRow = first || u.in.LeavesRow
}

// assignedColumn moves past the name of a column, and returns whether it is one of the
// INSERT's own table and which key it is, -1 for none.
func (p *reader) assignedColumn(in *insertState) (own bool, key int) {
	own, key = true, -1
	for p.tok.kind == tokWord || p.tok.kind == tokQuoted {
		at := p.tok
		key = p.keyAt(in.Target)
		if p.advance(); !p.acceptPunct('.') {
			return own, key
		}
		own = p.isTable(at, in.name.table) || p.isTable(at, in.name.schema)
	}
	return false, -1
}

// keyAt returns which key column the current token is the name of, -1 for none.
func (p *reader) keyAt(t *Target) int {
	if p.tok.kind != tokWord && p.tok.kind != tokQuoted {
		return -1
	}
	for i := range t.Keys {
		if p.folds(p.tok, t.Keys[i].Column) {
			return i
		}
	}
	return -1
}

// isItself reports whether a key gets the value that it has in the row that is
// there, alone or as the argument of LAST_INSERT_ID.
func (p *reader) isItself(in *insertState, key int) bool {
	call := p.isIdiom()
	if call {
		p.advance()
		p.advance()
	}
	own, other := p.assignedColumn(in)
	if !own || other != key || call && !p.acceptPunct(')') {
		return false
	}
	return p.atEnd() || p.isPunct(',') || p.isAny("where", "returning", "on")
}
