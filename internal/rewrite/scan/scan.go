package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
)

// Span is the piece of a text from byte offset Start up to, but not including, End.
type Span struct{ Start, End int }

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	End         Kind = iota // the end of the text
	Space                   // white space
	Comment                 // a comment or hint
	Executable              // a comment that the engine runs
	Word                    // an unquoted identifier or keyword
	Quoted                  // a quoted identifier
	String                  // a string or binary literal, its prefix included
	Number                  // a number
	Placeholder             // a placeholder
	Variable                // a variable of the session or server: @x, @@x
	Punct                   // one byte of an operator or of punctuation
	Broken                  // an unterminated string or comment, or a NUL byte: the rest of the text
)

// IsOther reports whether a token is a number, a placeholder, a variable or one sign. A
// reader of SQL scripts treats these four alike.
func (k Kind) IsOther() bool {
	return k == Number || k == Placeholder || k == Variable || k == Punct
}

// Token is a piece of the text: from byte offset Start up to, but not including, End.
type Token struct {
	Kind       Kind
	Start, End int
}

// Scanner splits a text into tokens, whose concatenation is the text. It works on bytes.
// Bytes that are not ASCII are part of an identifier, as in every engine, so invalid UTF-8
// causes no error.
type Scanner struct {
	Dialect *dialect.Dialect
	Text    string
	Pos     int
}

// The classes of a byte, as bits.
const (
	ClassSpace = 1 << iota
	ClassDigit
	ClassLetter // a letter, an underscore, or any byte from 0x80
	ClassHex
	ClassPunct // a sign that is a token of its own in every dialect
	classPlain // a letter, digit or underscore of ASCII
)

// Classes has the classes of each byte, as bits.
var Classes = func() (t [256]uint8) {
	// Control characters are white space to SQL Server and errors elsewhere.
	for c := 1; c <= ' '; c++ {
		t[c] = ClassSpace
	}
	for _, c := range "(),;=+*<>!%&|^~{}]" {
		t[c] = ClassPunct
	}
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9':
			t[c] = ClassDigit | ClassHex | classPlain
		case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			t[c] = ClassLetter | ClassHex
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c >= 0x80:
			t[c] = ClassLetter
		}
		if c < 0x80 && t[c]&ClassLetter != 0 {
			t[c] |= classPlain
		}
	}
	return t
}()

// IsSpace reports whether a byte is white space.
func IsSpace(c byte) bool { return Classes[c]&ClassSpace != 0 }

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return Classes[c]&ClassDigit != 0 }

// IsPart reports whether c may be inside an unquoted identifier.
func (s *Scanner) IsPart(c byte) bool {
	cl := Classes[c]
	return cl&(ClassLetter|ClassDigit) != 0 ||
		cl&(ClassSpace|ClassPunct) == 0 && strings.IndexByte(s.Dialect.Lexis.IdentPart, c) >= 0
}

// At returns the byte at offset i, or 0 past the end. A caller cannot confuse that with a
// NUL byte in the text, because the scanner reads a NUL byte as an error token.
func (s *Scanner) At(i int) byte {
	if i < len(s.Text) {
		return s.Text[i]
	}
	return 0
}

// spaces moves Pos past ASCII white space.
func (s *Scanner) spaces() {
	for s.Pos < len(s.Text) && Classes[s.Text[s.Pos]]&ClassSpace != 0 {
		s.Pos++
	}
}

// Next returns the next token. At the end of the text it returns a token of kind [End].
func (s *Scanner) Next() Token {
	start := s.Pos
	if start >= len(s.Text) {
		return Token{End, len(s.Text), len(s.Text)}
	}
	k := s.scan(s.Text[start])
	return Token{k, start, s.Pos}
}

// scan moves Pos past the token that begins there with the byte c, and returns its kind.
func (s *Scanner) scan(c byte) Kind {
	switch cl := Classes[c]; {
	case cl&ClassSpace != 0:
		s.spaces()
		return Space
	case cl&ClassLetter != 0:
		if c >= 0x80 {
			if n := s.wideSpace(); n > 0 {
				s.Pos += n
				return Space
			}
		}
		return s.word()
	case cl&ClassDigit != 0:
		return s.number()
	case cl&ClassPunct != 0:
		s.Pos++
		return Punct
	case c == '@' && s.Dialect.Lexis.UserVariables && Classes[s.At(s.Pos+1)]&ClassLetter != 0 && s.At(s.Pos+1) < 0x80:
		if k, ok := s.variable(); ok {
			return k
		}
	}
	return s.sign(c)
}

