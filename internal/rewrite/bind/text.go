package bind

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Text returns the text with a placeholder for every key: the text to prepare. It is the
// same for every execution. If session is true, it is the session's text, which has
// LAST_INSERT_ID(?), for executions that fill a key; session has no effect unless
// [plans.Plan.Session] is true. [Arguments] returns the arguments of both texts.
func Text(pl *plans.Plan, session bool) string {
	session = session && pl.Session
	b := &pl.Lazy.Bound
	if session {
		b = &pl.Lazy.BoundSession
	}
	return b.Get(func() string { return writeText(pl, session) })
}

// writeText returns the text that [Text] caches and returns.
func writeText(pl *plans.Plan, session bool) string {
	if session && pl.Changes.Rare().Listed != nil {
		mark := pl.Changes.Spelling.Text(1)
		return writeListed(pl, func(e *plans.SessionEdit) string { return inCall(e, mark) })
	}
	if len(pl.Changes.Edits) == 0 {
		return pl.Changes.Query
	}
	edits := OfBound(pl)
	b := make([]byte, 0, len(pl.Changes.Query)+16*len(edits))
	at, n := 0, 0
	for _, e := range edits {
		b = append(b, pl.Changes.Query[at:e.Start]...)
		b = append(b, e.Text...)
		if e.Slot >= 0 {
			n++
			mark := pl.Changes.Spelling.Text(Number(pl, e.Slot, n))
			b = append(b, around(wrapIn(&pl.Changes.Slots[e.Slot], session), mark, mark)...)
		}
		at = e.End
	}
	return string(append(b, pl.Changes.Query[at:]...))
}

// wrapIn returns how the key of a slot (a place for a key) is written. session is as for
// [Text].
func wrapIn(s *plans.Slot, session bool) plans.Wrap {
	if !session {
		return plans.WrapNone
	}
	return s.Wrap
}

// around returns the text of a key, written as w says. first is the text of the first key
// of its statement.
func around(w plans.Wrap, first, key string) string {
	switch w {
	case plans.WrapKey:
		return plans.SessionOpen + key + plans.SessionClose
	case plans.WrapLast:
		return "IF(" + plans.SessionOpen + first + plans.SessionClose + ", " + key + ", " + key + ")"
	}
	return key
}

// OfBound returns the edits of the text that [Text] returns without session.
func OfBound(pl *plans.Plan) []plans.Edit {
	if edits := pl.Changes.Rare().BoundEdits; edits != nil {
		return edits
	}
	return pl.Changes.Edits
}

// Number returns the number of the n-th placeholder that keyfill adds, for a slot (a place
// for a key). [reader.Spelling.Text] adds the spelling's Base to that number.
func Number(pl *plans.Plan, slot, n int) int {
	if pl.Changes.Spelling.Renumbers {
		return int(pl.Changes.Slots[slot].Before) + n
	}
	return n
}

// Inline returns the text with the keys as literals, and the arguments. A key remains an
// argument, and replaces the caller's value, if its place is the caller's placeholder,
// which is used only there, and the key is no []byte. Inline is for texts without
// placeholders or with too many; the text must not be prepared for more than one
// execution. session is as for [Text].
func Inline(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) (string, []driver.NamedValue) {
	if session && pl.Changes.Rare().Listed != nil {
		return inlineListed(pl, args, h, keys, func(e *plans.SessionEdit, key string) string { return inCall(e, key) })
	}
	own, added := assign(pl, args, h, keys)
	b := make([]byte, 0, len(pl.Changes.Query)+48*len(pl.Changes.Edits))
	at, n := 0, 0
	for _, e := range pl.Changes.Edits {
		if e.Slot >= 0 && h.Fill != nil && !h.Fill[e.Slot] {
			n++
			continue
		}
		b = append(b, pl.Changes.Query[at:e.Start]...)
		b = append(b, e.Text...)
		if e.Slot >= 0 {
			b = literal(pl, b, keys[pl.Changes.Slots[e.Slot].Draw], added[n], wrapIn(&pl.Changes.Slots[e.Slot], session))
			n++
		}
		at = e.End
	}
	return writeByteKeys(pl, string(append(b, pl.Changes.Query[at:]...)), without(pl, own, sameIndex), keys)
}

// sameIndex returns index: literal keys do not move the caller's arguments.
func sameIndex(index int) int { return index }

// InlineAssumed returns the text of [Inline] with a key in each place that [AssumedHoles]
// returns. It needs no arguments, and the caller's placeholders stay. session is as for
// [Text].
func InlineAssumed(pl *plans.Plan, h Holes, keys [][]driver.Value, session bool) string {
	if session && pl.Changes.Rare().Listed != nil && !pl.AtExecution {
		text, _ := inlineListed(pl, nil, h, keys, func(e *plans.SessionEdit, key string) string { return inCall(e, key) })
		return text
	}
	b := make([]byte, 0, len(pl.Changes.Query)+48*len(pl.Changes.Edits))
	at := 0
	used := make([]int, len(pl.Draws))
	for _, e := range pl.Changes.Edits {
		if e.Slot >= 0 && !h.Fill[e.Slot] {
			continue
		}
		b = append(b, pl.Changes.Query[at:e.Start]...)
		b = append(b, e.Text...)
		if e.Slot >= 0 {
			d := pl.Changes.Slots[e.Slot].Draw
			b = literal(pl, b, keys[d], keys[d][used[d]], wrapIn(&pl.Changes.Slots[e.Slot], session))
			used[d]++
		}
		at = e.End
	}
	return string(append(b, pl.Changes.Query[at:]...))
}

// literal appends to b a key as a literal, written as how says. drawn are all keys that
// were drawn from the source together with this key.
func literal(pl *plans.Plan, b []byte, drawn []driver.Value, key driver.Value, how plans.Wrap) []byte {
	if how == plans.WrapNone {
		return pl.Dialect.AppendLiteral(b, key)
	}
	return append(b, around(how, string(pl.Dialect.AppendLiteral(nil, drawn[0])), string(pl.Dialect.AppendLiteral(nil, key)))...)
}
