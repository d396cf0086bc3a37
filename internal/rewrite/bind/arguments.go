package bind

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/rewrite"
)

// Holes says which slots of a plan (its places for keys) take a key in one execution.
type Holes struct {
	Counts []int  // for each of the plan's draws (calls to a key source), how many keys it takes; read-only
	Fill   []bool // for each slot (place for a key), whether it takes a key; nil if every slot does
}

// isHole reports whether a slot (a place for a key) takes a key in this execution.
func (h Holes) isHole(slot int) bool { return h.Fill == nil || h.Fill[slot] }

// Any reports whether any slot (place for a key) takes a key.
func (h Holes) Any() bool {
	for _, n := range h.Counts {
		if n > 0 {
			return true
		}
	}
	return false
}

// AssumedHoles returns which slots (places for keys) take a key, without the arguments: it
// assumes that the argument of every placeholder for a key is a key.
func AssumedHoles(pl *plans.Plan) Holes {
	h := Holes{Counts: make([]int, len(pl.Draws)), Fill: make([]bool, len(pl.Changes.Slots))}
	for i := range pl.Changes.Slots {
		if s := &pl.Changes.Slots[i]; s.Kind == plans.SlotKey {
			h.Fill[i] = true
			h.Counts[s.Draw]++
		}
	}
	return h
}

// FindHoles returns which slots (places for keys) take a key, given the arguments of an
// execution. It fails with [rewrite.ErrArguments], [rewrite.ErrNamed] or [rewrite.ErrArray]
// if the arguments do not match the placeholders; the caller must then send nothing, since
// a key could go into another column. It fails with [rewrite.ErrScope] if a key is numbered
// within a column whose value is not known, and with [rewrite.ErrQuotedKey] if a key would
// be stored with quotes.
func FindHoles(pl *plans.Plan, args []driver.NamedValue) (Holes, error) {
	if err := check(pl, args); err != nil {
		return Holes{}, err
	}
	h := Holes{Counts: pl.Changes.KeyCounts}
	if pl.AtExecution {
		var err error
		if h, err = holesOf(pl, args); err != nil {
			return Holes{}, err
		}
	}
	if pl.Scoped {
		if err := checkScopes(pl, args, h); err != nil {
			return Holes{}, err
		}
	}
	return h, nil
}

// holesOf returns which slots (places for keys) take a key, for a plan in which arguments
// decide that.
func holesOf(pl *plans.Plan, args []driver.NamedValue) (Holes, error) {
	h := Holes{Counts: make([]int, len(pl.Draws)), Fill: make([]bool, len(pl.Changes.Slots))}
	given := Given{List: args}
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		if s.Kind != plans.SlotKey {
			at, err := IndexOf(pl, s, &given)
			if err != nil {
				return Holes{}, err
			}
			k := &pl.Inserts[s.Insert].Target.Keys[s.Key]
			if !isHole(pl, args[at].Value, k) {
				if !k.Integer && isQuotedUUID(args[at].Value) {
					r := pl.Refused(rewrite.ErrQuotedKey)
					r.Column = k.Column
					return Holes{}, r
				}
				continue
			}
		}
		h.Fill[i] = true
		h.Counts[s.Draw]++
	}
	return h, nil
}

// Equal reports whether the same slots (places for keys) take a key in both.
func (h Holes) Equal(o Holes) bool {
	return slices.Equal(h.Counts, o.Counts) && slices.Equal(h.Fill, o.Fill)
}

// check returns an error if the arguments do not match the placeholders.
func check(pl *plans.Plan, args []driver.NamedValue) error {
	if pl.Dialect.Params.Arrays {
		for i := range args {
			if isList(args[i].Value) {
				return pl.Refused(rewrite.ErrArray)
			}
		}
	}
	if pl.LiteralReason != "" && !pl.AtExecution && !pl.Scoped {
		return nil // no key depends on an argument
	}
	named := 0
	for i := range args {
		if args[i].Name != "" {
			named++
		}
	}
	switch {
	case pl.Changes.Params.Styles&reader.StyleName != 0 && named > 0:
		if named != len(args) {
			return pl.Refused(rewrite.ErrNamed)
		}
	case named > 0:
		return pl.Refused(rewrite.ErrNamed)
	case pl.Changes.Params.Styles == reader.StyleName:
		return pl.Refused(rewrite.ErrNamed)
	case len(args) != pl.Placeholders():
		r := pl.Refused(rewrite.ErrArguments)
		r.Detail = fmt.Sprintf("expected %d, got %d", pl.Placeholders(), len(args))
		return r
	}
	return nil
}

