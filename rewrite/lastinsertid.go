package rewrite

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// Session reports whether the text allows the first row's key to be written as
// LAST_INSERT_ID(key), so that LAST_INSERT_ID() and the OK packet give it:
// MySQL 8.4, section 14.15, LAST_INSERT_ID(expr). The policy must want it
// ([Key].Session), and it must be an INSERT or REPLACE with VALUES or SET
//
//   - that does not list the key's column;
//   - that stores all its rows or fails: no IGNORE or DELAYED, and no ON
//     DUPLICATE KEY UPDATE but one that assigns LAST_INSERT_ID(…) to a column,
//     and not in a part of an expression that may not be worked out;
//   - that has no other use of LAST_INSERT_ID, @@last_insert_id, @@identity or
//     ROW_COUNT, which would read our key: 10 stored for the parent's 7777,
//     seen on MariaDB 10.11;
//   - without subqueries and without calls of functions that are not known as
//     the engine's own, since a stored one may read LAST_INSERT_ID().
//
// The caller has to look up triggers and column defaults that are expressions.
func (pl *Plan) Session() bool { return pl.session }

// The first row's key stands between these.
const (
	sessionOpen  = "LAST_INSERT_ID("
	sessionClose = ")"
)

// sessionSlots marks the slots of first rows' keys where the text allows them to
// be written in LAST_INSERT_ID( ), and reports whether there are any.
func (p *parser) sessionSlots(slots []slot) (found bool) {
	if p.d.Family != dialect.FamilyMySQL {
		return false
	}
	decided := -1        // the last INSERT that was decided
	asked, key := -1, -1 // the last INSERT that was asked for its key, and that
	for i := range p.edits {
		e := &p.edits[i]
		if e.slot < 0 || int(slots[e.slot].insert) == decided {
			continue
		}
		s := &slots[e.slot]
		in := &p.inserts[s.insert]
		if asked != int(s.insert) {
			asked, key = int(s.insert), in.sessionKey()
		}
		if key != int(s.key) {
			continue
		}
		decided = int(s.insert)
		// A key that is not listed is an insertion; a literal would be replaced.
		s.session = e.start == e.end && s.row == 0 && p.undisturbed(in)
		found = found || s.session
	}
	return found
}

// sessionKey returns the index of the key that is to be written in
// LAST_INSERT_ID( ), -1 for none.
func (in *Insert) sessionKey() int {
	if in.Explained || in.Conflict == ConflictSkip || in.Conflict == ConflictUpdate && !in.sure {
		return -1
	}
	return slices.IndexFunc(in.Target.Keys, func(k Key) bool { return k.Session && k.Integer })
}

// undisturbed reports whether nothing in the text of an INSERT reads what
// LAST_INSERT_ID(key) changes, or may. Other statements of the text read what
// they would without us.
func (p *parser) undisturbed(in *Insert) bool {
	q := use{upserts: in.Conflict == ConflictUpdate, parser: &parser{scanner: scanner{d: p.d, q: p.q[:in.end], pos: in.Offset}}}
	at, _ := slices.BinarySearchFunc(p.constants, in.Offset, func(t token, offset int) int { return t.start - offset })
	rows := p.constants[at:]
	for q.read(); ; q.advance() {
		if len(rows) > 0 && q.tok.start == rows[0].start {
			// Nothing in them is of interest.
			q.last = token{tokPunct, rows[0].end - 1, rows[0].end}
			q.pos = rows[0].end
			q.read()
			rows = rows[1:]
		}
		if !q.token() {
			return false
		}
		if q.tok.kind == tokEnd {
			return true
		}
		q.before, q.last = q.last, q.tok
	}
}

// use is a text that is read for what it may ask of the session.
type use struct {
	*parser
	before, last token // the tokens in front of the current one
	depth        int
	rows         bool // the table's name and column list are behind
	upserts      bool // there is an upsert clause
	update       bool // in the update part of it
}

// token reports whether the current token leaves the session's key alone.
func (u *use) token() bool {
	if u.last.kind != tokPunct && u.isIdiomName(u.last) {
		// The word is at most the function's name, with an argument.
		return u.update && u.isPunct('(') && u.text(u.before) != "."
	}
	if u.isPunct(')') && u.isIdiomName(u.before) {
		return false
	}
	switch u.tok.kind {
	case tokExec, tokError:
		return false
	case tokVar:
		return u.variableRead() == 0
	case tokQuoted:
		return u.fieldRead(u.before, u.last) == 0
	case tokWord:
		return u.word()
	}
	switch {
	case u.isPunct('('):
		u.depth++
		return !u.rows || u.call()
	case u.isPunct(')'):
		u.depth--
	}
	return true
}

// isIdiomName reports whether the token is LAST_INSERT_ID or `last_insert_id`.
func (p *parser) isIdiomName(t token) bool {
	switch text := p.text(t); t.kind {
	case tokWord:
		return equalWord(text, "last_insert_id")
	case tokQuoted:
		return len(text) > 2 && equalWord(text[1:len(text)-1], "last_insert_id")
	}
	return false
}

// word reads one word.
func (u *use) word() bool {
	switch {
	case u.isAny("select", "with", "table", "ignore", "delayed", "row_count", "rowcount"):
		return false
	case u.depth > 0:
	case u.isAny("values", "value", "set"):
		u.rows = true
	case u.isWord("update"):
		u.update = u.rows && u.upserts && equalWord(u.text(u.before), "duplicate") && equalWord(u.text(u.last), "key")
	case u.isWord("returning"):
		u.update = false
	}
	return u.fieldRead(u.before, u.last) == 0
}

// call reports whether the bracket here opens nothing that may run a function
// of a user: it groups, or belongs to a word of the grammar, to a type or alias
// behind AS, or to one of the engine's own functions.
func (u *use) call() bool {
	switch u.last.kind {
	case tokPunct:
		return u.text(u.last) != "."
	case tokWord, tokQuoted:
	default:
		return false
	}
	if u.before.kind == tokWord && equalWord(u.text(u.before), "as") {
		return true
	}
	// With a space before the bracket some of the names mean stored functions:
	// MySQL 8.4, section 11.2.5.
	return u.last.kind == tokWord && u.text(u.before) != "." &&
		(bracketWords.has(u.text(u.last)) || u.last.end == u.tok.start && builtins.has(u.text(u.last)))
}

// isIdiom reports whether LAST_INSERT_ID is called here with an argument, and is
// no function of a schema.
func (p *parser) isIdiom() bool {
	if !p.isIdiomName(p.tok) || p.prev > 0 && p.q[p.prev-1] == '.' {
		return false
	}
	q := *p
	q.advance()
	return q.acceptPunct('(') && !q.isPunct(')')
}

// isAssigned reports whether the call of LAST_INSERT_ID here is all that is
// assigned to a column, by what begins at an offset.
func (p *parser) isAssigned(at int) bool {
	q := &parser{scanner: scanner{d: p.d, q: p.q, pos: at}}
	for q.read(); q.tok.kind == tokWord || q.tok.kind == tokQuoted; {
		if q.advance(); !q.acceptPunct('.') {
			break
		}
	}
	if !q.acceptPunct('=') || q.tok.start != p.tok.start {
		return false
	}
	q.advance()
	return q.balanced('(', ')') && (q.atEnd() || q.isPunct(',') || q.isPunct(';') || q.isWord("returning"))
}
