package rewrite

import "strings"

// value is one value of a row: a span of the text.
type value struct {
	span
	before int  // the caller's placeholders in front of it
	star   bool // it ends with .* and stands for several values
	inner  bool // an INSERT may begin in its brackets
	tokens int  // how many tokens it has, up to the few that judging needs
	first  token
}

// value reads tokens up to a comma or closing bracket outside of brackets. In a
// SET, where clause is not nil, it also ends before a clause and with the
// statement.
func (p *reader) value(clause func() bool) (value, Reason) {
	v := value{span: span{start: p.tok.start}, before: p.params.count, first: p.tok}
	point := false // the token before this one is a point
	var open openBrackets
	for depth := 0; ; p.advance() {
		behindPoint := point
		point = false
		switch p.tok.kind {
		case tokEnd, tokError:
			if clause == nil || p.tok.kind == tokError || depth > 0 {
				return v, ErrGrammar
			}
			return p.valueEnd(v)
		case tokExec:
			return v, ErrExecutableComment
		case tokWord:
			if clause != nil && depth == 0 && v.tokens > 0 && clause() {
				return p.valueEnd(v)
			}
			v.inner = v.inner || depth > 0 && p.mayInsert()
		case tokPunct:
			switch c := p.q[p.tok.start]; c {
			case '(', '[', '{':
				depth++
				open.open(c)
			case ')', ']', '}':
				if depth == 0 {
					return p.valueEnd(v)
				}
				if depth--; !open.shut(c) {
					return v, ErrGrammar
				}
			case ',':
				if depth == 0 {
					return p.valueEnd(v)
				}
			case ';':
				if clause != nil && depth == 0 {
					return p.valueEnd(v)
				}
				return v, ErrGrammar
			case '.':
				point = true
			case '*':
				v.star = behindPoint && depth == 0
			}
		}
		v.tokens++
	}
}

// single moves past the value that begins here and to what ends it, if it is
// one token: the only form of value in most rows. It does what the method value
// does with such a one, in less time; where it reports false nothing has moved.
func (p *reader) single() bool {
	switch p.tok.kind {
	case tokEnd, tokError, tokExec, tokPunct:
		return false
	}
	i := p.pos
	for i < len(p.q) && classes[p.q[i]]&classSpace != 0 {
		i++
	}
	if i >= len(p.q) || p.q[i] != ',' && p.q[i] != ')' {
		return false
	}
	p.leave()
	p.tok = token{tokPunct, i, i + 1}
	p.pos = i + 1
	return true
}

func (p *reader) valueEnd(v value) (value, Reason) {
	v.end = p.prev
	if v.tokens == 0 {
		return v, ErrGrammar
	}
	return v, ""
}

// clause reports whether the current word begins the clause behind a SET, or one
// that the engine does not have and another of the family does: what follows
// the SET is read next, and refused.
func (p *reader) clause() bool {
	switch {
	case p.isAny("as", "returning", "on"):
		return true
	}
	return false
}

// judge decides whether the value in a key's place is a key, and queues a slot
// when it is none or a placeholder.
func (p *parser) judge(in *insertState, key, row int, v value) {
	k := &in.Target.Keys[key]
	t, ok := p.core(v)
	if !ok && p.isNothing(v, k) {
		in.uncall(v)
		p.holds(v, token{start: v.start, end: v.end}, slot{key: int32(key), row: int32(row)})
		return
	}
	if !ok {
		in.Worked = in.Worked || strings.Contains(p.q[v.start:v.end], "@")
		in.open(key)
		return
	}
	text := p.text(t)
	s := slot{key: int32(key), row: int32(row)}
	switch t.kind {
	case tokParam:
		if p.isLocal(text) {
			in.open(key)
			return
		}
		if k.Fill&(FillNull|FillZero) == 0 && !k.Follow {
			return
		}
		s.kind = slotOwn
		s.text = text
	case tokWord:
		switch {
		case (equalWord(text, "null") || text == `\N`) && k.Fill&FillNull != 0:
		case equalWord(text, "default") && k.Fill&FillDefault != 0:
			in.byDefault = true
		case p.isFalse(t, k):
		default:
			in.open(key)
			return
		}
	case tokNumber, tokString, tokQuoted:
		if t.kind == tokQuoted && !(p.d.Grammar.StringNames && text[0] == '"') {
			in.open(key)
			return
		}
		// A row of values has no columns that a name in double quotes could be of:
		// SQLite takes it for a string (https://www.sqlite.org/quirks.html#dblquote).
		null := p.d.EmptyIsNull && text == "''" && k.Fill&FillNull != 0
		if !null && (k.Fill&FillZero == 0 || !zeroLiteral(text, t.kind, k.Integer)) {
			if k.Follow {
				in.bring(key, strings.Trim(text, `'"`))
			}
			return
		}
	default:
		in.open(key)
		return
	}
	p.holds(v, t, s)
}

// holds queues a slot for a part of a value.
func (p *parser) holds(v value, part token, s slot) {
	count := p.params.count
	p.params.count = v.before
	p.slot(part.start, part.end, "", s)
	p.params.count = count
}

// core returns the only token of a value that decides: the value itself or
// what stands in brackets, a placeholder inside CAST(… AS type) or before
// ::type, a number behind its sign. It reports false for any other expression.
func (p *reader) core(v value) (token, bool) {
	if v.tokens == 1 {
		return v.first, true
	}
	q := p.within(v.span)
	t, ok := q.coreToken()
	return t, ok && q.tok.kind == tokEnd
}

func (p *reader) coreToken() (token, bool) {
	var open []bool // for each bracket that is open, whether it is CAST's
	for p.isPunct('(') || p.isWord("cast") {
		cast := p.accept("cast")
		if !p.acceptPunct('(') {
			return p.tok, false
		}
		open = append(open, cast)
	}
	t := p.tok
	if p.acceptPunct('-') || p.acceptPunct('+') {
		if p.tok.kind != tokNumber {
			return t, false
		}
		t = token{tokNumber, t.start, p.tok.end}
	}
	p.advance()
	for p.casts(t) {
		if len(open) == 0 {
			return t, true
		}
		cast := open[len(open)-1]
		open = open[:len(open)-1]
		if cast {
			if t.kind != tokParam || !p.accept("as") {
				return t, false
			}
			p.typeName()
		}
		if !p.acceptPunct(')') {
			return t, false
		}
	}
	return t, false
}

// casts moves past ::type behind a placeholder; it reports false when another
// value has one.
func (p *reader) casts(t token) bool {
	for p.isPunct(':') {
		if t.kind != tokParam || !p.d.Lexis.ColonCasts {
			return false
		}
		if p.advance(); !p.acceptPunct(':') {
			return false
		}
		p.typeName()
	}
	return true
}

// typeName moves past the name of a type: words, points and what stands in
// brackets.
func (p *reader) typeName() {
	for {
		switch {
		case p.tok.kind == tokWord, p.tok.kind == tokQuoted, p.isPunct('.'):
			p.advance()
		case p.balanced('(', ')'), p.balanced('[', ']'):
		default:
			return
		}
	}
}
