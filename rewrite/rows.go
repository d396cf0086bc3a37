package rewrite

import (
	"slices"
	"strings"
)

// body reads where the rows come from.
func (p *parser) body(in *insertion) Reason {
	g := &p.d.Grammar
	switch {
	case p.isWord("values"), g.ValueWord && p.isWord("value"):
		p.advance()
		return p.rows(in)
	case g.DefaultValues && p.isWord("default"):
		return p.defaultValues(in)
	case g.Set && p.isWord("set") && in.columns < 0:
		p.advance()
		return p.set(in)
	case p.isAny("select", "with", "table"), p.isPunct('('):
		return p.query(in, ErrSelect)
	case p.isAny("exec", "execute"):
		return p.query(in, ErrExec)
	}
	return p.grammar()
}

// query reads rows that come from elsewhere: nothing is to fill when the
// column list names every key.
func (p *parser) query(in *insertion, reason Reason) Reason {
	if len(in.missing()) > 0 {
		if reason == ErrSelect && in.columns < 0 && in.Target.Columns == nil {
			return ErrNoColumnList
		}
		return reason
	}
	for depth := 0; !p.atEnd() && !p.inside; p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0:
			p.nested(ErrCTE)
		case p.begins(), p.opensBlock():
			return ""
		default:
			in.Returning = in.Returning || p.isWord("returning")
			p.nested(p.beside())
		}
	}
	return ""
}

func (p *parser) edit(start, end int, text string) {
	p.edits = append(p.edits, edit{start: start, end: end, text: text, slot: -1})
}

// slot queues a key for the span, behind text.
func (p *parser) slot(start, end int, text string, s slot) {
	s.insert = int32(len(p.inserts))
	s.before = int32(p.params.count)
	p.edits = append(p.edits, edit{start: start, end: end, text: text, slot: len(p.slots)})
	p.slots = append(p.slots, s)
}

// append queues the missing keys of a row behind what stands before offset
// end, each with its text in front.
func (p *parser) append(in *insertion, row, end int, missing []int, text func(i int) string) {
	for i, k := range missing {
		p.slot(end, end, text(i), slot{key: int32(k), row: int32(row)})
	}
}

// defaultValues turns DEFAULT VALUES into a row with the keys.
func (p *parser) defaultValues(in *insertion) Reason {
	word := p.tok
	p.advance()
	if !p.isWord("values") || in.columns >= 0 {
		return p.grammar()
	}
	p.advance()
	in.Rows = 1
	missing := in.missing()
	if len(missing) == 0 {
		return ""
	}
	p.list(in, nil, missing)
	// VALUES goes to the place of DEFAULT, so that a comment between them
	// survives.
	for i, k := range missing {
		s := slot{key: int32(k)}
		if i == 0 {
			p.slot(word.start, word.end, "VALUES (", s)
		} else {
			p.slot(word.end, word.end, ", ", s)
		}
	}
	p.edit(word.end, word.end, ")")
	from := p.prev - len("values")
	if strings.Trim(p.q[word.end:from], " \t\r\n") == "" {
		from = word.end
	}
	p.edit(from, p.prev, "")
	return ""
}

// set reads MySQL's SET a = 1, b = 2.
func (p *parser) set(in *insertion) Reason {
	in.Rows = 1
	for {
		column, _, reason := p.column()
		if reason != "" {
			return reason
		}
		p.acceptPunct(':')
		if !p.acceptPunct('=') {
			return p.grammar()
		}
		v, reason := p.value(p.clause)
		if reason != "" {
			return reason
		}
		for i, k := range in.Target.Keys {
			if k.Column != column {
				continue
			}
			if in.listed[i] >= 0 {
				return ErrGrammar
			}
			in.listed[i] = 0
			p.judge(in, i, 0, v)
		}
		if !p.acceptPunct(',') {
			break
		}
	}
	missing := in.missing()
	p.append(in, 0, p.prev, missing, func(i int) string {
		return ", " + p.d.QuoteIdent(in.Target.Keys[missing[i]].Column) + " = "
	})
	return ""
}

// rows reads VALUES rows.
func (p *parser) rows(in *insertion) Reason {
	if p.d.Grammar.RowWord {
		p.accept("row")
	}
	if !p.isPunct('(') {
		return p.grammar()
	}
	width := in.columns
	var columns []string
	if in.columns <= 0 {
		q := *p
		var reason Reason
		if width, reason = q.width(); reason != "" {
			return reason
		}
		if columns, reason = p.implied(in, width); reason != "" {
			return reason
		}
	}
	missing := in.missing()
	p.list(in, columns, missing)
	exact := in.columns <= 0 || slices.Max(in.listed) >= 0
	first := p.tok.start
	for in.Rows = 0; ; {
		n, reason := p.row(in, missing)
		if reason != "" {
			return reason
		}
		if exact && n != width {
			return ErrColumnCount
		}
		in.Rows++
		if !p.acceptPunct(',') {
			return ""
		}
		if in.Rows == 1 {
			p.expect(len(p.slots) * (len(p.q) - first) / (p.prev - first))
		}
		if p.d.Grammar.RowWord {
			p.accept("row")
		}
		if !p.isPunct('(') {
			return p.grammar()
		}
	}
}

// maxExpected is for how many slots there is room made ahead.
const maxExpected = 4096

// expect makes room for about so many slots.
func (p *parser) expect(slots int) {
	slots = min(slots, maxExpected)
	p.slots = slices.Grow(p.slots, slots)
	p.edits = slices.Grow(p.edits, slots)
}

// width counts the values of the row that begins here; -1 when one stands for
// several.
func (p *parser) width() (int, Reason) {
	p.advance()
	if p.isPunct(')') {
		return 0, ""
	}
	star := false
	for n := 1; ; n++ {
		v, reason := p.value(nil)
		if reason != "" {
			return 0, reason
		}
		star = star || v.star
		if !p.acceptPunct(',') {
			if star {
				n = -1
			}
			return n, ""
		}
	}
}

// row reads one VALUES row from its bracket, judges the values in the keys'
// places and appends the missing keys. It returns how many values it had, -1
// when one stands for several.
func (p *parser) row(in *insertion, missing []int) (n int, reason Reason) {
	p.advance()
	star := false
	for !p.isPunct(')') || n > 0 {
		v, reason := p.value(nil)
		if reason != "" {
			return 0, reason
		}
		star = star || v.star
		for i := range in.listed {
			if in.listed[i] == n {
				p.judge(in, i, in.Rows, v)
			}
		}
		n++
		if !p.acceptPunct(',') {
			break
		}
	}
	if !p.isPunct(')') {
		return 0, p.grammar()
	}
	p.append(in, in.Rows, p.prev, missing, func(i int) string {
		if n == 0 && i == 0 {
			return ""
		}
		return ", "
	})
	p.advance()
	if star {
		n = -1
	}
	return n, ""
}
