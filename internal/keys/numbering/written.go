package numbering

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/policy"
)

// writer writes the numbers of an execution: as integers, or as the texts of a format.
type writer struct {
	texts  *table.Texts       // nil for integers
	parts  numberformat.Parts // what the texts of all rows show
	source policy.Source
	length int             // the greatest length of a text in the column; 0 for no bound
	holds  func(rune) bool // whether the column holds a character; nil for all
	forms  *forms
}

// writerOf returns the writer for key column i of table t.
func (s *ScopeRows) writerOf(ctx context.Context, g *relation.Session, t *table.Table, i int) (w writer, err error) {
	k := &t.KeyColumns[i]
	if w.texts = k.Texts(); w.texts == nil {
		return w, nil
	}
	w.source, w.length, w.holds, w.forms = k.Rule.Source, s.Length, s.Holds, &s.forms
	var facts *table.Facts
	if g != nil && !g.Tables.Detached {
		if facts, err = g.Tables.Facts(ctx, g, t); err != nil {
			return w, err
		}
	}
	w.parts, err = w.texts.Parts(ctx, t, i, facts)
	return w, err
}

// partsOf returns what the texts of a parent's rows show in a period, which is the zero Period
// for a numbering without periods.
func (w *writer) partsOf(p *parent, period calendar.Period) numberformat.Parts {
	parts := w.parts
	parts.Period = period
	if w.source.Scope != nil {
		parts.Columns = make(map[string]string, len(p.values))
		for i, c := range *w.source.Scope {
			parts.Columns[c.Column] = fmt.Sprint(p.values[i])
		}
	}
	return parts
}

// mappingFor returns the mapping of the numbers of a parent in a period to keys, or an error
// if the template has no texts for them; nil for integers. template is the template of the
// period; empty means the policy's.
func (w *writer) mappingFor(p *parent, period calendar.Period, template string) (*numberformat.Mapping, error) {
	if w.texts == nil {
		return nil, nil
	}
	form := w.texts.Form
	if template != "" && template != form.String() {
		// The policy's max_length and alphabet belong to its own template: with them no number
		// might have a text until the period ends.
		var err error
		if form, err = w.forms.of(template); err != nil {
			return nil, err
		}
	}
	return form.AtMost(w.length).Holding(w.holds).Of(w.partsOf(p, period))
}

// write puts the keys of n numbers from first on into the places of a parent's rows. m is nil
// for integers.
func write(keys []driver.Value, p *parent, first int64, m *numberformat.Mapping) error {
	for n, place := range p.places {
		number := first + int64(n)
		if m == nil {
			keys[place] = number
			continue
		}
		text, err := m.Text(number)
		if err != nil {
			return err
		}
		keys[place] = text
	}
	return nil
}

// windows are the characters beyond ISO 8859-1 that the character set latin1 has, which is
// Windows-1252: https://dev.mysql.com/doc/refman/8.4/en/charset-we-sets.html.
const windows = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"

// Holds returns whether a column of a collation surely holds a character; nil if it holds all
// that the engine takes. A lenient engine stores another character instead.
func Holds(d *dialect.Dialect, collation string) func(rune) bool {
	if !scopeRules[d.Family].lenient {
		return nil
	}
	switch charset, _, _ := strings.Cut(collation, "_"); charset {
	case "", "utf8mb4", "utf16", "utf16le", "utf32", "gb18030":
		return nil
	case "utf8", "utf8mb3", "ucs2":
		return func(c rune) bool { return c <= 0xffff }
	case "latin1":
		return func(c rune) bool { return c < 0x80 || 0xa0 <= c && c <= 0xff || strings.ContainsRune(windows, c) }
	}
	return func(c rune) bool { return c < 0x80 }
}

// forms are the forms of templates that periods were begun with by processes with another
// policy. It is safe for concurrent use.
type forms struct {
	mu  sync.Mutex
	all map[string]*numberformat.Form
}

// of returns the form of a template.
func (f *forms) of(template string) (*numberformat.Form, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.all[template]; one != nil {
		return one, nil
	}
	t, err := numberformat.Parse(template)
	if err != nil {
		return nil, err
	}
	one, err := t.Within(numberformat.Bounds{})
	if err != nil {
		return nil, err
	}
	if f.all == nil {
		f.all = map[string]*numberformat.Form{}
	}
	f.all[template] = one
	return one, nil
}
