package numberformat

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Every is how often a numbering begins again.
type Every string

// The periods.
const (
	Never   Every = "none"
	Day     Every = "day"
	Month   Every = "month"
	Quarter Every = "quarter"
	Year    Every = "year"
)

// Numbering holds what distinguishes one numbering of a column from the column's other
// numberings. The texts have to show it if texts of all numberings are in one column.
type Numbering struct {
	Every   Every
	Fiscal  bool     // years begin on another day than the first of January
	Values  []string // the names x of {value:x} in the name of its state
	Columns []string // the columns of its scope
}

// periodFields are the fields that a period needs in the text, each one of several, and the
// fields that are the same in all of it.
var periodFields = map[Every]struct{ needs, has [][]kind }{
	Never:   {},
	Year:    {needs: [][]kind{years}, has: [][]kind{years}},
	Quarter: {needs: [][]kind{years, {kindQuarter}}, has: [][]kind{years, {kindQuarter}}},
	Month:   {needs: [][]kind{years, {kindMonth}}, has: [][]kind{years, {kindQuarter}, {kindMonth}}},
	Day:     {needs: [][]kind{years, {kindMonth}, {kindDay}}, has: [][]kind{years, {kindQuarter}, {kindMonth}, {kindDay}}},
}

// years are the fields that show a year.
var years = []kind{kindYear, kindYY, kindFY}

// periodKinds are the fields that show a period.
var periodKinds = append(slices.Clone(years), kindQuarter, kindMonth, kindDay)

// Determines returns an error if two numbers of the numberings could have one text. Its
// errors say what to change.
func (t *Template) Determines(n Numbering) error {
	of, known := periodFields[n.Every]
	if !known {
		return anchor.Errorf("policy", "the period %q is not known; take none, day, month, quarter or year", n.Every)
	}
	for _, needed := range of.needs {
		if !slices.ContainsFunc(needed, t.hasKind) {
			return anchor.Errorf("policy", "numbers begin again each %s, and the text does not show the %s; add {%s}", n.Every, wordOf(needed[0]), wordOf(needed[0]))
		}
	}
	for _, f := range t.fields {
		if !slices.Contains(periodKinds, f.kind) || slices.ContainsFunc(of.has, func(one []kind) bool { return slices.Contains(one, f.kind) }) {
			continue
		}
		if n.Every == Never {
			return anchor.Errorf("policy", "%s changes while numbers go on; say period:, or leave it out", f.written())
		}
		return anchor.Errorf("policy", "%s changes within a %s; say a shorter period, or leave it out", f.written(), n.Every)
	}
	if !n.Fiscal && t.hasKind(kindFY) {
		return anchor.New("policy", "{fy} is for years that do not begin in January; say starts:, or write {year}")
	}
	if err := t.showsNames(n); err != nil {
		return err
	}
	return t.separates()
}

// showsNames compares the names in the text with the names that distinguish numberings.
func (t *Template) showsNames(n Numbering) error {
	for _, one := range t.Values() {
		if !slices.Contains(n.Values, one) {
			return anchor.Errorf("policy", "{value:%s} is in the text, and numbers do not begin again with it; write it into name: too", one)
		}
	}
	for _, one := range t.Columns() {
		if !slices.Contains(n.Columns, one) {
			return anchor.Errorf("policy", "{column:%s} is in the text, and numbers do not begin again with it; write it into scope: too", one)
		}
	}
	return nil
}

// Apart returns an error if the text does not show everything that distinguishes numberings,
// so that numbers of two numberings may have one text. That is no fault if a unique index
// has the columns of the scope beside the text.
func (t *Template) Apart(n Numbering) error {
	for _, one := range n.Values {
		if !slices.Contains(t.Values(), one) {
			return anchor.Errorf("policy", "numbers begin again with the value %q, which the text does not show; add {value:%[1]s}", one)
		}
	}
	for _, one := range n.Columns {
		if !slices.Contains(t.Columns(), one) {
			return anchor.Errorf("policy", "numbers begin again with the column %q, which the text does not show; add {column:%[1]s}, or a unique index over it and the number", one)
		}
	}
	return nil
}

// separates refuses a text that can be cut into its fields in more than one way. Fields are
// read from the left up to the last name or value, and from the right down to it.
func (t *Template) separates() error {
	last := t.lastFree()
	for i, f := range t.fields {
		switch {
		case !f.varies(), i == last, last < 0 && !t.variesAfter(i+1):
		case last < 0 || i < last:
			if err := t.endsAt(i); err != nil {
				return err
			}
		default:
			before := t.fields[i-1]
			if before.kind != kindText || strings.Contains(f.characters(), before.text[len(before.text)-1:]) {
				return anchor.Errorf("policy", "where %s begins cannot be read; write a character before it that it cannot have, or a width as in {n:05}", f.written())
			}
		}
	}
	return nil
}

// endsAt returns an error if the end of a field of variable length cannot be read from the
// left.
func (t *Template) endsAt(i int) error {
	f := t.fields[i]
	if next := t.fields[i+1]; next.kind == kindText && (f.isFree() || !strings.Contains(f.characters(), next.text[:1])) {
		return nil
	}
	return anchor.Errorf("policy", "where %s ends cannot be read; write a character after it that it cannot have, or a width as in {n:05}", f.written())
}

// lastFree returns the index of the last name or value, -1 for none.
func (t *Template) lastFree() int {
	last := -1
	for i, f := range t.fields {
		if f.isFree() {
			last = i
		}
	}
	return last
}

// variesAfter reports whether a field from an index on has a variable length.
func (t *Template) variesAfter(from int) bool {
	return slices.ContainsFunc(t.fields[from:], field.varies)
}

// varies reports whether texts of the field have several lengths.
func (f field) varies() bool {
	switch f.kind {
	case kindNumber, kindMonth, kindDay:
		return f.width == 0
	}
	return f.isFree()
}

// isFree reports whether the field shows a name or value, with any characters.
func (f field) isFree() bool {
	switch f.kind {
	case kindSchema, kindTable, kindValue, kindColumn:
		return true
	}
	return false
}

// characters are the characters that a field of digits has.
func (f field) characters() string {
	if f.base32 {
		return base32
	}
	return "0123456789"
}
