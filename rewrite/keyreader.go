package rewrite

import (
	"database/sql/driver"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// keyReader reads the list and the rows of an INSERT that lists a key once more.
type keyReader struct {
	*reader
	in     *Insert
	key    int // the index of the key
	column int // its place in the list
	found  keysFound
}

// keysFound is told where the key stands.
type keysFound interface {
	listed(key element) bool // in the column list
	implied() bool           // in the table's columns, since there is no list
	// row is told of its value in a row. name is what stands in front of it in SET.
	row(row int, i element, v value, name string) bool
}

// newKeyReader returns the reader of an INSERT with a listing.
func newKeyReader(d *dialect.Dialect, query string, in *Insert, key int) *keyReader {
	l := in.listing
	p := readerAt(d, query[:l.rows.end], l.rows.start)
	p.params.count = l.params
	return &keyReader{reader: &p, in: in, key: key, column: -1}
}

// element is one of the columns, values or assignments between commas.
type element struct {
	span
	before, params int // the caller's placeholders in front of it, and in it
	comma          int // behind it; -1 for the last
	next           int // where the next one begins
}

func (r *keyReader) begins() element {
	return element{span: span{start: r.tok.start}, before: r.params.count}
}

// ends notes where an element ends, and moves past its comma.
func (r *keyReader) ends(i *element) {
	i.end, i.params, i.comma = r.prev, r.params.count-i.before, -1
	if r.isPunct(',') {
		i.comma = r.tok.start
		r.advance()
		i.next = r.tok.start
	}
}

// insertion reads what stands behind the table's name, up to where the rows end.
func (r *keyReader) insertion() bool {
	if r.accept("set") {
		return r.assignments()
	}
	width, ok := r.list()
	if !ok || !r.accept("values") && !r.accept("value") {
		return false
	}
	for row := 0; ; row++ {
		r.accept("row")
		if !r.values(row, width) {
			return false
		}
		if !r.acceptPunct(',') {
			return r.tok.kind == tokEnd
		}
	}
}

// list reads the column list, and returns its length.
func (r *keyReader) list() (width int, ok bool) {
	if !r.isPunct('(') {
		t := r.in.Target
		for i, c := range t.Columns {
			if r.d.Fold(c, true) == t.Keys[r.key].Column {
				r.column = i
			}
		}
		return len(t.Columns), r.column >= 0 && r.found.implied()
	}
	var key element
	more := true
	for r.advance(); more; width++ {
		i := r.begins()
		name, _, reason := r.reader.column()
		if reason != "" {
			return 0, false
		}
		if r.ends(&i); name == r.in.Target.Keys[r.key].Column {
			r.column, key = width, i
		}
		more = i.comma >= 0
	}
	return width, r.column >= 0 && r.found.listed(key) && r.acceptPunct(')')
}

// values reads one row.
func (r *keyReader) values(row, width int) bool {
	if !r.acceptPunct('(') {
		return false
	}
	var key element
	var v value
	n := 0
	for more := true; more; n++ {
		i := r.begins()
		one := value{span: span{start: r.tok.start}, tokens: 1, first: r.tok}
		if !r.single() {
			var reason Reason
			if one, reason = r.value(nil); reason != "" {
				return false
			}
		}
		one.end = r.prev
		if r.ends(&i); n == r.column {
			key, v = i, one
		}
		more = i.comma >= 0
	}
	return n == width && r.found.row(row, key, v, "") && r.acceptPunct(')')
}

// assignments reads what is set.
func (r *keyReader) assignments() bool {
	var key element
	var v value
	name := ""
	for more := true; more; {
		i := r.begins()
		column, _, reason := r.reader.column()
		end := r.prev
		r.acceptPunct(':')
		if reason != "" || !r.acceptPunct('=') {
			return false
		}
		one, reason := r.value(func() bool { return false })
		if reason != "" {
			return false
		}
		if r.ends(&i); column == r.in.Target.Keys[r.key].Column {
			key, v, name = i, one, r.q[i.start:end]+" = "
		}
		more = i.comma >= 0
	}
	return name != "" && r.tok.kind == tokEnd && r.found.row(0, key, v, name)
}

// Brought is a key that an execution brings for a row.
type Brought struct {
	Row     int   // from 0
	Integer int64 // 0 where it is none that every engine reads alike
}

// Brought returns the keys that an execution brings for rows of an INSERT beside rows that
// take one, in their order; nil where they cannot be told.
func (pl *Plan) Brought(args []driver.NamedValue, h Holes, insert, key int) []Brought {
	in := &pl.Inserts[insert]
	if in.listing == nil {
		return nil
	}
	f := &broughtKeys{plan: pl, holes: h, args: arguments{list: args}}
	for _, i := range pl.slotsOf(insert) {
		if int(pl.slots[i].key) == key {
			f.slots = append(f.slots, i)
		}
	}
	f.keyReader = newKeyReader(pl.Dialect, pl.query, in, key)
	f.found = f
	if !f.insertion() {
		return nil
	}
	return f.brought
}

// broughtKeys notes the keys that rows bring.
type broughtKeys struct {
	*keyReader
	plan    *Plan
	args    arguments
	holes   Holes
	slots   []int32 // of the rows that are not read yet
	brought []Brought
}

func (f *broughtKeys) listed(element) bool { return true }

func (f *broughtKeys) implied() bool { return true }

func (f *broughtKeys) row(row int, i element, v value, _ string) bool {
	one := Brought{Row: row}
	if len(f.slots) > 0 && int(f.plan.slots[f.slots[0]].row) == row {
		at := f.slots[0]
		f.slots = f.slots[1:]
		if f.holes.isHole(int(at)) {
			return true
		}
		one.Integer = f.integerOf(&f.plan.slots[at])
	} else if t, ok := f.core(v); ok && (t.kind == tokNumber || t.kind == tokString) {
		if n, sure := integerIn(strings.Trim(f.text(t), `'"`)); sure {
			one.Integer = n
		}
	} else if ok && t.kind == tokParam {
		one.Integer = f.integerOf(&slot{before: int32(i.before), text: f.text(t)})
	}
	f.brought = append(f.brought, one)
	return true
}

// integerOf returns the integer that is bound for a slot, 0 where it is none.
func (f *broughtKeys) integerOf(s *slot) int64 {
	at, err := f.plan.argument(s, &f.args)
	if err != nil {
		return 0
	}
	if n, sure := integerOf(f.args.list[at].Value); sure {
		return n
	}
	return 0
}
