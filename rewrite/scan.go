package rewrite

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
)

// kind is the kind of a token.
type kind uint8

const (
	tokEnd     kind = iota // the end of the text
	tokSpace               // white space
	tokComment             // a comment or hint
	tokExec                // a comment that the engine runs
	tokWord                // an unquoted identifier or keyword
	tokQuoted              // a quoted identifier
	tokString              // a string or binary literal, its prefix included
	tokNumber              // a number
	tokParam               // a placeholder
	tokVar                 // a variable of the session or server: @x, @@x
	tokPunct               // one byte of an operator or of punctuation
	tokError               // an unterminated string or comment, or a NUL byte: the rest of the text
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
	classPunct // a token by itself in every dialect
	classPlain // a letter, digit or underscore of ASCII
)

var classes = func() (t [256]uint8) {
	// Control characters are white space to SQL Server and errors elsewhere.
	for c := 1; c <= ' '; c++ {
		t[c] = classSpace
	}
	for _, c := range "(),;=+*<>!%&|^~{}]" {
		t[c] = classPunct
	}
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9':
			t[c] = classDigit | classHex | classPlain
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			t[c] = classLetter | classHex
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c >= 0x80:
			t[c] = classLetter
		}
		if c < 0x80 && t[c]&classLetter != 0 {
			t[c] |= classPlain
		}
	}
	return t
}()

func isSpace(c byte) bool { return classes[c]&classSpace != 0 }
func isDigit(c byte) bool { return classes[c]&classDigit != 0 }

// isPart reports whether c may be inside an unquoted identifier.
func (s *scanner) isPart(c byte) bool {
	cl := classes[c]
	return cl&(classLetter|classDigit) != 0 ||
		cl&(classSpace|classPunct) == 0 && strings.IndexByte(s.d.Lexis.IdentPart, c) >= 0
}

// at returns the byte at offset i, or 0 past the end; a NUL byte in the text
// is an error token, so the two are never confused.
func (s *scanner) at(i int) byte {
	if i < len(s.q) {
		return s.q[i]
	}
	return 0
}

// spaces moves past white space of one byte each.
func (s *scanner) spaces() {
	for s.pos < len(s.q) && classes[s.q[s.pos]]&classSpace != 0 {
		s.pos++
	}
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
	switch cl := classes[c]; {
	case cl&classSpace != 0:
		s.spaces()
		return tokSpace
	case cl&classLetter != 0:
		if c >= 0x80 {
			if n := s.wideSpace(); n > 0 {
				s.pos += n
				return tokSpace
			}
		}
		return s.word()
	case cl&classDigit != 0:
		return s.number()
	case cl&classPunct != 0:
		s.pos++
		return tokPunct
	case c == '@' && s.d.Lexis.UserVariables && classes[s.at(s.pos+1)]&classLetter != 0 && s.at(s.pos+1) < 0x80:
		if k, ok := s.variable(); ok {
			return k
		}
	}
	return s.sign(c)
}

