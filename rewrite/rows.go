package rewrite

import "slices"

// body reads where the rows come from.
func (p *parser) body(in *insertState) Reason {
	g := &p.d.Grammar
	switch {
	case p.isWord("values"), g.ValueWord && p.isWord("value"):
		return p.valuesRows(in)
	case g.DefaultValues && p.isWord("default"):
		return p.defaultValues(in)
	case g.Set && p.isWord("set") && in.columns < 0:
		p.advance()
		return p.set(in)
	case p.isPunct('(') && p.nextIs("values"):
		return p.rowsInBrackets(in)
	case p.isAny("select", "with", "table"), p.isPunct('('):
		return p.query(in, ErrSelect)
	case p.isAny("exec", "execute"):
		return p.query(in, ErrExec)
	}
	return p.grammar()
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

// set reads MySQL's SET a = 1, b = 2.
func (p *parser) set(in *insertState) Reason {
	in.Rows = 1
	slots := len(p.slots)
	if in.scopes != nil {
		in.scopes.begin(in.Offset)
	}
	for n := 0; ; n++ {
		column, plain, reason := p.column()
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
		if in.scopes != nil {
			in.scopes.list(column, n, plain)
			in.scopes.take(&p.reader, n, v)
		}
		for i, k := range in.Target.Keys {
			if k.Column != column {
				continue
			}
			if in.listed.of(i) >= 0 {
				return ErrGrammar
			}
			in.listed.set(i, 0)
			p.judge(in, i, 0, v)
		}
		if !p.acceptPunct(',') {
			break
		}
	}
	var room [fewKeys]int
	missing := in.missing(room[:0])
	for _, k := range missing {
		var room [64]byte
		b := append(p.d.AppendIdent(append(room[:0], ", "...), in.Target.Keys[k].Column), " = "...)
		p.slot(p.prev, p.prev, string(b), slot{key: int32(k)})
	}
	if len(missing) > 0 && p.prev < len(p.q) && p.isPart(p.q[p.prev]) {
		p.edit(p.prev, p.prev, " ") // 1ON would be a name
	}
	return p.scoped(in, slots)
}

// valuesRows reads VALUES and its rows.
func (p *parser) valuesRows(in *insertState) Reason {
	word := span{p.tok.start, p.tok.end}
	p.advance()
	if !p.d.Grammar.ValueSets || in.merged {
		return p.rows(in)
	}
	before, read := *p, *in
	reason := p.rows(in)
	if reason != "" || in.Rows != 1 || in.calls == nil || len(p.slots) == len(before.slots) {
		return reason
	}
	if !slices.ContainsFunc(in.calls, func(v span) bool { return p.callsSet(v) }) {
		return p.scalars(in, in.calls, len(before.edits))
	}
	for _, s := range p.slots[len(before.slots):] {
		if in.listed.of(int(s.key)) >= 0 && in.columns > 0 {
			return ErrSet // every row would get the same key, or a key for which none is reserved
		}
	}
	*p, *in = before, read
	return p.valuesQuery(in, word)
}

// rows reads VALUES rows.
func (p *parser) rows(in *insertState) Reason {
	if p.d.Grammar.RowWord {
		p.accept("row")
	}
	if !p.isPunct('(') {
		return p.grammar()
	}
	width := in.columns
	var columns []string
	if in.columns <= 0 {
		q := p.reader
		var reason Reason
		if width, reason = q.width(); reason != "" {
			return reason
		}
		if columns, reason = p.implied(in, width); reason != "" {
			return reason
		}
	}
	var room [fewKeys]int
	missing := in.missing(room[:0])
	p.list(in, columns, missing)
	exact := in.columns <= 0 || in.lists() || in.scopes != nil
	in.judged = in.lists() || in.scopes != nil
	first, slots := p.tok.start, len(p.slots)
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
			if !in.involved && in.sessionKey() >= 0 {
				p.constants = append(p.constants, token{tokPunct, first, p.prev})
			}
			return ""
		}
		if in.Rows == 1 || len(p.slots) == cap(p.slots) {
			p.expect(len(p.slots)-slots, first)
		}
		if p.d.Grammar.RowWord {
			p.accept("row")
		}
		if !p.isPunct('(') {
			return p.grammar()
		}
	}
}

