package inserts

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
)

// selectRows fills a query that consists of rows (SELECTs without FROM), and reports
// whether it is one. If not, it changes nothing.
func selectRows(p *plans.Draft, in *State, columns []string, missing []int) bool {
	width := in.Columns
	if columns != nil {
		width = len(columns)
	}
	if width <= 0 {
		return false
	}
	start := *p
	s := selects.SelectRows{Width: width, Numbers: true}
	for _, k := range missing {
		key := &in.Target.Keys[k]
		s.Numbers = s.Numbers && (key.Counted || key.Function != "")
	}
	if !selects.RowQuery(&p.Reader, &s) || s.Facts.Reason != "" || !carries(&p.Reader, &s, in, missing) {
		*p = start
		return false
	}
	n := len(p.Edits)
	List(p, in, columns, missing)
	count := p.Params.Count
	for i, row := range s.Rows {
		p.Params.Count = row.Before
		for _, k := range missing {
			before, after := selectedKey(&p.Reader, &in.Target.Keys[k], len(s.Rows) > 1)
			p.Slot(row.End, row.End, ", "+before, plans.Slot{Key: int32(k), Row: int32(i)})
			if after != "" {
				p.Edit(row.End, row.End, after)
			}
		}
		if row.End < len(p.Text) && p.IsPart(p.Text[row.End]) {
			p.Edit(row.End, row.End, " ") // without the space, the key would touch the next word: $1WHERE
		}
	}
	p.Params.Count = count
	if p.Dialect.Grammar.ValueSets && scalars(p, in, s.Values, n) != "" {
		*p = start
		return false
	}
	for k := range in.Target.Keys {
		if in.Listed.Of(k) >= 0 {
			in.open(k)
		}
	}
	in.Rows, in.Selects, in.conditional = len(s.Rows), true, s.Conditional
	return true
}

// carries reports whether the keys can be items of the select lists.
func carries(p *reader.Reader, s *selects.SelectRows, in *State, missing []int) bool {
	for _, k := range missing {
		key := &in.Target.Keys[k]
		switch {
		case key.Joined && s.Conditional:
			return false // a number without a row would be a gap
		case len(s.Rows) > 1 && p.Dialect.Grammar.TypedRows && key.Type == "":
			return false
		}
	}
	return true
}

// selectedKey returns the text before and after a key in a select list. Under UNION ALL the
// engine does not give the values the types of the columns.
func selectedKey(p *reader.Reader, k *plans.Key, united bool) (before, after string) {
	switch {
	case p.Dialect.Grammar.TypedRows && united:
		return "CAST(", " AS " + k.Type + ")"
	case p.Dialect.Grammar.SelectedBytes != "" && k.Type == "bytea":
		before, after, _ = strings.Cut(p.Dialect.Grammar.SelectedBytes, "%")
	}
	return before, after
}
