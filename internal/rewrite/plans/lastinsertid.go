package plans

import (
	"math"
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// SessionOpen and SessionClose are the text around a key in the session's text, which sets
// LAST_INSERT_ID(): see [Plan.Session].
const (
	SessionOpen  = "LAST_INSERT_ID("
	SessionClose = ")"
)

// Wrap says how the key of a slot (a place for a key) is written in the session's text,
// which sets LAST_INSERT_ID(): see [Plan.Session].
type Wrap uint8

// The ways to write a key.
const (
	WrapNone Wrap = iota
	WrapKey       // LAST_INSERT_ID(key)
	WrapLast      // IF(LAST_INSERT_ID(first), key, key)
)

// LastKey is the key in the last of several rows: the index of the placeholder that is
// added for it, counted from 0, and the index of the draw (call to a key source) that gives
// it.
type LastKey struct {
	Placeholder int
	Draw        int32
}

// sessionForm notes how the session's text, which sets LAST_INSERT_ID(), differs from the
// text that only has the keys added. A statement has a session's text only if the policy
// asks for it ([Key].Session), and the statement is an INSERT or REPLACE with VALUES or SET,
// without IGNORE and DELAYED.
//
// The call comes after all other values, which read the session's old number: in a single
// row around its key, and in the last of several rows as IF(LAST_INSERT_ID(first), last,
// last). A listed key is moved there, in executions that fill it; the keys that other rows
// bring must then be numbers or strings.
//
// In three cases the call is around the first row's key instead: the table has several
// keys, the statement returns rows, or its ON DUPLICATE KEY UPDATE assigns
// LAST_INSERT_ID(…) to a column, as the whole value and not in a part of an expression that
// may be skipped. The text must then meet these conditions. It
//
//   - does not list the key's column;
//   - has no other use of LAST_INSERT_ID, @@last_insert_id, @@identity or ROW_COUNT, which
//     would read our key: 10 stored for the parent's 7777, seen on MariaDB 10.11;
//   - has no subqueries and calls only known functions of the engine, since a stored function
//     may read LAST_INSERT_ID().
func (p *Draft) sessionForm(pl *Plan) {
	if !p.Dialect.FirstID {
		return
	}
	owns, room := 0, 0 // the caller's placeholders for keys, and how many more placeholders the engine takes
	for i := range pl.Changes.Slots {
		if pl.Changes.Slots[i].Kind == SlotOwn {
			owns++
		}
	}
	if room = p.Dialect.Params.Max - p.Params.Count - (len(pl.Changes.Slots) - owns); room < 0 {
		room = math.MaxInt // no limit, since keys are literals
	}
	edit := 0
	var listed []listedInsert
	for from, to := 0, 0; from < len(pl.Changes.Slots); from = to {
		for to = from + 1; to < len(pl.Changes.Slots) && pl.Changes.Slots[to].Insert == pl.Changes.Slots[from].Insert; to++ {
		}
		insert := int(pl.Changes.Slots[from].Insert)
		in := &p.Inserts[insert]
		key := in.SessionKey()
		if key < 0 {
			continue
		}
		switch plain := in.isPlain(); {
		case plain && in.Listing != nil:
			if owns > 0 && len(p.Inserts) > 1 {
				continue // an execution may fill this INSERT, and not the other INSERTs of the text
			}
			if edits, extra := p.sessionListed(insert, int(pl.SlotsOf(insert)[0])); edits != nil && extra <= room {
				listed = append(listed, listedInsert{insert, edits})
				room -= extra
			}
			continue
		case plain && in.Rows == 1:
			pl.Changes.Slots[from].Wrap = WrapKey
		case plain && room >= 2:
			pl.Changes.Slots[to-1].Wrap = WrapLast
			room -= 2
		default:
			first := from + slices.IndexFunc(pl.Changes.Slots[from:to], func(s Slot) bool { return int(s.Key) == key })
			for first >= from && p.Edits[edit].Slot != first {
				edit++
			}
			// Only a key that is inserted can be wrapped in LAST_INSERT_ID(), and not a key
			// that replaces a literal.
			if e := &p.Edits[edit]; first < from || e.Start < e.End || pl.Changes.Slots[first].Row > 0 || !p.undisturbed(in) {
				continue
			}
			pl.Changes.Slots[first].Wrap = WrapKey
		}
		pl.Session = true
	}
	if listed != nil {
		pl.Session, pl.Changes.seldom().Listed = true, p.withListed(pl.Changes.Slots, listed)
	}
}

// isPlain reports whether the engine evaluates nothing after the values of the INSERT's
// last row, and either stores that row or fails.
func (in *Insert) isPlain() bool {
	return in.Upsert.Conflict != ConflictUpdate && !in.Returning && !in.Delayed && !in.Selects && in.Query == nil && in.Rows > 0 && len(in.Target.Keys) == 1
}

// SessionKey returns the index of the key that is written as LAST_INSERT_ID(key), or -1 if
// no key is.
func (in *Insert) SessionKey() int {
	if in.Explained || in.Upsert.Conflict == ConflictSkip || in.Upsert.Conflict == ConflictUpdate && !in.Upsert.Sure {
		return -1
	}
	return slices.IndexFunc(in.Target.Keys, func(k Key) bool { return k.Session && k.Integer })
}

// undisturbed reports whether nothing in the text of an INSERT reads, or may read, the
// value that LAST_INSERT_ID(key) changes. Other statements of the text read the same value
// as without keyfill.
func (p *Draft) undisturbed(in *Insert) bool {
	text := p.Within(scan.Span{Start: in.Offset, End: in.End})
	q := use{upserts: in.Upsert.Conflict == ConflictUpdate, Reader: &text}
	at, _ := slices.BinarySearchFunc(p.Constants, in.Offset, func(t scan.Token, offset int) int { return t.Start - offset })
	rows := p.Constants[at:]
	for ; ; q.Advance() {
		if len(rows) > 0 && q.Token.Start == rows[0].Start {
			// Rows of constants read nothing, and are skipped.
			q.rows = q.rows || rows[0].Start == in.Offset
			q.last = scan.Token{Kind: scan.Punct, Start: rows[0].End - 1, End: rows[0].End}
			q.Pos = rows[0].End
			q.Read()
			rows = rows[1:]
		}
		if !q.token() {
			return false
		}
		if q.Token.Kind == scan.End {
			return true
		}
		q.before, q.last = q.last, q.Token
	}
}

// use reads a text to find out which values of the session it may read.
type use struct {
	*reader.Reader
	before, last scan.Token // the two tokens before the current one
	depth        int
	rows         bool // whether the table's name and column list have been read
	upserts      bool // whether the INSERT has an upsert clause
	update       bool // whether the current token is in the update part of the upsert clause
}

// token reports whether the current token does not read the session's LAST_INSERT_ID().
func (u *use) token() bool {
	if u.last.Kind != scan.Punct && isIdiomName(u.Reader, u.last) {
		// The function's name is allowed only in a call with an argument, in the update part.
		return u.update && u.IsPunct('(') && u.TextOf(u.before) != "."
	}
	if u.IsPunct(')') && isIdiomName(u.Reader, u.before) {
		return false
	}
	switch u.Token.Kind {
	case scan.Executable, scan.Broken:
		return false
	case scan.Variable:
		return effects.VariableRead(u.Reader) == 0
	case scan.Quoted:
		return effects.FieldRead(u.Reader, u.before, u.last) == 0
	case scan.Word:
		return u.word()
	}
	switch {
	case u.IsPunct('('):
		u.depth++
		return !u.rows || u.call()
	case u.IsPunct(')'):
		u.depth--
	}
	return true
}

// isIdiomName reports whether the token is LAST_INSERT_ID or `last_insert_id`.
func isIdiomName(p *reader.Reader, t scan.Token) bool {
	switch text := p.TextOf(t); t.Kind {
	case scan.Word:
		return scan.EqualWord(text, "last_insert_id")
	case scan.Quoted:
		return len(text) > 2 && scan.EqualWord(text[1:len(text)-1], "last_insert_id")
	}
	return false
}

// word reports whether the current word does not read the session's LAST_INSERT_ID().
func (u *use) word() bool {
	switch {
	case u.IsAny("select", "with", "table", "ignore", "delayed", "row_count", "rowcount"):
		return false
	case u.depth > 0:
	case u.IsAny("values", "value", "set"):
		u.rows = true
	case u.IsWord("update"):
		u.update = u.rows && u.upserts && scan.EqualWord(u.TextOf(u.before), "duplicate") && scan.EqualWord(u.TextOf(u.last), "key")
	case u.IsWord("returning"):
		u.update = false
	}
	return effects.FieldRead(u.Reader, u.before, u.last) == 0
}

// call reports whether the bracket at the current token opens nothing that may run a user's
// function: it groups, or belongs to a word of the grammar, to a type or alias after AS, or
// to one of the engine's own functions.
func (u *use) call() bool {
	switch u.last.Kind {
	case scan.Punct:
		return u.TextOf(u.last) != "."
	case scan.Word, scan.Quoted:
	default:
		return false
	}
	if u.before.Kind == scan.Word && scan.EqualWord(u.TextOf(u.before), "as") {
		return true
	}
	// If a space precedes the bracket, some names of the engine's functions mean stored
	// functions instead: MySQL 8.4, section 11.2.5.
	return u.last.Kind == scan.Word && u.TextOf(u.before) != "." &&
		(words.BracketWords.Has(u.TextOf(u.last)) || u.last.End == u.Token.Start && words.Builtins.Has(u.TextOf(u.last)))
}

// IsIdiom reports whether the current token begins a call of LAST_INSERT_ID with an
// argument, and not of a function with that name in a schema.
func IsIdiom(p *reader.Reader) bool {
	if !isIdiomName(p, p.Token) || p.PrevEnd > 0 && p.Text[p.PrevEnd-1] == '.' {
		return false
	}
	q := *p
	q.Advance()
	return q.AcceptPunct('(') && !q.IsPunct(')')
}

// IsAssigned reports whether the call of LAST_INSERT_ID at the current token is the whole
// value of the assignment that begins at an offset.
func IsAssigned(p *reader.Reader, at int) bool {
	q := p.Within(scan.Span{Start: at, End: len(p.Text)})
	for q.Token.Kind == scan.Word || q.Token.Kind == scan.Quoted {
		if q.Advance(); !q.AcceptPunct('.') {
			break
		}
	}
	if !q.AcceptPunct('=') || q.Token.Start != p.Token.Start {
		return false
	}
	q.Advance()
	return q.Balanced('(', ')') && (q.AtEnd() || q.IsPunct(',') || q.IsPunct(';') || q.IsWord("returning"))
}
