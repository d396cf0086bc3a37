package rewrite

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"
)

// Refused returns the refusal of the plan's first INSERT for a reason that its
// text alone does not give.
func (pl *Plan) Refused(reason Reason) *Refusal { return pl.RefusedAt(0, reason) }

// RefusedAt is [Plan.Refused] for the INSERT of the given index.
func (pl *Plan) RefusedAt(insert int, reason Reason) *Refusal {
	in := &pl.Inserts[insert]
	return &Refusal{Target: in.Target, Table: in.Target.Table, Column: in.Target.Keys[0].Column, Offset: in.Offset, Reason: reason,
		Others: pl.others(in.Target)}
}

// Withheld returns the plan of a text that is refused for a reason that it alone
// does not give.
func (pl *Plan) Withheld(reason Reason) *Plan {
	if pl.Action == Refuse {
		return pl
	}
	return &Plan{Action: Refuse, Refusal: pl.Refused(reason), Inserts: pl.Inserts, Statements: pl.Statements, Dialect: pl.Dialect, query: pl.query}
}

// others returns the targets of the plan's INSERTs but for one.
func (pl *Plan) others(but *Target) (others []*Target) {
	seen := map[*Target]bool{but: true}
	for i := range pl.Inserts {
		if t := pl.Inserts[i].Target; !seen[t] {
			seen[t] = true
			others = append(others, t)
		}
	}
	return others
}

// check compares the arguments with the placeholders.
func (pl *Plan) check(args []driver.NamedValue) error {
	if pl.Dialect.Params.Arrays {
		for i := range args {
			if isList(args[i].Value) {
				return pl.Refused(ErrArray)
			}
		}
	}
	if pl.unbound != "" && !pl.AtExecution && !pl.scoped {
		return nil // no key depends on an argument
	}
	named := 0
	for i := range args {
		if args[i].Name != "" {
			named++
		}
	}
	switch {
	case pl.params.styles&styleName != 0 && named > 0:
		if named != len(args) {
			return pl.Refused(ErrNamed)
		}
	case named > 0:
		return pl.Refused(ErrNamed)
	case pl.params.styles == styleName:
		return pl.Refused(ErrNamed)
	case len(args) != pl.Placeholders():
		r := pl.Refused(ErrArguments)
		r.Detail = fmt.Sprintf("expected %d, got %d", pl.Placeholders(), len(args))
		return r
	}
	return nil
}

// Placeholders returns how many arguments the caller's text asks for: for
// placeholders by position their count, for numbered ones the highest number,
// for named ones how many names there are. It is 0 for a plan that neither
// fills nor decides at execution.
func (pl *Plan) Placeholders() int {
	switch pl.params.styles {
	case styleNumber:
		return pl.params.max
	case styleName:
		return pl.params.names
	}
	return pl.params.count
}

// isList reports whether v is a list other than []byte. The drivers that take
// one take lists of every type, so there is no list of types to ask for.
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

