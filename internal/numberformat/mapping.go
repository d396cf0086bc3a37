package numberformat

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Mapping turns the numbers of one numbering into their texts, as a keysource.Mapping does.
type Mapping struct {
	Form *Form
	// parts are what the texts show besides the number; nil for a Mapping that shows, for
	// each field that depends on the execution, the field itself.
	parts *Parts
}

// Of returns the mapping from numbers to texts such as INV-2026-00042, in which all but the
// number is the same: the year and the other parts p. It returns an error if no number has a
// text.
func (f *Form) Of(p Parts) (*Mapping, error) {
	p.Number = 1
	_, err := f.Text(&p)
	return &Mapping{f, &p}, err
}

// Example returns a mapping to texts as an explanation shows them: without an execution,
// {year} and {value:x} stay as they are written.
func (f *Form) Example() *Mapping {
	if f.IsConstant() {
		return &Mapping{f, &Parts{}}
	}
	return &Mapping{Form: f}
}

// Key returns the text of a number from 1 to Last. It panics on any other number.
func (m *Mapping) Key(number int64, _ dialect.Layout) driver.Value {
	if m.parts == nil {
		return m.Form.shown(number)
	}
	text, err := m.Text(number)
	if err != nil {
		panic(fmt.Sprintf("numberformat: number %d is not from 1 to %d: %v", number, m.Last(), err))
	}
	return text
}

// Text returns the text of a number, or an error if it has none.
func (m *Mapping) Text(number int64) (string, error) {
	p := *m.parts
	p.Number = number
	return m.Form.Text(&p)
}

// shown returns the text of a number with the fields that depend on the execution as they are
// written.
func (t *Template) shown(number int64) string {
	var b strings.Builder
	for _, f := range t.fields {
		if f.kind == kindNumber {
			b.Write(must(f.appendNumber(nil, number)))
		} else {
			b.WriteString(f.written())
		}
	}
	return b.String()
}

// Last returns the greatest number that has a text.
func (m *Mapping) Last() int64 { return m.Form.Last(m.parts) }

// Parameters returns the template, which never changes for the numbers of one state.
func (m *Mapping) Parameters() string { return m.Form.Parameters() }

// Parameters returns the template as the row of a numbering has it.
func (t *Template) Parameters() string { return fmt.Sprintf("format %q", t.source) }
