package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// kind is what a token is.
type kind uint8

const (
	tokEnd      kind = iota // the end of the text
	tokSpace                // white space
	tokComment              // a comment or hint
	tokExec                 // a comment that the engine runs
	tokWord                 // an unquoted identifier or keyword
	tokQuoted               // a quoted identifier
	tokString               // a string or binary literal, its prefix included
	tokNumber               // a number
	tokParam                // a placeholder
	tokPunct                // one byte of an operator or of punctuation
	tokError                // an unterminated string or comment, or a NUL byte: the rest of the text
	tokKindsEnd             // not a kind
)

// token is a scanned piece of the text, the half-open span [start, end).
type token struct {
	kind       kind
	start, end int
}

// scanner splits a text into tokens. The concatenation of its tokens is the
// text. It works on bytes: what is not ASCII is part of an identifier, as in
// every engine, so invalid UTF-8 passes through.
type scanner struct {
	d   *dialect.Dialect
	q   string
	pos int
}

const (
	classSpace = 1 << iota
	classDigit
	classLetter // also underscore and every byte from 0x80
	classHex
)

var classes = func() (t [256]uint8) {
	for _, c := range " \t\n\v\f\r" {
		t[c] = classSpace
	}
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9':
			t[c] = classDigit | classHex
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			t[c] = classLetter | classHex
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c >= 0x80:
			t[c] = classLetter
		}
	}
	return t
}()

func isSpace(c byte) bool { return classes[c]&classSpace != 0 }
func isDigit(c byte) bool { return classes[c]&classDigit != 0 }

// isPart reports whether c may be inside an unquoted identifier.
func (s *scanner) isPart(c byte) bool {
	return classes[c]&(classLetter|classDigit) != 0 ||
		c < 0x80 && strings.IndexByte(s.d.Lexis.IdentPart, c) >= 0
}

// at returns the byte at offset i, or 0 past the end; a NUL byte in the text
// is an error token, so the two are never confused.
func (s *scanner) at(i int) byte {
	if i < len(s.q) {
		return s.q[i]
	}
	return 0
}

// next returns the next token; at the end of the text one of kind tokEnd.
func (s *scanner) next() token {
	start := s.pos
	if start >= len(s.q) {
		return token{tokEnd, len(s.q), len(s.q)}
	}
	k := s.scan(s.q[start])
	return token{k, start, s.pos}
}

// scan moves pos past the token that begins with c at pos.
func (s *scanner) scan(c byte) kind {
	lex := &s.d.Lexis
	switch cl := classes[c]; {
	case cl&classSpace != 0:
		for s.pos++; s.pos < len(s.q) && isSpace(s.q[s.pos]); s.pos++ {
		}
		return tokSpace
	case cl&classLetter != 0:
		return s.word()
	case cl&classDigit != 0:
		return s.number()
	}
	switch c {
	case '\'':
		return s.str(s.pos, '\'', lex.BackslashEscapes)
	case '"':
		if lex.DoubleQuotedStrings {
			return s.str(s.pos, '"', lex.BackslashEscapes)
		}
		return s.quoted('"', true)
	case '`':
		if lex.Backticks {
			return s.quoted('`', true)
		}
	case '[':
		if lex.Brackets {
			return s.quoted(']', lex.BracketsDouble)
		}
	case '-':
		if s.at(s.pos+1) == '-' && s.dashes() {
			return s.line()
		}
	case '#':
		if lex.HashComments {
			return s.line()
		}
	case '/':
		if s.at(s.pos+1) == '*' {
			return s.block()
		}
	case '.':
		if isDigit(s.at(s.pos+1)) && (s.pos == 0 || !s.isPart(s.q[s.pos-1])) {
			return s.number()
		}
	case '?', '$', ':', '@':
		if k, ok := s.param(c); ok {
			return k
		}
	case 0:
		// SQLite and several drivers end the text here.
		return s.fail()
	}
	if strings.IndexByte(lex.IdentStart, c) >= 0 {
		return s.word()
	}
	s.pos++
	return tokPunct
}

// fail makes the rest of the text one error token.
func (s *scanner) fail() kind {
	s.pos = len(s.q)
	return tokError
}

// word scans an identifier or keyword, or the literal that it is the prefix of.
func (s *scanner) word() kind {
	start := s.pos
	for s.pos++; s.pos < len(s.q) && s.isPart(s.q[s.pos]); s.pos++ {
	}
	if s.pos-start > 2 || s.pos >= len(s.q) {
		return tokWord
	}
	return s.prefixed(start)
}