// isHole reports whether a bound value is no key.
func (pl *Plan) isHole(v driver.Value, k *Key) bool {
	null, zero := k.Fill&FillNull != 0, k.Fill&FillZero != 0
	switch v := v.(type) {
	case nil:
		return null
	case string:
		return zero && zeroValue(v, k.Integer) || null && v == "" && pl.Dialect.EmptyIsNull
	case []byte:
		if v == nil {
			return null
		}
		return zero && (zeroValue(string(v), k.Integer) || len(v) == 16 && isZero(v)) ||
			null && len(v) == 0 && pl.Dialect.EmptyIsNull
	case int64:
		return v == 0 && k.Integer && zero
	case float64:
		return v == 0 && k.Integer && zero
	}
	if driver.IsValue(v) {
		return false
	}
	// Drivers that take every type (pgx, go-ora) get values that are not
	// resolved yet: Valuers, pointers, named types, UUIDs as arrays.
	if r, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil && driver.IsValue(r) {
		return pl.isHole(r, k)
	}
	t := reflect.TypeOf(v)
	return zero && t.Kind() == reflect.Array && t.Len() == 16 &&
		t.Elem().Kind() == reflect.Uint8 && reflect.ValueOf(v).IsZero()
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// BoundText returns the text with a placeholder for every key: the text to
// prepare. It is the same for every execution. With session it is the text with
// LAST_INSERT_ID(?), for executions that fill a key; without effect unless
// [Plan.Session]. [Plan.Bind] gives the arguments of both texts.
func (pl *Plan) BoundText(session bool) string {
	session = session && pl.Session()
	b := &pl.bound
	if session {
		b = &pl.boundSession
	}
	return b.get(func() string { return pl.boundText(session) })
}

// boundText writes the text that BoundText keeps.
func (pl *Plan) boundText(session bool) string {
	if session && pl.listed != nil {
		mark := pl.spell.text(1)
		return pl.writeListed(func(e *sessionEdit) string { return e.inCall(mark) })
	}
	if len(pl.edits) == 0 {
		return pl.query
	}
	edits := pl.ofBound()
	b := make([]byte, 0, len(pl.query)+16*len(edits))
	at, n := 0, 0
	for _, e := range edits {
		b = append(b, pl.query[at:e.start]...)
		b = append(b, e.text...)
		if e.slot >= 0 {
			n++
			mark := pl.spell.text(pl.number(e.slot, n))
			b = append(b, pl.slots[e.slot].wrapIn(session).around(mark, mark)...)
		}
		at = e.end
	}
	return string(append(b, pl.query[at:]...))
}

// wrapIn returns how the key of a slot is written.
func (s *slot) wrapIn(session bool) wrap {
	if !session {
		return wrapNone
	}
	return s.wrap
}

// around returns the text of a key, as the first of its statement's is written, and it.
func (w wrap) around(first, key string) string {
	switch w {
	case wrapKey:
		return sessionOpen + key + sessionClose
	case wrapLast:
		return "IF(" + sessionOpen + first + sessionClose + ", " + key + ", " + key + ")"
	}
	return key
}

// ofBound returns the edits of the bound text.
func (pl *Plan) ofBound() []edit {
	if pl.boundEdits != nil {
		return pl.boundEdits
	}
	return pl.edits
}

// number returns what the number of a slot's placeholder, the n-th that is added, has
// more than the base.
func (pl *Plan) number(slot, n int) int {
	if pl.spell.renumbers {
		return int(pl.slots[slot].before) + n
	}
	return n
}

// Bind returns the arguments for [Plan.BoundText]: the caller's with the keys
// at the places that the text demands. keys holds, for each draw, as many keys
// as the holes count. The caller's slice is not written to.
func (pl *Plan) Bind(args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) []driver.NamedValue {
	if session && pl.listed != nil {
		return pl.bindListed(args, h, keys)
	}
	out := pl.bind(args, h, keys)
	if !session || len(pl.lasts) == 0 {
		if pl.dropped == nil {
			return out
		}
		return pl.without(out, func(index int) int { return pl.placed(index, false) })
	}
	for _, l := range slices.Backward(pl.lasts) {
		at := l.placeholder + pl.before(l.placeholder)
		out = slices.Insert(out, at, driver.NamedValue{Value: keys[l.draw][0]}, out[at])
	}
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return pl.without(out, func(index int) int { return pl.placed(index, true) })
}

// bind is Bind without session.
func (pl *Plan) bind(args []driver.NamedValue, h Holes, keys [][]driver.Value) []driver.NamedValue {
	own, added := pl.assign(args, h, keys)
	if pl.spell.style&stylePosition == 0 || len(args) > 0 && args[0].Name != "" {
		out := make([]driver.NamedValue, 0, len(args)+pl.added)
		out = append(out, own...)
		for n, v := range added {
			a := driver.NamedValue{Ordinal: len(args) + n + 1, Value: v}
			if pl.params.styles&styleName != 0 {
				a.Name = pl.spell.name(n + 1)
			}
			out = append(out, a)
		}
		return out
	}
	out := make([]driver.NamedValue, len(own)+pl.added)
	at := 0 // of the caller's arguments
	for n := range pl.added {
		if before := pl.before(n); before > at {
			copy(out[at+n:], own[at:before])
			at = before
		}
		out[at+n].Value = added[n]
	}
	copy(out[at+pl.added:], own[at:])
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return out
}

// before returns how many of the caller's arguments stand in front of the n-th placeholder
// that Bind adds, counted from 0.
func (pl *Plan) before(n int) int {
	if pl.befores == nil {
		return 0 // the caller has none
	}
	return pl.befores[n]
}

// Final returns the index at which the caller's argument of the given index
// travels in the arguments that Bind returns.
func (pl *Plan) Final(index int, session bool) int {
	return max(0, pl.placed(index, session)-pl.droppedBefore(index))
}

// placed is Final as if all of the caller's arguments were sent.
func (pl *Plan) placed(index int, session bool) int {
	switch {
	case session && pl.listed != nil:
		return pl.finalListed(index)
	case pl.spell.style&stylePosition == 0:
		return index
	}
	// database/sql asks for every argument of a batch.
	n, _ := slices.BinarySearch(pl.befores, index+1)
	more := 0
	for session && more < len(pl.lasts) && pl.lasts[more].placeholder < n {
		more++
	}
	return index + n + 2*more
}

// assign gives each slot its key: own are the caller's arguments with the keys
// that replace one, added the values of the placeholders that Bind adds, in
// the order of the text.
func (pl *Plan) assign(args []driver.NamedValue, h Holes, keys [][]driver.Value) (own []driver.NamedValue, added []driver.Value) {
	if h.fill == nil && len(pl.Draws) == 1 {
		// Every place takes a key, and there is one draw: its keys are in order.
		return args, keys[0]
	}
	own = args
	added = make([]driver.Value, 0, pl.added)
	used := make([]int, len(pl.Draws))
	given := arguments{list: args}
	for i := range pl.slots {
		s := &pl.slots[i]
		var key driver.Value
		hole := h.fill == nil || h.fill[i]
		if hole {
			key = keys[s.draw][used[s.draw]]
			used[s.draw]++
		}
		if s.kind == slotKey {
			added = append(added, key)
			continue
		}
		at, err := pl.argument(s, &given)
		if err != nil {
			panic(fmt.Sprintf("rewrite: slot %d has no argument that Holes did not miss: %v", i, err))
		}
		if !hole {
			key = args[at].Value
		}
		switch {
		case s.kind == slotTwo:
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

// Inline returns the text with the keys as literals, and the arguments, in
// which a key replaces the caller's value where the place is a placeholder of
// its own and the key is no []byte. It is for texts without placeholders and for those with too many;
// it must not be prepared for more than one execution. session is as for
// [Plan.BoundText].
func (pl *Plan) Inline(args []driver.NamedValue, h Holes, keys [][]driver.Value, session bool) (string, []driver.NamedValue) {
	if session && pl.listed != nil {
		return pl.inlineListed(args, h, keys, func(e *sessionEdit, key string) string { return e.inCall(key) })
	}
	own, added := pl.assign(args, h, keys)
	b := make([]byte, 0, len(pl.query)+48*len(pl.edits))
	at, n := 0, 0
	for _, e := range pl.edits {
		if e.slot >= 0 && h.fill != nil && !h.fill[e.slot] {
			n++
			continue
		}
		b = append(b, pl.query[at:e.start]...)
		b = append(b, e.text...)
		if e.slot >= 0 {
			b = pl.literal(b, keys[pl.slots[e.slot].draw], added[n], pl.slots[e.slot].wrapIn(session))
			n++
		}
		at = e.end
	}
	return pl.writeByteKeys(string(append(b, pl.query[at:]...)), pl.without(own, sameIndex), keys)
}

// sameIndex is where an argument stands among those of a text whose keys are literals.
func sameIndex(index int) int { return index }

// InlineAssumed is [Plan.Inline] for the holes that [Plan.Assumed] returns: no
// arguments are needed, and the caller's placeholders stay. session is as for
// [Plan.BoundText].
func (pl *Plan) InlineAssumed(h Holes, keys [][]driver.Value, session bool) string {
	if session && pl.listed != nil && !pl.AtExecution {
		text, _ := pl.inlineListed(nil, h, keys, func(e *sessionEdit, key string) string { return e.inCall(key) })
		return text
	}
	b := make([]byte, 0, len(pl.query)+48*len(pl.edits))
	at := 0
	used := make([]int, len(pl.Draws))
	for _, e := range pl.edits {
		if e.slot >= 0 && !h.fill[e.slot] {
			continue
		}
		b = append(b, pl.query[at:e.start]...)
		b = append(b, e.text...)
		if e.slot >= 0 {
			d := pl.slots[e.slot].draw
			b = pl.literal(b, keys[d], keys[d][used[d]], pl.slots[e.slot].wrapIn(session))
			used[d]++
		}
		at = e.end
	}
	return string(append(b, pl.query[at:]...))
}

// literal appends a key of a draw as a literal.
func (pl *Plan) literal(b []byte, drawn []driver.Value, key driver.Value, how wrap) []byte {
	if how == wrapNone {
		return pl.Dialect.AppendLiteral(b, key)
	}
	return append(b, how.around(string(pl.Dialect.AppendLiteral(nil, drawn[0])), string(pl.Dialect.AppendLiteral(nil, key)))...)
}

// without returns the arguments that are sent, of those of the text with the clauses that are
// cut (cutclause.go). at returns where one of the caller's stands among them.
func (pl *Plan) without(args []driver.NamedValue, at func(index int) int) []driver.NamedValue {
	if len(pl.dropped) == 0 {
		return args
	}
	args = slices.Clone(args)
	for _, index := range slices.Backward(pl.dropped) {
		args = slices.Delete(args, at(index), at(index)+1)
	}
	for i := range args {
		args[i].Ordinal = i + 1
	}
	return args
}

// droppedBefore returns how many of the caller's arguments in front of one are not sent.
func (pl *Plan) droppedBefore(index int) int {
	n, _ := slices.BinarySearch(pl.dropped, index)
	return n
}
