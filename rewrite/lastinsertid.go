package rewrite

import (
	"math"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// Session reports whether the text allows a key to be written as LAST_INSERT_ID(key), so
// that LAST_INSERT_ID() and the OK packet give the first row's: MySQL 8.4, section 14.15,
// LAST_INSERT_ID(expr). The policy must want it ([Key].Session), and it must be an INSERT
// or REPLACE with VALUES or SET, without IGNORE and DELAYED.
//
// The call stands behind all other values, which read the session's old number: in a single
// row around its key, and in the last of several rows as IF(LAST_INSERT_ID(first), last,
// last). A key that is listed is moved there, in executions that fill it; the keys that
// other rows bring have to be numbers or strings then.
//
// Where the table has several keys, rows come back, or an ON DUPLICATE KEY UPDATE assigns
// LAST_INSERT_ID(…) to a column, not in a part of an expression that may not be worked out,
// the first row's key is the one that is written so, and the text
//
//   - does not list the key's column;
//   - has no other use of LAST_INSERT_ID, @@last_insert_id, @@identity or ROW_COUNT, which
//     would read our key: 10 stored for the parent's 7777, seen on MariaDB 10.11;
//   - has no subqueries and no calls of functions that are not known as the engine's own,
//     since a stored one may read LAST_INSERT_ID().
//
// The caller has to look up triggers and column defaults that are expressions, and uses
// the session's text where at least one key is filled.
func (pl *Plan) Session() bool { return pl.session }

// A key in the session's text stands between these.
const (
	sessionOpen  = "LAST_INSERT_ID("
	sessionClose = ")"
)

// wrap says how the key of a slot is written in the session's text.
type wrap uint8

const (
	wrapNone wrap = iota
	wrapKey       // LAST_INSERT_ID(key)
	wrapLast      // IF(LAST_INSERT_ID(first), key, key)
)

// lastKey is the last key of several rows: which of the placeholders that Bind adds it has,
// counted from 0, and its draw.
type lastKey struct {
	placeholder int
	draw        int32
}

// sessionForm notes how the session's text differs from the other one.
func (p *parser) sessionForm(pl *Plan) {
	if p.d.Family != dialect.FamilyMySQL {
		return
	}
	owns, room := 0, 0 // the caller's placeholders, and how many more the engine takes
	for i := range pl.slots {
		if pl.slots[i].kind == slotOwn {
			owns++
		}
	}
	if room = p.d.Params.Max - p.params.count - (len(pl.slots) - owns); room < 0 {
		room = math.MaxInt // keys are literals
	}
	edit := 0
	var listed []listedInsert
	for from, to := 0, 0; from < len(pl.slots); from = to {
		for to = from + 1; to < len(pl.slots) && pl.slots[to].insert == pl.slots[from].insert; to++ {
		}
		insert := int(pl.slots[from].insert)
		in := &p.inserts[insert]
		key := in.sessionKey()
		if key < 0 {
			continue
		}
		switch plain := in.isPlain(); {
		case plain && in.listing != nil:
			if owns > 0 && len(p.inserts) > 1 {
				continue // an execution may fill the one and not the other
			}
			if edits, extra := p.sessionListed(insert); edits != nil && extra <= room {
				listed = append(listed, listedInsert{insert, edits})
				room -= extra
			}
			continue
		case plain && in.Rows == 1:
			pl.slots[from].wrap = wrapKey
		case plain && room >= 2:
			pl.slots[to-1].wrap = wrapLast
			room -= 2
		default:
			first := from + slices.IndexFunc(pl.slots[from:to], func(s slot) bool { return int(s.key) == key })
			for first >= from && p.edits[edit].slot != first {
				edit++
			}
			// A key that is not listed is an insertion; a literal would be replaced.
			if e := &p.edits[edit]; first < from || e.start < e.end || pl.slots[first].row > 0 || !p.undisturbed(in) {
				continue
			}
			pl.slots[first].wrap = wrapKey
		}
		pl.session = true
	}
	if listed != nil {
		pl.session, pl.listed = true, p.withListed(pl.slots, listed)
	}
}

// isPlain reports whether nothing is worked out behind the values of the INSERT's last row,
// which stores it or fails.
func (in *Insert) isPlain() bool {
	return in.Conflict != ConflictUpdate && !in.Returning && !in.delayed && !in.selects && in.Query == nil && in.Rows > 0 && len(in.Target.Keys) == 1
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
	text := p.within(span{in.Offset, in.end})
	q := use{upserts: in.Conflict == ConflictUpdate, reader: &text}
	at, _ := slices.BinarySearchFunc(p.constants, in.Offset, func(t token, offset int) int { return t.start - offset })
	rows := p.constants[at:]
	for ; ; q.advance() {
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
	*reader
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
func (p *reader) isIdiomName(t token) bool {
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
func (p *reader) isIdiom() bool {
	if !p.isIdiomName(p.tok) || p.prev > 0 && p.q[p.prev-1] == '.' {
		return false
	}
	q := *p
	q.advance()
	return q.acceptPunct('(') && !q.isPunct(')')
}

// isAssigned reports whether the call of LAST_INSERT_ID here is all that is
// assigned to a column, by what begins at an offset.
func (p *reader) isAssigned(at int) bool {
	q := p.within(span{at, len(p.q)})
	for q.tok.kind == tokWord || q.tok.kind == tokQuoted {
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
