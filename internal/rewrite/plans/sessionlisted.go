package plans

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// In the session's text, which sets LAST_INSERT_ID() (see [Plan.Session]), a listed key
// comes after all other columns and values, so that these still read the session's old
// number:
//
//	INSERT INTO t (id, a, b) VALUES (?, ?, LAST_INSERT_ID())
//	INSERT INTO t (a, b, id) VALUES (?, LAST_INSERT_ID(), LAST_INSERT_ID(?))
//
// The argument of the key moves with it. An execution that brings all its keys sends the
// text in which nothing is moved.

// Listing is the span of an INSERT that lists a key, from its column list, VALUES or SET to
// the end of its rows. Params is how many of the caller's placeholders precede the span.
type Listing struct {
	Rows   scan.Span
	Params int
}

// listedInsert is an INSERT whose key is moved, with the edits that move it.
type listedInsert struct {
	insert int
	edits  []SessionEdit
}

// SessionEdit is an edit of the session's text: the query as it is sent if it is to set
// LAST_INSERT_ID().
type SessionEdit struct {
	Edit
	Call   bool // whether the key is inside LAST_INSERT_ID( )
	First  bool // whether the key is the first key that the source returned, and not the key that belongs to this place
	Before int  // how many of the caller's placeholders precede the edit
	Params int  // how many of the caller's placeholders the edit replaces
}

// sessionListed returns the edits of the session's text for an INSERT that lists its key,
// whose first slot is given; nil if the key cannot be moved, as when the key of another row
// is an expression. extra is how many placeholders the edits add.
func (p *Draft) sessionListed(insert, slot int) (edits []SessionEdit, extra int) {
	in := &p.Inserts[insert]
	if in.Listing.Rows.End != in.End {
		return nil, 0
	}
	m := &keyMover{
		KeyReader: NewKeyReader(p.Dialect, p.Text, in, 0),
		rest:      p.Edits[startOf(p.Edits, in.Offset):],
		slot:      slot,
	}
	m.Found = m
	if !m.Insertion() {
		return nil, 0
	}
	return m.edits, m.extra
}

// startOf returns the index of the first edit that begins at or after an offset.
func startOf(edits []Edit, at int) int {
	i, _ := slices.BinarySearchFunc(edits, at, func(e Edit, at int) int { return cmp.Compare(e.Start, at) })
	return i
}

// keyMover moves the key of an INSERT to the end of its rows.
type keyMover struct {
	*KeyReader
	slot  int    // the index of the INSERT's first slot (place for a key)
	rest  []Edit // the edits that are not yet copied, of this INSERT and of later INSERTs
	edits []SessionEdit
	extra int
}

// remove removes an element and the comma after it, but keeps comments.
func (m *keyMover) remove(i Element) {
	end := i.comma + 1
	if isBlank(m.Text[end:i.next]) {
		end = i.next
	}
	if isBlank(m.Text[i.End:i.comma]) {
		m.edits = append(m.edits, SessionEdit{Edit: Edit{i.Start, end, "", -1}, Before: i.Before, Params: i.params})
		return
	}
	m.edits = append(m.edits, SessionEdit{Edit: Edit{i.Start, i.End, "", -1}, Before: i.Before, Params: i.params})
	m.write(i.comma, end, "")
}

// isBlank reports whether a text is white space alone.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// write queues an edit that has no key.
func (m *keyMover) write(start, end int, text string) {
	m.edits = append(m.edits, SessionEdit{Edit: Edit{start, end, text, -1}, Before: m.Params.Count})
}

// Listed moves the key to the end of the column list, by edits.
func (m *keyMover) Listed(key Element) bool {
	if key.comma >= 0 {
		m.remove(key)
		m.write(m.PrevEnd, m.PrevEnd, ", "+m.Text[key.Start:key.End])
	}
	return true
}

