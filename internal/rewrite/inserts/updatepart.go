package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// updatePart reads the assignments in the update part of an upsert clause, to find out
// whether an existing row may get another key, or stays unchanged.
type updatePart struct {
	in      *State
	began   bool // whether UPDATE, or UPDATE SET, was read
	assigns bool // whether an assignment begins at the next token
	over    bool // whether the assignments have ended
}

// read notes what the current token shows. depth is how many brackets are open.
func (u *updatePart) read(p *reader.Reader, depth int) {
	if u.in.Upsert.Conflict != plans.ConflictUpdate || depth != 0 {
		return
	}
	if u.assigns {
		u.assignment(p)
	}
	switch {
	case p.IsWord("update"):
		u.began, u.over = true, false
		u.assigns = p.Dialect.Grammar.OnDuplicateKey
	case p.IsAny("where", "returning", "on"):
		u.assigns, u.over = false, u.began
	default:
		u.assigns = u.began && !u.over && (p.IsPunct(',') || p.IsWord("set"))
	}
}

// assignment reads the assignment that begins at the current token.
func (u *updatePart) assignment(p *reader.Reader) {
	first := !u.in.Upsert.Assigned
	u.in.Upsert.Assigned = true
	q := *p
	if q.IsPunct('(') {
		// Columns in brackets: (a, b) = (1, 2).
		u.in.Upsert.LeavesRow = false
		for ; !q.AtEnd() && !q.IsPunct(')'); q.Advance() {
			u.in.Upsert.UpdatesKey = u.in.Upsert.UpdatesKey || keyAt(&q, u.in.Target) >= 0
		}
		return
	}
	_, key := assignedColumn(&q, u.in)
	if key < 0 {
		u.in.Upsert.LeavesRow = false
		return
	}
	if !q.AcceptPunct('=') || !isItself(&q, u.in, key) {
		u.in.Upsert.UpdatesKey, u.in.Upsert.LeavesRow = true, false
		return
	}
	u.in.Upsert.LeavesRow = first || u.in.Upsert.LeavesRow
}

// assignedColumn moves past the name of a column. It returns whether the column belongs to
// the INSERT's own table, and the index of the key that it is, or -1 if it is no key.
func assignedColumn(p *reader.Reader, in *State) (own bool, key int) {
	own, key = true, -1
	for p.Token.Kind == scan.Word || p.Token.Kind == scan.Quoted {
		at := p.Token
		key = keyAt(p, in.Target)
		if p.Advance(); !p.AcceptPunct('.') {
			return own, key
		}
		own = p.IsTable(at, in.name.Table) || p.IsTable(at, in.name.Schema)
	}
	return false, -1
}

// keyAt returns the index of the key that the current token names, or -1 if it names none.
func keyAt(p *reader.Reader, t *plans.Target) int {
	if p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted {
		return -1
	}
	for i := range t.Keys {
		if p.Folds(p.Token, t.Keys[i].Column) {
			return i
		}
	}
	return -1
}

// isItself reports whether the value that is assigned to a key column is the column's own
// value in the existing row, alone or as the argument of LAST_INSERT_ID.
func isItself(p *reader.Reader, in *State, key int) bool {
	call := plans.IsIdiom(p)
	if call {
		p.Advance()
		p.Advance()
	}
	own, other := assignedColumn(p, in)
	if !own || other != key || call && !p.AcceptPunct(')') {
		return false
	}
	return p.AtEnd() || p.IsPunct(',') || p.IsAny("where", "returning", "on")
}