// sign scans what begins with a sign that has a meaning of its own in some
// dialect.
func (s *scanner) sign(c byte) kind {
	lex := &s.d.Lexis
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
		if isDigit(s.at(s.pos+1)) && !s.behindName() {
			return s.number()
		}
	case '?':
		if s.d.Params.Question {
			s.pos++
			if s.d.Params.QuestionNumber {
				s.digits()
			}
			return tokParam
		}
	case '$', ':', '@':
		if k, ok := s.param(c); ok {
			return k
		}
		if c == '$' && lex.DollarWords != nil && s.dollarWord() {
			return tokWord
		}
	case '\\':
		if lex.BackslashNull && s.at(s.pos+1) == 'N' && !s.isPart(s.at(s.pos+2)) {
			s.pos += 2
			return tokWord
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

// dollarWord moves past a word that begins with a dollar, if one of the dialect's is
// at pos.
func (s *scanner) dollarWord() bool {
	start := s.pos
	s.pos++
	if equalAny(s.q[start:s.wordEnd()], s.d.Lexis.DollarWords...) {
		return true
	}
	s.pos = start
	return false
}

// fail makes the rest of the text one error token.
func (s *scanner) fail() kind {
	s.pos = len(s.q)
	return tokError
}

// wideSpace returns the length in bytes of the white space of several bytes at
// pos, 0 where there is none.
func (s *scanner) wideSpace() int {
	lex := &s.d.Lexis
	if !lex.UnicodeSpaces && !lex.ByteOrderMark {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s.q[s.pos:])
	switch {
	case r == '\ufeff',
		lex.UnicodeSpaces && (unicode.IsSpace(r) || r == '\u180e' || r == '\u200b'):
		return n
	}
	return 0
}

// wordEnd returns where the identifier ends that pos is inside of.
func (s *scanner) wordEnd() int {
	s.pos = plainEnd(s.q, s.pos)
	if s.pos == len(s.q) || classes[s.q[s.pos]]&(classSpace|classPunct) != 0 {
		return s.pos // most of them, told without the dialect
	}
	wide := s.d.Lexis.UnicodeSpaces
	for ; s.pos < len(s.q); s.pos++ {
		c := s.q[s.pos]
		if s.isWide(s.pos) {
			s.pos++
			continue
		}
		if !s.isPart(c) || c >= 0x80 && wide && s.wideSpace() > 0 {
			break
		}
	}
	return s.pos
}

// plainEnd returns where the letters, digits and underscores of ASCII end that begin
// at start.
func plainEnd(q string, start int) int {
	for start < len(q) && classes[q[start]]&classPlain != 0 {
		start++
	}
	return start
}

// word scans an identifier or keyword, or the literal that it is the prefix of.
func (s *scanner) word() kind {
	start := s.pos
	if s.isWide(start) {
		s.pos++
	}
	s.pos++
	if s.wordEnd()-start > 2 || s.pos >= len(s.q) {
		return tokWord
	}
	return s.prefixed(start)
}

// behindName reports whether an identifier ends at pos, so that a point there
// is no part of a number.
func (s *scanner) behindName() bool {
	if s.pos == 0 {
		return false
	}
	c := s.q[s.pos-1]
	return s.isPart(c) || c == '"' || c == '`' || c == ']'
}

// dashes reports whether the two dashes at pos open a comment: in MySQL only
// before a space or control character (8.4 manual, section 11.7).
func (s *scanner) dashes() bool {
	return !s.d.Lexis.DashNeedsSpace || s.at(s.pos+2) <= ' ' || s.at(s.pos+2) == 0x7f
}

// line scans a comment to the end of its line.
func (s *scanner) line() kind {
	i := strings.IndexByte(s.q[s.pos:], '\n')
	if s.d.Lexis.ReturnEndsLine {
		i = strings.IndexAny(s.q[s.pos:], "\r\n")
	}
	if i >= 0 {
		s.pos += i + 1
	} else {
		s.pos = len(s.q)
	}
	return tokComment
}

// block scans a comment from its slash.
func (s *scanner) block() kind {
	lex := &s.d.Lexis
	if n := s.opensExecutable(); n > 0 {
		return s.executable(n)
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

// opensExecutable returns the length of what opens a comment that the engine
// runs at pos, 0 where there is none.
func (s *scanner) opensExecutable() int {
	for _, open := range s.d.Lexis.ExecutableComments {
		if strings.HasPrefix(s.q[s.pos:], open) {
			return len(open)
		}
	}
	return 0
}

// executable scans a comment whose text the engine runs: it ends at the first
// */ that is not inside one of its own strings or comments. Without an end it
// is the rest of the text, since a server that does not run it ends it at the
// first */ of any kind.
func (s *scanner) executable(open int) kind {
	s.pos += open
	s.digits() // the version, which may touch a word
	for depth := 1; ; {
		if n := s.opensExecutable(); n > 0 {
			depth++
			s.pos += n
			continue
		}
		switch t := s.next(); t.kind {
		case tokEnd, tokError:
			s.pos = len(s.q)
			return tokExec
		case tokPunct:
			if s.q[t.start] == '*' && s.at(t.end) == '/' {
				s.pos++
				if depth--; depth == 0 {
					return tokExec
				}
			}
		}
	}
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
