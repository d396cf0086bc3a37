package rewrite

import "strings"

// param scans a placeholder that begins with c, or what else does: a
// dollar-quoted string, a variable. It reports false for an operator.
func (s *scanner) param(c byte) (kind, bool) {
	p := &s.d.Params
	n := s.at(s.pos + 1)
	switch c {
	case '$':
		switch {
		case p.DollarName:
			return s.name()
		case isDigit(n) && p.Dollar:
			s.pos++
			s.digits()
			return tokParam, true
		case s.d.Lexis.DollarQuotes:
			return s.dollarQuote()
		}
	case ':':
		if (p.Colon || p.ColonPlaces) && n != ':' && n != '=' {
			return s.name()
		}
	case '@':
		switch {
		case s.d.Lexis.UserVariables, s.d.Lexis.ServerVariables && n == '@':
			return s.variable()
		case p.At:
			return s.name()
		}
	}
	return 0, false
}

func (s *scanner) digits() {
	for s.pos < len(s.q) && isDigit(s.q[s.pos]) {
		s.pos++
	}
}

// variable scans @x, @@x, @@session.x or @'x'.
func (s *scanner) variable() (kind, bool) {
	i := s.pos + 1
	if s.at(i) == '@' {
		i++
	}
	switch c := s.at(i); {
	case s.d.Lexis.UserVariables && (c == '\'' || c == '"' || c == '`'):
		lex := &s.d.Lexis
		if s.str(i, c, lex.BackslashEscapes && (c == '\'' || c == '"' && lex.DoubleQuotedStrings)) == tokError {
			return tokError, true
		}
		return tokVar, true
	case s.isPart(c):
		for s.pos = i; s.wordEnd() < len(s.q) && s.q[s.pos] == '.' && s.isPart(s.at(s.pos+1)); s.pos++ {
		}
		return tokVar, true
	}
	return 0, false
}

// name scans a named placeholder. SQLite's may go on with ::name and end with
// (text), the Tcl variables of src/tokenize.c; Oracle's may be quoted.
func (s *scanner) name() (kind, bool) {
	start := s.pos
	if s.q[start] == ':' && s.at(start+1) == '"' && s.d.Params.QuotedName {
		j := strings.IndexByte(s.q[start+2:], '"')
		if j < 0 {
			return s.fail(), true
		}
		s.pos = start + 2 + j + 1
		return tokParam, true
	}
	s.pos++
	first := s.wordEnd()
	if s.d.Params.DollarName {
		for s.at(s.pos) == ':' && s.at(s.pos+1) == ':' {
			s.pos += 2
			first = s.wordEnd()
		}
		if s.at(s.pos) == '(' && first > start+1 {
			return s.tclIndex(), true
		}
	}
	if s.pos == start+1 {
		s.pos = start
		return 0, false
	}
	return tokParam, true
}

// tclIndex scans the (text) behind a name.
func (s *scanner) tclIndex() kind {
	for i := s.pos; i < len(s.q) && !isSpace(s.q[i]); i++ {
		if s.q[i] == ')' {
			s.pos = i + 1
			return tokParam
		}
	}
	return s.fail()
}
