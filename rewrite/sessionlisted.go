package rewrite

import (
	"cmp"
	"database/sql/driver"
	"slices"
	"strings"
)

// In the session's text a key that the INSERT lists stands behind all other columns and
// values, so that these still read the session's old number:
//
//	INSERT INTO t (id, a, b) VALUES (?, ?, LAST_INSERT_ID())
//	INSERT INTO t (a, b, id) VALUES (?, LAST_INSERT_ID(), LAST_INSERT_ID(?))
//
// Its argument moves with it. An execution that brings all its keys has the other text.

// listing is where the column list, VALUES or SET of an INSERT that lists a key begins and
// its rows end, and how many of the caller's placeholders stand in front of that.
type listing struct {
	rows   span
	params int
}

// listedInsert is an INSERT whose key is moved, with its edits.
type listedInsert struct {
	insert int
	edits  []sessionEdit
}

// sessionEdit is an edit of the session's text.
type sessionEdit struct {
	edit
	call   bool // the key stands in LAST_INSERT_ID( )
	first  bool // the key is the first one of the slot's draw
	before int  // the caller's placeholders in front of it
	params int  // the caller's placeholders that it replaces
}

// sessionListed returns the edits of the session's text for an INSERT that lists its key,
// nil where the key cannot be moved, as where the key of another row is an expression. extra
// is how many placeholders these have more than the other text.
func (p *parser) sessionListed(insert int) (edits []sessionEdit, extra int) {
	in := &p.inserts[insert]
	if in.listing.rows.end != in.end {
		return nil, 0
	}
	m := &keyMover{
		keyReader: newKeyReader(p.d, p.q, in, 0),
		rest:      p.edits[startOf(p.edits, in.Offset):],
		slot:      slices.IndexFunc(p.slots, func(s slot) bool { return int(s.insert) == insert }),
	}
	m.found = m
	if !m.insertion() {
		return nil, 0
	}
	return m.edits, m.extra
}

// startOf returns the index of the first edit that begins at an offset or behind it.
func startOf(edits []edit, at int) int {
	i, _ := slices.BinarySearchFunc(edits, at, func(e edit, at int) int { return cmp.Compare(e.start, at) })
	return i
}

// keyMover moves the key of an INSERT to the end of its rows.
type keyMover struct {
	*keyReader
	slot  int    // the first one of the INSERT
	rest  []edit // those of the INSERT that are not passed yet, and what follows
	edits []sessionEdit
	extra int
}