// Implied writes the column list that the INSERT lacks, with the key as the last column.
func (m *keyMover) Implied() bool {
	if len(m.rest) == 0 || m.rest[0].Slot >= 0 {
		return false
	}
	b := []byte(" (")
	for i, c := range m.in.Target.Columns {
		if i != m.column {
			b = append(m.Dialect.AppendIdent(b, c), ", "...)
		}
	}
	b = append(m.Dialect.AppendIdent(b, m.in.Target.Columns[m.column]), ')')
	m.write(m.rest[0].Start, m.rest[0].End, string(b))
	return true
}

// Row writes the key of a row after the row's other values, and removes it where it stands
// among them. name is the text before the value in a SET.
func (m *keyMover) Row(row int, i Element, v reader.Value, name string) bool {
	for len(m.rest) > 0 && m.rest[0].Start < v.Start {
		m.rest = m.rest[1:]
	}
	e := SessionEdit{Edit: Edit{v.Start, v.End, "", -1}, Before: i.Before, Params: i.params}
	text, rest := m.Text[v.Start:v.End], "" // the text of the value, and the text after its key
	if len(m.rest) > 0 && m.rest[0].Slot >= 0 && m.rest[0].End <= v.End {
		e.Edit = m.rest[0]
	} else if t, ok := m.Core(v); !ok || t.Kind != scan.Number && t.Kind != scan.String {
		return false
	}
	if i.comma >= 0 {
		m.remove(i)
		e.Text, rest = ", "+name+m.Text[v.Start:e.Start], m.Text[e.End:v.End]
		e.Start, e.End, e.Before, e.Params = m.PrevEnd, m.PrevEnd, m.Params.Count, 0
	}
	switch {
	case row == m.in.Rows-1 && row > 0:
		m.last(e, text)
	case e.Slot < 0:
		e.Text += text
		m.edits = append(m.edits, e)
	default:
		e.Call = m.in.Rows == 1
		m.edits = append(m.edits, e)
	}
	if rest != "" {
		m.edits = append(m.edits, SessionEdit{Edit: Edit{e.End, e.End, rest, -1}, Before: e.Before})
	}
	return true
}

// last writes the key of the last of several rows as IF(LAST_INSERT_ID(first), own, own).
// first is the first key that the source returned. own is the row's key: the given text, or
// the key of the edit's slot (its place for a key).
func (m *keyMover) last(e SessionEdit, text string) {
	own := e.Slot
	e.Text, e.Slot, e.Call, e.First = e.Text+"IF(", m.slot, true, true
	m.edits = append(m.edits, e)
	at := SessionEdit{Edit: Edit{e.End, e.End, ", " + text + ", " + text + ")", -1}, Before: e.Before + e.Params}
	if m.extra++; own < 0 {
		m.edits = append(m.edits, at)
		return
	}
	m.extra++
	at.Text, at.Slot = ", ", own
	m.edits = append(m.edits, at, at)
	m.edits = append(m.edits, SessionEdit{Edit: Edit{e.End, e.End, ")", -1}, Before: at.Before})
}

// withListed returns all edits of the session's text: the plan's edits, except that the
// given edits replace the edits of INSERTs that list their key.
func (p *Draft) withListed(slots []Slot, listed []listedInsert) []SessionEdit {
	all := make([]SessionEdit, 0, len(p.Edits)+len(listed[0].edits))
	for _, e := range p.Edits {
		if len(listed) > 0 && e.Start >= p.Inserts[listed[0].insert].Listing.Rows.End {
			all, listed = append(all, listed[0].edits...), listed[1:]
		}
		if len(listed) > 0 && e.Start >= p.Inserts[listed[0].insert].Offset {
			continue
		}
		one := SessionEdit{Edit: e}
		how := WrapNone
		if e.Slot >= 0 {
			one.Before, how = int(slots[e.Slot].Before), slots[e.Slot].Wrap
		}
		if how == WrapLast {
			m := &keyMover{slot: e.Slot, edits: all}
			m.last(one, "")
			all = m.edits
			continue
		}
		one.Call = how == WrapKey
		all = append(all, one)
	}
	for _, l := range listed {
		all = append(all, l.edits...)
	}
	return all
}
