package bind

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
)

// Place says as which argument a key is sent: Arg is the ordinal of the argument, from 1.
type Place struct {
	Arg    int
	Row    int // the index of the row, from 0
	Insert int
	Key    int
}

// Places returns where the keys are among the final arguments, as far as the text alone
// decides: it assumes that an argument for a key of the caller is a key. If the dialect has
// named and nameless arguments, Places assumes nameless arguments. session is as for
// [Text].
func Places(pl *plans.Plan, session bool) []Place {
	if session && pl.Changes.Rare().Listed != nil {
		return placesListed(pl)
	}
	var places []Place
	n := 0
	for _, e := range pl.Changes.Edits {
		if e.Slot < 0 {
			continue
		}
		s := &pl.Changes.Slots[e.Slot]
		n++
		if s.Kind != plans.SlotKey {
			continue
		}
		if session && s.Wrap == plans.WrapLast {
			n++ // the placeholder of the first key precedes the placeholder of this key
		}
		arg := int(s.Before) + n
		switch pl.Changes.Spelling.Style {
		case reader.StyleNumber:
			arg = pl.Changes.Spelling.Base + n
		case reader.StyleName:
			arg = pl.Changes.Params.Names + n
		}
		places = append(places, Place{Arg: arg, Row: int(s.Row), Insert: int(s.Insert), Key: int(s.Key)})
		if session && s.Wrap == plans.WrapLast {
			n++
		}
	}
	return places
}

// Filled is one slot (place for a key) that takes a key in an execution: the N-th key that
// the draw, a call to a source, returns.
type Filled struct {
	Row    int // the index of the row, from 0
	Insert int
	Key    int
	Draw   int
	N      int
}

// FilledPlaces returns the slots (places for keys) that take a key, in the order of the
// text. It returns no slot for an INSERT with a [plans.Query], whose rows are not known.
func FilledPlaces(pl *plans.Plan, h Holes) []Filled {
	var places []Filled
	used := make([]int, len(pl.Draws))
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		if h.Fill != nil && !h.Fill[i] {
			continue
		}
		if pl.Inserts[s.Insert].Query != nil {
			continue
		}
		places = append(places, Filled{Row: int(s.Row), Insert: int(s.Insert), Key: int(s.Key), Draw: int(s.Draw), N: used[s.Draw]})
		used[s.Draw]++
	}
	return places
}