// sign scans a token that begins with a sign whose meaning depends on the dialect.
func (s *Scanner) sign(c byte) Kind {
	lex := &s.Dialect.Lexis
	switch c {
	case '\'':
		return s.str(s.Pos, '\'', lex.BackslashEscapes)
	case '"':
		if lex.DoubleQuotedStrings {
			return s.str(s.Pos, '"', lex.BackslashEscapes)
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
		if s.At(s.Pos+1) == '-' && s.dashes() {
			return s.line()
		}
	case '#':
		if lex.HashComments {
			return s.line()
		}
	case '/':
		if s.At(s.Pos+1) == '*' {
			return s.block()
		}
	case '.':
		if IsDigit(s.At(s.Pos+1)) && !s.behindName() {
			return s.number()
		}
	case '?':
		if s.Dialect.Params.Question {
			s.Pos++
			if s.Dialect.Params.QuestionNumber {
				s.digits()
			}
			return Placeholder
		}
	case '$', ':', '@':
		if k, ok := s.param(c); ok {
			return k
		}
		if c == '$' && lex.DollarWords != nil && s.dollarWord() {
			return Word
		}
	case '\\':
		if lex.BackslashNull && s.At(s.Pos+1) == 'N' && !s.IsPart(s.At(s.Pos+2)) {
			s.Pos += 2
			return Word
		}
	case 0:
		// SQLite and several drivers take a NUL byte as the end of the text.
		return s.fail()
	}
	if strings.IndexByte(lex.IdentStart, c) >= 0 {
		return s.word()
	}
	s.Pos++
	return Punct
}

// dollarWord reports whether a keyword of the dialect that begins with a dollar stands at
// Pos, and moves past it.
func (s *Scanner) dollarWord() bool {
	start := s.Pos
	s.Pos++
	if EqualAny(s.Text[start:s.WordEnd()], s.Dialect.Lexis.DollarWords...) {
		return true
	}
	s.Pos = start
	return false
}

// fail returns [Broken] and moves Pos to the end: the rest of the text is one error token.
func (s *Scanner) fail() Kind {
	s.Pos = len(s.Text)
	return Broken
}

// wideSpace returns the length in bytes of the white space outside ASCII that begins at
// Pos; zero if none does.
func (s *Scanner) wideSpace() int {
	lex := &s.Dialect.Lexis
	if !lex.UnicodeSpaces && !lex.ByteOrderMark {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s.Text[s.Pos:])
	switch {
	case r == '\ufeff',
		lex.UnicodeSpaces && (unicode.IsSpace(r) || r == '\u180e' || r == '\u200b'):
		return n
	}
	return 0
}

// WordEnd moves Pos to the end of the identifier that it is inside of, and returns Pos.
func (s *Scanner) WordEnd() int {
	s.Pos = plainEnd(s.Text, s.Pos)
	if s.Pos == len(s.Text) || Classes[s.Text[s.Pos]]&(ClassSpace|ClassPunct) != 0 {
		return s.Pos // most words end here, in any dialect
	}
	wide := s.Dialect.Lexis.UnicodeSpaces
	for ; s.Pos < len(s.Text); s.Pos++ {
		c := s.Text[s.Pos]
		if s.isWide(s.Pos) {
			s.Pos++
			continue
		}
		if !s.IsPart(c) || c >= 0x80 && wide && s.wideSpace() > 0 {
			break
		}
	}
	return s.Pos
}

// plainEnd returns the offset after the ASCII letters, digits and underscores that begin at
// start.
func plainEnd(q string, start int) int {
	for start < len(q) && Classes[q[start]]&classPlain != 0 {
		start++
	}
	return start
}

// PlainWord skips white space from offset on, and returns where the word of ASCII letters,
// digits and underscores begins and ends that follows. start and end are equal if no such
// word follows. The word is a token in every dialect if white space or a sign of
// [ClassPunct] other than & follows it.
func PlainWord(text string, offset int) (start, end int) {
	for offset < len(text) && Classes[text[offset]]&ClassSpace != 0 {
		offset++
	}
	if offset == len(text) || Classes[text[offset]]&ClassDigit != 0 {
		return offset, offset
	}
	return offset, plainEnd(text, offset)
}

// word scans an identifier or keyword. If the word is the prefix of a literal, such as
// N'…', word scans the literal.
func (s *Scanner) word() Kind {
	start := s.Pos
	if s.isWide(start) {
		s.Pos++
	}
	s.Pos++
	return s.wordFrom(start)
}

// wordFrom scans an identifier or keyword, as word does. It begins at start, and Pos is
// inside of it or at its end.
func (s *Scanner) wordFrom(start int) Kind {
	if s.WordEnd()-start > 2 || s.Pos >= len(s.Text) {
		return Word
	}
	return s.prefixed(start)
}

// behindName reports whether an identifier ends directly before Pos, so that a point at Pos
// belongs to a qualified name and not to a number.
func (s *Scanner) behindName() bool {
	if s.Pos == 0 {
		return false
	}
	c := s.Text[s.Pos-1]
	return s.IsPart(c) || c == '"' || c == '`' || c == ']'
}

// Following returns the next token that is neither white space nor a comment.
func (s *Scanner) Following() Token {
	text, i := s.Text, s.Pos
	for {
		for i < len(text) && Classes[text[i]]&ClassSpace != 0 {
			i++
		}
		if i >= len(text) {
			s.Pos = i
			return Token{End, i, i}
		}
		switch class := Classes[text[i]]; {
		case class&ClassPunct != 0:
			s.Pos = i + 1
			return Token{Punct, i, i + 1}
		case class&(classPlain|ClassDigit) == classPlain:
			end := plainEnd(text, i+1)
			s.Pos = end
			if end == len(text) || Classes[text[end]]&(ClassSpace|ClassPunct) != 0 && text[end] != '&' {
				return Token{Word, i, end} // most words end here, in any dialect; a word before & may not, since U& may begin a string
			}
			k := s.wordFrom(i)
			return Token{k, i, s.Pos}
		}
		s.Pos = i
		if k := s.scan(text[i]); k != Space && k != Comment {
			return Token{k, i, s.Pos}
		}
		i = s.Pos
	}
}

// NextToken returns the kind of the token that begins at a byte offset of text, and the
// offset after the token, read under the dialect's settings. The caller guarantees that a
// token begins at offset, and that offset is less than the length of text.
func NextToken(d *dialect.Dialect, text string, offset int) (kind Kind, end int) {
	s := Scanner{Dialect: d, Text: text, Pos: offset}
	return s.Next().Kind, s.Pos
}
