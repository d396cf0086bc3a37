package compile

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Token is a token as tests see it.
type Token struct {
	Kind       uint8
	Start, End int
}

// The kinds that tests ask for.
const (
	KindEnd     = uint8(scan.End)
	KindSpace   = uint8(scan.Space)
	KindComment = uint8(scan.Comment)
	KindParam   = uint8(scan.Placeholder)
	KindPunct   = uint8(scan.Punct)
	KindString  = uint8(scan.String)
	KindNumber  = uint8(scan.Number)
	KindError   = uint8(scan.Broken)
)

// Tokens returns the tokens of a text without the end.
func Tokens(d *dialect.Dialect, text string) []Token {
	s := scan.Scanner{Dialect: d, Text: text}
	var tokens []Token
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		tokens = append(tokens, Token{uint8(t.Kind), t.Start, t.End})
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
func EditsOf(pl *plans.Plan) []Edit {
	var edits []Edit
	n := 0
	for _, e := range bind.OfBound(pl) {
		text := e.Text
		if e.Slot >= 0 {
			n++
			text += pl.Changes.Spelling.Text(bind.Number(pl, e.Slot, n))
		}
		edits = append(edits, Edit{e.Start, e.End, text, e.Slot})
	}
	return edits
}

// Slot is the place of a key as tests see it.
type Slot struct {
	Own         bool // the caller's placeholder stays
	Shared      bool // the caller's placeholder is replaced
	Draw        int
	Row         int
	Placeholder int // the caller's placeholders before the place
}

// SlotsOf returns a plan's slots in the order of the text.
func SlotsOf(pl *plans.Plan) []Slot {
	var slots []Slot
	for _, s := range pl.Changes.Slots {
		slots = append(slots, Slot{s.Kind == plans.SlotOwn, s.Kind == plans.SlotTwo, int(s.Draw), int(s.Row), int(s.Before)})
	}
	if !pl.Changes.Spelling.Renumbers {
		return slots
	}
	for _, e := range pl.Changes.Edits {
		if e.Slot >= 0 {
			slots[e.Slot].Placeholder = paramsBefore(pl, e.Start)
		}
	}
	return slots
}

// InCase reports whether the key of a place stands in CASE, beside the records that the row
// takes values from.
func InCase(pl *plans.Plan, place bind.Place) bool {
	for _, e := range pl.Changes.Edits {
		if e.Slot >= 0 && strings.HasSuffix(e.Text, " THEN CAST(") {
			if s := &pl.Changes.Slots[e.Slot]; int(s.Insert) == place.Insert && int(s.Key) == place.Key {
				return true
			}
		}
	}
	return false
}

// paramsBefore returns how many placeholders the query has before an offset.
func paramsBefore(pl *plans.Plan, offset int) (n int) {
	s := scan.Scanner{Dialect: pl.Dialect, Text: pl.Changes.Query}
	for t := s.Next(); t.Start < offset; t = s.Next() {
		if t.Kind == scan.Placeholder {
			n++
		}
	}
	return n
}

// Taken reports whether a slot takes a key.
func Taken(h bind.Holes, slot int) bool { return h.Fill == nil || h.Fill[slot] }
