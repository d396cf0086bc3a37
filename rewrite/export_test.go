package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Token is a token as tests see it.
type Token struct {
	Kind       uint8
	Start, End int
}

// The kinds that tests ask for.
const (
	KindEnd     = uint8(tokEnd)
	KindSpace   = uint8(tokSpace)
	KindComment = uint8(tokComment)
	KindParam   = uint8(tokParam)
	KindPunct   = uint8(tokPunct)
	KindString  = uint8(tokString)
	KindNumber  = uint8(tokNumber)
	KindError   = uint8(tokError)
)

// Tokens returns the tokens of a text without the end.
func Tokens(d *dialect.Dialect, text string) []Token {
	s := scanner{d: d, q: text}
	var tokens []Token
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		tokens = append(tokens, Token{uint8(t.kind), t.start, t.end})
	}
	return tokens
}

// Edit is a span of the query and what stands there in the bound text.
type Edit struct {
	Start, End int
	Text       string
	Slot       int // -1 without a placeholder
}

// EditsOf returns a plan's edits in the order of the text.
func EditsOf(pl *Plan) []Edit {
	var edits []Edit
	n := 0
	for _, e := range pl.ofBound() {
		text := e.text
		if e.slot >= 0 {
			n++
			text += pl.spell.text(pl.number(e.slot, n))
		}
		edits = append(edits, Edit{e.start, e.end, text, e.slot})
	}
	return edits
}

// Slot is the place of a key as tests see it.
type Slot struct {
	Own         bool // the caller's placeholder stays
	Shared      bool // the caller's placeholder is replaced
	Draw        int
	Row         int
	Placeholder int // the caller's placeholders in front of the place
}

// SlotsOf returns a plan's slots in the order of the text.
func SlotsOf(pl *Plan) []Slot {
	var slots []Slot
	for _, s := range pl.slots {
		slots = append(slots, Slot{s.kind == slotOwn, s.kind == slotTwo, int(s.draw), int(s.row), int(s.before)})
	}
	if !pl.spell.renumbers {
		return slots
	}
	for _, e := range pl.edits {
		if e.slot >= 0 {
			slots[e.slot].Placeholder = paramsBefore(pl, e.start)
		}
	}
	return slots
}

// InCase reports whether the key of a place stands in CASE, beside the records that the row
// takes values from.
func InCase(pl *Plan, place Place) bool {
	for _, e := range pl.edits {
		if e.slot >= 0 && strings.HasSuffix(e.text, " THEN CAST(") {
			if s := &pl.slots[e.slot]; int(s.insert) == place.Insert && int(s.key) == place.Key {
				return true
			}
		}
	}
	return false
}

// paramsBefore returns how many placeholders the query has in front of an offset.
func paramsBefore(pl *Plan, offset int) (n int) {
	s := scanner{d: pl.Dialect, q: pl.query}
	for t := s.next(); t.start < offset; t = s.next() {
		if t.kind == tokParam {
			n++
		}
	}
	return n
}

// Identity returns what the spellings of one placeholder have in common.
func Identity(d *dialect.Dialect, text string) string { return identity(d, text) }

// Taken reports whether a slot takes a key.
func Taken(h Holes, slot int) bool { return h.fill == nil || h.fill[slot] }

// EqualWord reports whether text is the keyword word.
func EqualWord(text, word string) bool { return equalWord(text, word) }

// Hopeless is hopeless.
func Hopeless(d *dialect.Dialect, query string) bool { return hopeless(d, query) }

// AreSelects reports whether the rows of an INSERT are SELECTs.
func AreSelects(in *Insert) bool { return in.selects }

// Same is same.
func Same(pl, o *Plan) bool { return pl.same(o) }

// StringTarget is stringTarget.
func StringTarget(pl *Plan) bool { return pl.stringTarget() }

// Survives is survives, for tests.
func Survives(d *dialect.Dialect, item string) bool { return survives(d, item) }

// OneTransaction is oneTransaction.
func OneTransaction(d *dialect.Dialect, query string) bool { return oneTransaction(d, query) }
