package bind

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// addedListed returns how many more placeholders than the query the session's text has,
// which sets LAST_INSERT_ID().
func addedListed(pl *plans.Plan) (n int) {
	for _, e := range pl.Changes.Rare().Listed {
		if n -= e.Params; e.Slot >= 0 {
			n++
		}
	}
	return n
}

// writeListed returns the session's text, which sets LAST_INSERT_ID(). key returns the text
// of an edit's key.
func writeListed(pl *plans.Plan, key func(e *plans.SessionEdit) string) string {
	listed := pl.Changes.Rare().Listed
	b := make([]byte, 0, len(pl.Changes.Query)+16*len(listed))
	at := 0
	for i := range listed {
		e := &listed[i]
		b = append(append(b, pl.Changes.Query[at:e.Start]...), e.Text...)
		if at = e.End; e.Slot >= 0 {
			b = append(b, key(e)...)
		}
	}
	return string(append(b, pl.Changes.Query[at:]...))
}

// inCall returns the text of an edit's key. If e.Call is set, the key is inside
// LAST_INSERT_ID( ).
func inCall(e *plans.SessionEdit, key string) string {
	if e.Call {
		return plans.SessionOpen + key + plans.SessionClose
	}
	return key
}

// listedValues returns the value of each slot (place for a key): a key from a source, or
// the caller's argument.
func listedValues(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value) []driver.Value {
	values := make([]driver.Value, len(pl.Changes.Slots))
	used := make([]int, len(pl.Draws))
	given := Given{List: args}
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		if h.isHole(i) {
			values[i] = keys[s.Draw][used[s.Draw]]
			used[s.Draw]++
			continue
		}
		if at, err := IndexOf(pl, s, &given); err == nil {
			values[i] = args[at].Value
		}
	}
	return values
}

// listedValue returns the value of the key that an edit writes.
func listedValue(pl *plans.Plan, e *plans.SessionEdit, values []driver.Value, keys [][]driver.Value) driver.Value {
	if e.First {
		return keys[pl.Changes.Slots[e.Slot].Draw][0]
	}
	return values[e.Slot]
}

// bindListed returns the arguments for the session's text, in which a listed key is moved.
func bindListed(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value) []driver.NamedValue {
	values := listedValues(pl, args, h, keys)
	out := make([]driver.NamedValue, 0, len(args)+addedListed(pl))
	at := 0
	listed := pl.Changes.Rare().Listed
	for i := range listed {
		e := &listed[i]
		if e.Slot >= 0 || e.Params > 0 {
			out = append(out, args[at:e.Before]...)
			at = e.Before + e.Params
		}
		if e.Slot >= 0 {
			out = append(out, driver.NamedValue{Value: listedValue(pl, e, values, keys)})
		}
	}
	out = append(out, args[at:]...)
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return out
}

// inlineListed returns the session's text, in which a listed key is moved, with keys as
// literals, and the arguments: see [Inline]. write returns the text to write for a key,
// given the key's literal or placeholder; keys of the caller stay arguments.
func inlineListed(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value, write func(e *plans.SessionEdit, key string) string) (string, []driver.NamedValue) {
	values := listedValues(pl, args, h, keys)
	var out []driver.NamedValue
	at := 0
	text := writeListed(pl, func(e *plans.SessionEdit) string {
		if e.First || h.isHole(e.Slot) {
			return write(e, string(pl.Dialect.AppendLiteral(nil, listedValue(pl, e, values, keys))))
		}
		return write(e, pl.Changes.Slots[e.Slot].Text)
	})
	listed := pl.Changes.Rare().Listed
	for i := range listed {
		e := &listed[i]
		own := e.Slot >= 0 && !e.First && !h.isHole(e.Slot)
		if before := min(e.Before, len(args)); own || e.Params > 0 {
			out = append(out, args[at:before]...)
			at = min(before+e.Params, len(args))
		}
		if own {
			out = append(out, driver.NamedValue{Value: values[e.Slot]})
		}
	}
	if at == 0 && out == nil {
		return text, args
	}
	out = append(out, args[at:]...)
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return text, out
}

// finalListed returns the result of [FinalIndex] for the session's text, in which a listed
// key is moved. If a key replaces an argument, the argument moves with the key.
func finalListed(pl *plans.Plan, index int) int {
	own := slices.IndexFunc(pl.Changes.Slots, func(s plans.Slot) bool { return s.Kind == plans.SlotOwn && int(s.Before) == index })
	at, n := 0, 0 // counts of the caller's arguments, and of the sent ones
	listed := pl.Changes.Rare().Listed
	for i := range listed {
		e := &listed[i]
		if e.Slot < 0 && e.Params == 0 {
			continue
		}
		if own < 0 && index < e.Before {
			break
		}
		n += e.Before - at
		at = e.Before + e.Params
		if e.Slot < 0 {
			continue
		}
		if own >= 0 && e.Slot == own && !e.First {
			return n
		}
		n++
	}
	return n + index - at
}

// placesListed returns the result of [Places] for the session's text, in which a listed key
// is moved.
func placesListed(pl *plans.Plan) []Place {
	var places []Place
	arg, at, last := 0, 0, -1
	listed := pl.Changes.Rare().Listed
	for i := range listed {
		e := &listed[i]
		if e.Slot < 0 && e.Params == 0 {
			continue
		}
		arg += e.Before - at
		if at = e.Before + e.Params; e.Slot < 0 {
			continue
		}
		arg++
		if s := &pl.Changes.Slots[e.Slot]; !e.First && e.Slot != last && s.Kind == plans.SlotKey {
			places = append(places, Place{Arg: arg, Row: int(s.Row), Insert: int(s.Insert), Key: int(s.Key)})
		}
		if !e.First {
			last = e.Slot
		}
	}
	return places
}