// isList reports whether v is a list other than []byte. Drivers that accept lists accept
// every element type, so isList does not compare types.
func isList(v driver.Value) bool {
	if v == nil {
		return false
	}
	if _, ok := v.([]byte); ok {
		return false
	}
	k := reflect.TypeOf(v).Kind()
	return k == reflect.Slice || k == reflect.Array && reflect.TypeOf(v).Elem().Kind() != reflect.Uint8
}

// isHole reports whether a bound value counts as "no key", so that a key is filled.
func isHole(pl *plans.Plan, v driver.Value, k *plans.Key) bool {
	null, zero := k.Fill&plans.FillNull != 0, k.Fill&plans.FillZero != 0
	switch v := v.(type) {
	case nil:
		return null
	case string:
		return zero && plans.ZeroValue(v, k.Integer) || null && v == "" && pl.Dialect.EmptyIsNull
	case []byte:
		if v == nil {
			return null
		}
		return zero && (plans.ZeroValue(string(v), k.Integer) || len(v) == 16 && isZero(v)) ||
			null && len(v) == 0 && pl.Dialect.EmptyIsNull
	case int64:
		return v == 0 && k.Integer && zero
	case float64:
		return v == 0 && k.Integer && zero
	}
	if driver.IsValue(v) {
		return false
	}
	// Drivers that accept every type (pgx, go-ora) get values that database/sql has not
	// converted: Valuers, pointers, named types, UUIDs as arrays.
	if r, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil && driver.IsValue(r) {
		return isHole(pl, r, k)
	}
	t := reflect.TypeOf(v)
	return zero && t.Kind() == reflect.Array && t.Len() == 16 &&
		t.Elem().Kind() == reflect.Uint8 && reflect.ValueOf(v).IsZero()
}

// isQuotedUUID reports whether a bound value is the text of a UUID in double quotes: xorm
// 1.4 sends a [16]byte type with MarshalText as JSON. SQLite stores the quotes, and pgx
// stores the first 16 characters as the bytes of a uuid.
func isQuotedUUID(v driver.Value) bool {
	const size = 36
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case []byte:
		if len(v) != size+2 {
			return false
		}
		text = string(v)
	default:
		if driver.IsValue(v) {
			return false
		}
		r, err := driver.DefaultParameterConverter.ConvertValue(v)
		return err == nil && driver.IsValue(r) && isQuotedUUID(r)
	}
	if len(text) != size+2 || text[0] != '"' || text[size+1] != '"' {
		return false
	}
	_, err := uuid.Parse(text[1 : size+1])
	return err == nil
}

// isZero reports whether all bytes are zero.
func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Arguments returns the arguments for the text of [Text]: the caller's, with the keys at
// their places. keys holds, for each draw (call to a key source), as many keys as the holes
// count. Arguments does not change the caller's slice.
func Arguments(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) []driver.NamedValue {
	rare := pl.Changes.Rare()
	if session && rare.Listed != nil {
		return bindListed(pl, args, h, keys)
	}
	out := bind(pl, args, h, keys)
	if !session || len(rare.LastKeys) == 0 {
		if rare.DroppedArgs == nil {
			return out
		}
		return without(pl, out, func(index int) int { return placed(pl, index, false) })
	}
	for _, l := range slices.Backward(rare.LastKeys) {
		at := l.Placeholder + before(pl, l.Placeholder)
		out = slices.Insert(out, at, driver.NamedValue{Value: keys[l.Draw][0]}, out[at])
	}
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return without(pl, out, func(index int) int { return placed(pl, index, true) })
}

// bind returns the arguments for the text that [Text] returns if session is false.
func bind(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value) []driver.NamedValue {
	own, added := assign(pl, args, h, keys)
	if pl.Changes.Spelling.Style&reader.StylePosition == 0 || len(args) > 0 && args[0].Name != "" {
		out := make([]driver.NamedValue, 0, len(args)+pl.Changes.Added)
		out = append(out, own...)
		for n, v := range added {
			a := driver.NamedValue{Ordinal: len(args) + n + 1, Value: v}
			if pl.Changes.Params.Styles&reader.StyleName != 0 {
				a.Name = pl.Changes.Spelling.Name(n + 1)
			}
			out = append(out, a)
		}
		return out
	}
	out := make([]driver.NamedValue, len(own)+pl.Changes.Added)
	at := 0 // how many of the caller's arguments are copied
	for n := range pl.Changes.Added {
		if pl.Changes.ArgsBefore != nil && pl.Changes.ArgsBefore[n] > at {
			before := pl.Changes.ArgsBefore[n]
			copy(out[at+n:], own[at:before])
			at = before
		}
		out[at+n].Value = added[n]
	}
	copy(out[at+pl.Changes.Added:], own[at:])
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return out
}