// rowsInBrackets reads (VALUES …) with nothing else in the brackets.
func (p *parser) rowsInBrackets(in *insertState) Reason {
	p.advance()
	if reason := p.valuesRows(in); reason != "" {
		return reason
	}
	if !p.acceptPunct(')') {
		return p.rowsGoOn(in)
	}
	return ""
}

// isConstant reports whether a token is a value that calls and reads nothing.
func (p *reader) isConstant(t token) bool {
	switch t.kind {
	case tokNumber, tokString, tokParam:
		return true
	case tokWord:
		return equalWord(p.text(t), "null") || equalWord(p.text(t), "default")
	}
	return false
}

// maxExpected bounds the number of slots that room is made for after the first
// row.
const maxExpected = 16384

// expect makes room for the slots that the rest of the text will need, if it
// goes on as from offset first on, where there were so many of them.
func (p *parser) expect(slots, first int) {
	rest := float64(len(p.q)-p.prev) / float64(p.prev-first)
	n := int(min(float64(slots)*rest+1, float64(max(3*len(p.slots), maxExpected))))
	p.slots = slices.Grow(p.slots, n)
	p.edits = slices.Grow(p.edits, n)
}

// width counts the values of the row that begins here; -1 when one stands for
// several.
func (p *reader) width() (int, Reason) {
	p.advance()
	if p.isPunct(')') {
		return 0, ""
	}
	star := false
	for n := 1; ; n++ {
		if !p.single() {
			v, reason := p.value(nil)
			if reason != "" {
				return 0, reason
			}
			star = star || v.star
		}
		if !p.acceptPunct(',') {
			if star {
				n = -1
			}
			return n, ""
		}
	}
}

// naturals moves from a row's bracket past the values at its start that are
// nothing but digits, to the comma or bracket behind them, and returns how many
// these are: it does what reading them one by one does, in less time.
func (p *reader) naturals() (n int) {
	for i := p.pos; ; i++ {
		for i < len(p.q) && classes[p.q[i]]&classSpace != 0 {
			i++
		}
		end := digitsEnd(p.q, i)
		if end == i || end >= len(p.q) || p.q[end] != ',' && p.q[end] != ')' {
			return n
		}
		n++
		i = end
		p.prev, p.tok, p.pos = end, token{tokPunct, end, end + 1}, end+1
		if p.q[end] == ')' {
			return n
		}
	}
}

// row reads one VALUES row from its bracket, judges the values in the keys'
// places and appends the missing keys. It returns how many values it had, -1
// when one stands for several.
func (p *parser) row(in *insertState, missing []int) (n int, reason Reason) {
	slots := len(p.slots)
	if in.scopes != nil {
		in.scopes.begin(p.tok.start)
	}
	if !in.judged {
		n = p.naturals()
	}
	closed := n > 0 && p.isPunct(')')
	if !closed {
		p.advance()
	}
	if n == 0 && p.isPunct(')') && !p.d.Grammar.EmptyLists {
		return 0, p.grammar()
	}
	unknown := false // how many values there are
	for !closed && (!p.isPunct(')') || n > 0) {
		v := value{span: span{start: p.tok.start}, before: p.params.count, tokens: 1, first: p.tok}
		if p.single() {
			in.involved = in.involved || !p.isConstant(v.first)
		} else {
			in.involved = true
			if v, reason = p.value(nil); reason != "" {
				return 0, reason
			}
			if in.Rows == 0 && p.d.Grammar.ValueSets {
				in.calls = append(in.calls, v.span)
			}
		}
		v.end = p.prev
		last := n
		if v.star {
			known := false
			last, known = p.lastField(in, n)
			unknown = unknown || !known
		}
		for ; n <= last; n++ {
			if in.scopes != nil {
				in.scopes.take(&p.reader, n, v)
			}
			for i := range in.Target.Keys {
				if in.judged && in.listed.of(i) == n {
					p.judge(in, i, in.Rows, v)
				}
			}
		}
		if !p.acceptPunct(',') {
			break
		}
	}
	if !p.isPunct(')') {
		return 0, p.grammar()
	}
	for i, k := range missing {
		comma := ", "
		if n == 0 && i == 0 {
			comma = ""
		}
		p.slot(p.prev, p.prev, comma, slot{key: int32(k), row: int32(in.Rows)})
	}
	p.advance()
	if unknown {
		n = -1
	}
	return n, p.scoped(in, slots)
}
