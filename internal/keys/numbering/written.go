package numbering

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync"

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
	length int // the greatest length of a text in the column; 0 for no bound
	forms  *forms
}

// writerOf returns the writer for key column i of table t.
func (s *ScopeRows) writerOf(ctx context.Context, g *relation.Session, t *table.Table, i int) (w writer, err error) {
	k := &t.KeyColumns[i]
	if w.texts = k.Texts(); w.texts == nil {
		return w, nil
	}
	w.source, w.length, w.forms = k.Rule.Source, s.Length, &s.forms
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
		var err error
		if form, err = w.forms.of(template, numberformat.Bounds{MaxLength: w.source.MaxLength, Alphabet: w.source.Alphabet}); err != nil {
			return nil, err
		}
	}
	return form.AtMost(w.length).Of(w.partsOf(p, period))
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

// forms are the forms of templates that periods were begun with by processes with another
// policy. It is safe for concurrent use.
type forms struct {
	mu  sync.Mutex
	all map[string]*numberformat.Form
}

// of returns the form of a template.
func (f *forms) of(template string, b numberformat.Bounds) (*numberformat.Form, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one := f.all[template]; one != nil {
		return one, nil
	}
	t, err := numberformat.Parse(template)
	if err != nil {
		return nil, err
	}
	one, err := t.Within(b)
	if err != nil {
		return nil, err
	}
	if f.all == nil {
		f.all = map[string]*numberformat.Form{}
	}
	f.all[template] = one
	return one, nil
}