// before returns how many of the caller's arguments precede the n-th added placeholder,
// counted from 0.
func before(pl *plans.Plan, n int) int {
	if pl.Changes.ArgsBefore == nil {
		return 0 // the caller has no arguments
	}
	return pl.Changes.ArgsBefore[n]
}

// assign gives each slot (place for a key) its key. own are the caller's arguments, some of
// them replaced by keys. added are the values of the added placeholders, in the order of
// the text.
func assign(pl *plans.Plan, args []driver.NamedValue, h Holes, keys [][]driver.Value) (own []driver.NamedValue, added []driver.Value) {
	if h.Fill == nil && len(pl.Draws) == 1 {
		// Every place for a key takes a key, and all keys come from one call to their
		// source, in the order of the places.
		return args, keys[0]
	}
	own = args
	added = make([]driver.Value, 0, pl.Changes.Added)
	used := make([]int, len(pl.Draws))
	given := Given{List: args}
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		var key driver.Value
		hole := h.Fill == nil || h.Fill[i]
		if hole {
			key = keys[s.Draw][used[s.Draw]]
			used[s.Draw]++
		}
		if s.Kind == plans.SlotKey {
			added = append(added, key)
			continue
		}
		at, err := IndexOf(pl, s, &given)
		if err != nil {
			panic(fmt.Sprintf("rewrite: slot %d has no argument that Holes did not miss: %v", i, err))
		}
		if !hole {
			key = args[at].Value
		}
		switch {
		case s.Kind == plans.SlotTwo:
			added = append(added, key)
		case hole:
			if &own[0] == &args[0] {
				own = slices.Clone(args)
			}
			own[at].Value = key
		}
	}
	return own, added
}

// without returns args without the arguments of clauses that were cut from the text. at
// returns the index in args of a caller's argument.
func without(pl *plans.Plan, args []driver.NamedValue, at func(index int) int) []driver.NamedValue {
	dropped := pl.Changes.Rare().DroppedArgs
	if len(dropped) == 0 {
		return args
	}
	args = slices.Clone(args)
	for _, index := range slices.Backward(dropped) {
		args = slices.Delete(args, at(index), at(index)+1)
	}
	for i := range args {
		args[i].Ordinal = i + 1
	}
	return args
}

// droppedBefore returns how many of the caller's arguments before the given one are not
// sent.
func droppedBefore(pl *plans.Plan, index int) int {
	n, _ := slices.BinarySearch(pl.Changes.Rare().DroppedArgs, index)
	return n
}

// FinalIndex returns the index that one of the caller's arguments has in the result of
// [Arguments].
func FinalIndex(pl *plans.Plan, index int, session bool) int {
	at := placed(pl, index, session)
	if pl.Changes.Rare().DroppedArgs == nil {
		return at
	}
	return max(0, at-droppedBefore(pl, index))
}

// placed returns the index of [FinalIndex] as it would be if no clause were cut from the
// text, so that all of the caller's arguments were sent.
func placed(pl *plans.Plan, index int, session bool) int {
	switch {
	case session && pl.Changes.Rare().Listed != nil:
		return finalListed(pl, index)
	case pl.Changes.Spelling.Style&reader.StylePosition == 0:
		return index
	}
	// A binary search, since database/sql asks for every argument of a batch.
	n, _ := slices.BinarySearch(pl.Changes.ArgsBefore, index+1)
	last, more := pl.Changes.Rare().LastKeys, 0
	for session && more < len(last) && last[more].Placeholder < n {
		more++
	}
	return index + n + 2*more
}

// Added returns how many more placeholders the text with keys has than the query. session
// is as for [Text].
func Added(pl *plans.Plan, session bool) int {
	rare := pl.Changes.Rare()
	switch {
	case !session || !pl.Session:
		return pl.Changes.Added - len(rare.DroppedArgs)
	case rare.Listed != nil:
		return addedListed(pl)
	}
	return pl.Changes.Added + 2*len(rare.LastKeys) - len(rare.DroppedArgs)
}