// remove takes an element and its comma away, but no comment.
func (m *keyMover) remove(i element) {
	end := i.comma + 1
	if isBlank(m.q[end:i.next]) {
		end = i.next
	}
	if isBlank(m.q[i.end:i.comma]) {
		m.edits = append(m.edits, sessionEdit{edit: edit{i.start, end, "", -1}, before: i.before, params: i.params})
		return
	}
	m.edits = append(m.edits, sessionEdit{edit: edit{i.start, i.end, "", -1}, before: i.before, params: i.params})
	m.write(i.comma, end, "")
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// write queues an edit without a key.
func (m *keyMover) write(start, end int, text string) {
	m.edits = append(m.edits, sessionEdit{edit: edit{start, end, text, -1}, before: m.params.count})
}

// listed moves the key to the end of the column list.
func (m *keyMover) listed(key element) bool {
	if key.comma >= 0 {
		m.remove(key)
		m.write(m.prev, m.prev, ", "+m.q[key.start:key.end])
	}
	return true
}

// implied writes the column list that the INSERT does not have.
func (m *keyMover) implied() bool {
	if len(m.rest) == 0 || m.rest[0].slot >= 0 {
		return false
	}
	b := []byte(" (")
	for i, c := range m.in.Target.Columns {
		if i != m.column {
			b = append(m.d.AppendIdent(b, c), ", "...)
		}
	}
	b = append(m.d.AppendIdent(b, m.in.Target.Columns[m.column]), ')')
	m.write(m.rest[0].start, m.rest[0].end, string(b))
	return true
}

// row writes the key of a row, which is a value of it, behind the other values. name stands
// in front of it in SET.
func (m *keyMover) row(row int, i element, v value, name string) bool {
	for len(m.rest) > 0 && m.rest[0].start < v.start {
		m.rest = m.rest[1:]
	}
	e := sessionEdit{edit: edit{v.start, v.end, "", -1}, before: i.before, params: i.params}
	text, rest := m.q[v.start:v.end], "" // of the value, and behind its key
	if len(m.rest) > 0 && m.rest[0].slot >= 0 && m.rest[0].end <= v.end {
		e.edit = m.rest[0]
	} else if t, ok := m.core(v); !ok || t.kind != tokNumber && t.kind != tokString {
		return false
	}
	if i.comma >= 0 {
		m.remove(i)
		e.text, rest = ", "+name+m.q[v.start:e.start], m.q[e.end:v.end]
		e.start, e.end, e.before, e.params = m.prev, m.prev, m.params.count, 0
	}
	switch {
	case row == m.in.Rows-1 && row > 0:
		m.last(e, text)
	case e.slot < 0:
		e.text += text
		m.edits = append(m.edits, e)
	default:
		e.call = m.in.Rows == 1
		m.edits = append(m.edits, e)
	}
	if rest != "" {
		m.edits = append(m.edits, sessionEdit{edit: edit{e.end, e.end, rest, -1}, before: e.before})
	}
	return true
}

// last writes the key of the last of several rows: the first key as LAST_INSERT_ID(key), and
// its own, which is a text or of a slot.
func (m *keyMover) last(e sessionEdit, text string) {
	own := e.slot
	e.text, e.slot, e.call, e.first = e.text+"IF(", m.slot, true, true
	m.edits = append(m.edits, e)
	at := sessionEdit{edit: edit{e.end, e.end, ", " + text + ", " + text + ")", -1}, before: e.before + e.params}
	if m.extra++; own < 0 {
		m.edits = append(m.edits, at)
		return
	}
	m.extra++
	at.text, at.slot = ", ", own
	m.edits = append(m.edits, at, at)
	m.edits = append(m.edits, sessionEdit{edit: edit{e.end, e.end, ")", -1}, before: at.before})
}

// withListed returns all edits of the session's text, with these of INSERTs that list their
// key in the place of the plan's.
func (p *parser) withListed(slots []slot, listed []listedInsert) []sessionEdit {
	all := make([]sessionEdit, 0, len(p.edits)+len(listed[0].edits))
	for _, e := range p.edits {
		if len(listed) > 0 && e.start >= p.inserts[listed[0].insert].listing.rows.end {
			all, listed = append(all, listed[0].edits...), listed[1:]
		}
		if len(listed) > 0 && e.start >= p.inserts[listed[0].insert].Offset {
			continue
		}
		one := sessionEdit{edit: e}
		how := wrapNone
		if e.slot >= 0 {
			one.before, how = int(slots[e.slot].before), slots[e.slot].wrap
		}
		if how == wrapLast {
			m := &keyMover{slot: e.slot, edits: all}
			m.last(one, "")
			all = m.edits
			continue
		}
		one.call = how == wrapKey
		all = append(all, one)
	}
	for _, l := range listed {
		all = append(all, l.edits...)
	}
	return all
}

// addedListed returns how many placeholders the session's text has more than the query.
func (pl *Plan) addedListed() (n int) {
	for i := range pl.listed {
		if n -= pl.listed[i].params; pl.listed[i].slot >= 0 {
			n++
		}
	}
	return n
}

// writeListed writes the session's text. key returns what stands in the place of an edit's
// key.
func (pl *Plan) writeListed(key func(e *sessionEdit) string) string {
	b := make([]byte, 0, len(pl.query)+16*len(pl.listed))
	at := 0
	for i := range pl.listed {
		e := &pl.listed[i]
		b = append(append(b, pl.query[at:e.start]...), e.text...)
		if at = e.end; e.slot >= 0 {
			b = append(b, key(e)...)
		}
	}
	return string(append(b, pl.query[at:]...))
}

// inCall returns the text of an edit's key, in LAST_INSERT_ID( ) where it stands there.
func (e *sessionEdit) inCall(key string) string {
	if e.call {
		return sessionOpen + key + sessionClose
	}
	return key
}

// listedValues returns the value of each slot, a key or the caller's, and the first key of
// each draw.
func (pl *Plan) listedValues(args []driver.NamedValue, h Holes, keys [][]driver.Value) []driver.Value {
	values := make([]driver.Value, len(pl.slots))
	used := make([]int, len(pl.Draws))
	given := arguments{list: args}
	for i := range pl.slots {
		s := &pl.slots[i]
		if h.isHole(i) {
			values[i] = keys[s.draw][used[s.draw]]
			used[s.draw]++
			continue
		}
		if at, err := pl.argument(s, &given); err == nil {
			values[i] = args[at].Value
		}
	}
	return values
}

// listedValue returns the value of an edit's key.
func (pl *Plan) listedValue(e *sessionEdit, values []driver.Value, keys [][]driver.Value) driver.Value {
	if e.first {
		return keys[pl.slots[e.slot].draw][0]
	}
	return values[e.slot]
}

// bindListed is Bind for the session's text.
func (pl *Plan) bindListed(args []driver.NamedValue, h Holes, keys [][]driver.Value) []driver.NamedValue {
	values := pl.listedValues(args, h, keys)
	out := make([]driver.NamedValue, 0, len(args)+pl.addedListed())
	at := 0
	for i := range pl.listed {
		e := &pl.listed[i]
		if e.slot >= 0 || e.params > 0 {
			out = append(out, args[at:e.before]...)
			at = e.before + e.params
		}
		if e.slot >= 0 {
			out = append(out, driver.NamedValue{Value: pl.listedValue(e, values, keys)})
		}
	}
	out = append(out, args[at:]...)
	for i := range out {
		out[i].Ordinal = i + 1
	}
	return out
}

// inlineListed is Inline for the session's text. write writes a key as a literal, with what
// it proves; what the caller brings stays an argument.
func (pl *Plan) inlineListed(args []driver.NamedValue, h Holes, keys [][]driver.Value, write func(e *sessionEdit, key string) string) (string, []driver.NamedValue) {
	values := pl.listedValues(args, h, keys)
	var out []driver.NamedValue
	at := 0
	text := pl.writeListed(func(e *sessionEdit) string {
		if e.first || h.isHole(e.slot) {
			return write(e, string(pl.Dialect.AppendLiteral(nil, pl.listedValue(e, values, keys))))
		}
		return write(e, pl.slots[e.slot].text)
	})
	for i := range pl.listed {
		e := &pl.listed[i]
		own := e.slot >= 0 && !e.first && !h.isHole(e.slot)
		if before := min(e.before, len(args)); own || e.params > 0 {
			out = append(out, args[at:before]...)
			at = min(before+e.params, len(args))
		}
		if own {
			out = append(out, driver.NamedValue{Value: values[e.slot]})
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

// finalListed is Final for the session's text. An argument in the place of a key goes where
// its key stands.
func (pl *Plan) finalListed(index int) int {
	own := slices.IndexFunc(pl.slots, func(s slot) bool { return s.kind == slotOwn && int(s.before) == index })
	at, n := 0, 0 // of the caller's, and of those that are sent
	for i := range pl.listed {
		e := &pl.listed[i]
		if e.slot < 0 && e.params == 0 {
			continue
		}
		if own < 0 && index < e.before {
			break
		}
		n += e.before - at
		at = e.before + e.params
		if e.slot < 0 {
			continue
		}
		if own >= 0 && e.slot == own && !e.first {
			return n
		}
		n++
	}
	return n + index - at
}

// placesListed is Places for the session's text.
func (pl *Plan) placesListed() []Place {
	var places []Place
	arg, at, last := 0, 0, -1
	for i := range pl.listed {
		e := &pl.listed[i]
		if e.slot < 0 && e.params == 0 {
			continue
		}
		arg += e.before - at
		if at = e.before + e.params; e.slot < 0 {
			continue
		}
		arg++
		if s := &pl.slots[e.slot]; !e.first && e.slot != last && s.kind == slotKey {
			places = append(places, Place{Arg: arg, Row: int(s.row), Insert: int(s.insert), Key: int(s.key)})
		}
		if !e.first {
			last = e.slot
		}
	}
	return places
}
