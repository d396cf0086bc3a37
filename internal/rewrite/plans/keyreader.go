package plans

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// KeyReader rereads the column list and the rows of an INSERT that lists a key.
type KeyReader struct {
	*reader.Reader
	in     *Insert
	key    int // the index of the key in Target.Keys of the INSERT
	column int // the index of the key's column in the column list
	Found  KeysFound
}

// KeysFound is called with each place of the key. If a method returns false, reading stops.
type KeysFound interface {
	Listed(key Element) bool // the key is in the column list
	Implied() bool           // the key is one of the table's columns, and there is no column list
	// Row receives the value of the key in a row. name is the text before the value in a SET.
	Row(row int, i Element, v reader.Value, name string) bool
}

// NewKeyReader returns a reader of an INSERT that lists a key. key is the key's index.
func NewKeyReader(d *dialect.Dialect, query string, in *Insert, key int) *KeyReader {
	l := in.Listing
	p := reader.At(d, query[:l.Rows.End], l.Rows.Start)
	p.Params.Count = l.Params
	return &KeyReader{Reader: &p, in: in, key: key, column: -1}
}

// Element is one of the columns, values or assignments between commas.
type Element struct {
	scan.Span
	Before, params int // how many of the caller's placeholders precede the element, and are in it
	comma          int // the offset of the comma after the element; -1 for the last one
	next           int // the offset of the next element
}

func (r *KeyReader) begins() Element {
	return Element{Span: scan.Span{Start: r.Token.Start}, Before: r.Params.Count}
}

// ends sets the end of an element, and moves past its comma.
func (r *KeyReader) ends(i *Element) {
	i.End, i.params, i.comma = r.PrevEnd, r.Params.Count-i.Before, -1
	if r.IsPunct(',') {
		i.comma = r.Token.Start
		r.Advance()
		i.next = r.Token.Start
	}
}

// Insertion reads the text after the table's name, up to the end of the rows. It reports
// false if the text is not of a form that it reads, or a method of Found returned false.
func (r *KeyReader) Insertion() bool {
	if r.Accept("set") {
		return r.assignments()
	}
	width, ok := r.list()
	if !ok || !r.Accept("values") && !r.Accept("value") {
		return false
	}
	for row := 0; ; row++ {
		r.Accept("row")
		if !r.values(row, width) {
			return false
		}
		if !r.AcceptPunct(',') {
			return r.Token.Kind == scan.End
		}
	}
}

// list reads the column list, and returns how many columns it has.
func (r *KeyReader) list() (width int, ok bool) {
	if !r.IsPunct('(') {
		t := r.in.Target
		for i, c := range t.Columns {
			if r.Dialect.Fold(c, true) == t.Keys[r.key].Column {
				r.column = i
			}
		}
		return len(t.Columns), r.column >= 0 && r.Found.Implied()
	}
	var key Element
	more := true
	for r.Advance(); more; width++ {
		i := r.begins()
		name, _, reason := r.Reader.Column()
		if reason != "" {
			return 0, false
		}
		if r.ends(&i); name == r.in.Target.Keys[r.key].Column {
			r.column, key = width, i
		}
		more = i.comma >= 0
	}
	return width, r.column >= 0 && r.Found.Listed(key) && r.AcceptPunct(')')
}

// values reads one row of VALUES.
func (r *KeyReader) values(row, width int) bool {
	if !r.AcceptPunct('(') {
		return false
	}
	var key Element
	var v reader.Value
	n := 0
	for more := true; more; n++ {
		i := r.begins()
		one := reader.Value{Span: scan.Span{Start: r.Token.Start}, Tokens: 1, First: r.Token}
		if !r.Single() {
			var reason rewrite.Reason
			if one, reason = r.Value(nil); reason != "" {
				return false
			}
		}
		one.End = r.PrevEnd
		if r.ends(&i); n == r.column {
			key, v = i, one
		}
		more = i.comma >= 0
	}
	return n == width && r.Found.Row(row, key, v, "") && r.AcceptPunct(')')
}

// assignments reads the assignments of SET.
func (r *KeyReader) assignments() bool {
	var key Element
	var v reader.Value
	name := ""
	for more := true; more; {
		i := r.begins()
		column, _, reason := r.Reader.Column()
		end := r.PrevEnd
		r.AcceptPunct(':')
		if reason != "" || !r.AcceptPunct('=') {
			return false
		}
		one, reason := r.Value(func() bool { return false })
		if reason != "" {
			return false
		}
		if r.ends(&i); column == r.in.Target.Keys[r.key].Column {
			key, v, name = i, one, r.Text[i.Start:end]+" = "
		}
		more = i.comma >= 0
	}
	return name != "" && r.Token.Kind == scan.End && r.Found.Row(0, key, v, name)
}