// prefixed scans the literal after the one or two letters from start, if they
// are the prefix of one: longest match, so type'x' is a word and a string.
func (s *scanner) prefixed(start int) kind {
	lex := &s.d.Lexis
	c, n := s.q[start]|0x20, s.pos-start
	quote := s.q[s.pos]
	switch {
	case n == 1 && c == 'u' && lex.UnicodeStrings && quote == '&':
		switch s.at(s.pos + 1) {
		case '\'':
			s.pos++
			return s.str(s.pos, '\'', false)
		case '"':
			s.pos++
			return s.quoted('"', true)
		}
	case quote != '\'':
	case n == 1 && c == 'e' && lex.EscapeStrings:
		return s.escapeString()
	case n == 1 && c == 'q' && lex.QuoteOperator:
		return s.quoteOperator()
	case n == 2 && c == 'n' && s.q[start+1]|0x20 == 'q' && lex.QuoteOperator:
		return s.quoteOperator()
	case n == 1 && strings.IndexByte(lex.StringPrefixes, c) >= 0:
		return s.str(s.pos, '\'', lex.BackslashEscapes)
	}
	return tokWord
}

// str scans a string that opens at offset open with quote; the quote doubled
// stands for itself.
func (s *scanner) str(open int, quote byte, backslash bool) kind {
	for i := open + 1; i < len(s.q); i++ {
		switch c := s.q[i]; {
		case c == '\\' && backslash:
			i++
		case c == quote:
			if s.at(i+1) != quote {
				s.pos = i + 1
				return tokString
			}
			i++
		}
	}
	return s.fail()
}

// escapeString scans E'…' from its quote. White space with a line end in it
// continues the string, still with escapes: PostgreSQL 18, section 4.1.2.1.
func (s *scanner) escapeString() kind {
	for {
		if s.str(s.pos, '\'', true) == tokError {
			return tokError
		}
		i, line := s.pos, false
		for i < len(s.q) && isSpace(s.q[i]) {
			line = line || s.q[i] == '\n' || s.q[i] == '\r'
			i++
		}
		if !line || s.at(i) != '\'' {
			return tokString
		}
		s.pos = i
	}
}

// quoteOperator scans q'x…x' from its quote: Oracle SQL Language Reference,
// "Text Literals". The delimiter may be a character of several bytes.
func (s *scanner) quoteOperator() kind {
	i := s.pos + 1
	if i >= len(s.q) || isSpace(s.q[i]) {
		return s.fail()
	}
	n := 1
	for s.q[i] >= 0x80 && s.at(i+n)&0xC0 == 0x80 {
		n++
	}
	end := s.q[i : i+n]
	switch end {
	case "[":
		end = "]"
	case "{":
		end = "}"
	case "<":
		end = ">"
	case "(":
		end = ")"
	}
	j := strings.Index(s.q[i+n:], end+"'")
	if j < 0 {
		return s.fail()
	}
	s.pos = i + n + j + len(end) + 1
	return tokString
}

// quoted scans a quoted identifier up to end.
func (s *scanner) quoted(end byte, doubled bool) kind {
	for i := s.pos + 1; i < len(s.q); i++ {
		if s.q[i] != end {
			continue
		}
		if doubled && s.at(i+1) == end {
			i++
			continue
		}
		s.pos = i + 1
		return tokQuoted
	}
	return s.fail()
}

// dashes reports whether the two dashes at pos open a comment: in MySQL only
// before a space or control character (8.4 manual, section 11.7).
func (s *scanner) dashes() bool {
	return !s.d.Lexis.DashNeedsSpace || s.at(s.pos+2) <= ' ' || s.at(s.pos+2) == 0x7f
}

// line scans a comment to the end of its line.
func (s *scanner) line() kind {
	if i := strings.IndexByte(s.q[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
	} else {
		s.pos = len(s.q)
	}
	return tokComment
}

// block scans a comment from its slash.
func (s *scanner) block() kind {
	lex := &s.d.Lexis
	for _, open := range lex.ExecutableComments {
		if strings.HasPrefix(s.q[s.pos:], open) {
			return s.executable(len(open))
		}
	}
	depth := 1
	for i := s.pos + 2; i+1 < len(s.q); i++ {
		switch {
		case s.q[i] == '*' && s.q[i+1] == '/':
			depth--
			i++
			if depth == 0 || !lex.NestedComments {
				s.pos = i + 1
				return tokComment
			}
		case lex.NestedComments && s.q[i] == '/' && s.q[i+1] == '*':
			depth++
			i++
		}
	}
	s.pos = len(s.q)
	if lex.OpenComments {
		return tokComment
	}
	return tokError
}

// executable scans a comment whose text the engine runs: it ends at the first
// */ that is not inside one of its own strings or comments.
func (s *scanner) executable(open int) kind {
	s.pos += open
	for {
		t := s.next()
		switch t.kind {
		case tokEnd, tokError:
			return s.fail()
		case tokPunct:
			if s.q[t.start] == '*' && s.at(t.end) == '/' {
				s.pos++
				return tokExec
			}
		}
	}
}

// number scans a number and all letters and digits that touch it, or an
// identifier that begins with a digit.
func (s *scanner) number() kind {
	start := s.pos
	hex := s.q[start] == '0' && s.at(start+1)|0x20 == 'x'
	point := false
	for s.pos < len(s.q) {
		c := s.q[s.pos]
		switch {
		case c == '.' && !point && !hex:
			point = true
		case (c == '+' || c == '-') && !hex && s.q[s.pos-1]|0x20 == 'e' && s.pos > start && isDigit(s.at(s.pos+1)) && s.mantissa(start, point):
		case c != '$' && s.isPart(c):
		default:
			goto end
		}
		s.pos++
	}
end:
	if s.d.Lexis.DigitIdents && !point && !numeric(s.q[start:s.pos]) {
		s.pos = start
		for s.pos++; s.pos < len(s.q) && s.isPart(s.q[s.pos]); s.pos++ {
		}
		return tokWord
	}
	return tokNumber
}

// mantissa reports whether the text from start to the byte before pos, which
// is an e, is all digits but for a point, so that a sign belongs to the number.
func (s *scanner) mantissa(start int, point bool) bool {
	n := 0
	for i := start; i < s.pos-1; i++ {
		if s.q[i] == '.' {
			n++
		} else if !isDigit(s.q[i]) {
			return false
		}
	}
	return n == 0 || point
}

// numeric reports whether text, which begins with a digit and has no point, is
// a number rather than an identifier: 12, 1e5, 1e+5, 0xAF, 0b01.
func numeric(text string) bool {
	if len(text) > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'b') {
		for i := 2; i < len(text); i++ {
			if classes[text[i]]&classHex == 0 || text[1] == 'b' && text[i] > '1' {
				return false
			}
		}
		return true
	}
	i := 0
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	if i == len(text) {
		return true
	}
	if text[i]|0x20 != 'e' {
		return false
	}
	if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	if i == len(text) {
		return false
	}
	for ; i < len(text); i++ {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}

// param scans a placeholder or what else begins with c: a dollar-quoted string,
// a variable. It reports false for an operator.
func (s *scanner) param(c byte) (kind, bool) {
	p := &s.d.Params
	n := s.at(s.pos + 1)
	switch c {
	case '?':
		if !p.Question {
			return 0, false
		}
		s.pos++
		if p.QuestionNumber {
			s.digits()
		}
		return tokParam, true
	case '$':
		switch {
		case isDigit(n) && p.Dollar:
			s.pos++
			s.digits()
			return tokParam, true
		case s.d.Lexis.DollarQuotes:
			return s.dollarQuote()
		case p.DollarName:
			return s.name()
		}
	case ':':
		if p.Colon && n != ':' && n != '=' {
			return s.name()
		}
	case '@':
		if p.At && n != '@' {
			return s.name()
		}
		if p.At && !p.Question {
			// @@ROWCOUNT and its like in SQL Server.
			s.pos++
			return s.word(), true
		}
	}
	return 0, false
}

func (s *scanner) digits() {
	for s.pos < len(s.q) && isDigit(s.q[s.pos]) {
		s.pos++
	}
}

// name scans a named placeholder. SQLite's may go on with ::name and end with
// (text), the Tcl variables of src/tokenize.c; Oracle's may be quoted.
func (s *scanner) name() (kind, bool) {
	i := s.pos + 1
	if s.q[s.pos] == ':' && s.at(i) == '"' && !s.d.Params.DollarName {
		j := strings.IndexByte(s.q[i+1:], '"')
		if j < 0 {
			return s.fail(), true
		}
		s.pos = i + 1 + j + 1
		return tokParam, true
	}
	n := 0
	for i < len(s.q) {
		c := s.q[i]
		switch {
		case s.isPart(c):
			n++
		case c == ':' && s.at(i+1) == ':' && s.d.Params.DollarName:
			i++
		case c == '(' && n > 0 && s.d.Params.DollarName:
			for i < len(s.q) && s.q[i] != ')' && !isSpace(s.q[i]) {
				i++
			}
			if s.at(i) != ')' {
				return s.fail(), true
			}
			s.pos = i + 1
			return tokParam, true
		default:
			goto end
		}
		i++
	}
end:
	if n == 0 {
		return 0, false
	}
	s.pos = i
	return tokParam, true
}

// dollarQuote scans $tag$…$tag$: PostgreSQL 18, section 4.1.2.4.
func (s *scanner) dollarQuote() (kind, bool) {
	i := s.pos + 1
	for i < len(s.q) && classes[s.q[i]]&(classLetter|classDigit) != 0 {
		i++
	}
	if s.at(i) != '$' || isDigit(s.at(s.pos+1)) {
		return 0, false
	}
	tag := s.q[s.pos : i+1]
	j := strings.Index(s.q[i+1:], tag)
	if j < 0 {
		return s.fail(), true
	}
	s.pos = i + 1 + j + len(tag)
	return tokString, true
}

// equalWord reports whether text is the keyword word, which is in lower case.
func equalWord(text, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
