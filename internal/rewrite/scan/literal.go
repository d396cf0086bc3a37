package scan

import (
	"strings"
)

// prefixed scans a literal that begins with a prefix, as N'…' does. If the one or two
// letters from start to Pos are no prefix, they are a word. Longer words are never a
// prefix, as in the engines: type'x' is a word and then a string.
func (s *Scanner) prefixed(start int) Kind {
	lex := &s.Dialect.Lexis
	c, n := s.Text[start]|0x20, s.Pos-start
	quote := s.Text[s.Pos]
	switch {
	case n == 1 && c == 'u' && lex.UnicodeStrings && quote == '&':
		switch s.At(s.Pos + 1) {
		case '\'':
			s.Pos++
			return s.str(s.Pos, '\'', false)
		case '"':
			s.Pos++
			return s.quoted('"', true)
		}
	case quote != '\'':
	case n == 1 && c == 'e' && lex.EscapeStrings:
		return s.escapeString()
	case n == 1 && c == 'q' && lex.QuoteOperator,
		n == 2 && c == 'n' && s.Text[start+1]|0x20 == 'q' && lex.QuoteOperator:
		return s.quoteOperator()
	case n == 1 && strings.IndexByte(lex.StringPrefixes, c) >= 0:
		// Backslashes are never escapes in PostgreSQL's B'…' and X'…' (xb and xh in
		// src/backend/parser/scan.l). In other engines these literals have only digits.
		return s.str(s.Pos, '\'', lex.BackslashEscapes && (!lex.EscapeStrings || c == 'n'))
	}
	return Word
}

// str scans a string whose opening quote is at offset open. A doubled quote inside the
// string is a character of it, and so is a quote after a backslash, if backslash is true.
// str reads each byte at most twice.
func (s *Scanner) str(open int, quote byte, backslash bool) Kind {
	if s.Dialect.Lexis.Wide != nil {
		return s.wideStr(open, quote, backslash)
	}
	i, end := open+1, -1 // end is the offset of the first quote from i on
	for {
		if end < i {
			n := strings.IndexByte(s.Text[i:], quote)
			if n < 0 {
				return s.fail()
			}
			end = i + n
		}
		if backslash {
			if n := strings.IndexByte(s.Text[i:end], '\\'); n >= 0 {
				i += n + 2 // skips the backslash and the byte after it, which may be a quote
				continue
			}
		}
		if s.At(end+1) != quote {
			s.Pos = end + 1
			return String
		}
		i = end + 2
	}
}

// wideStr scans a string as [Scanner.str] does, but in a character set in which the second
// byte of a character may equal a backslash. After a real backslash exactly one byte is
// skipped, even if a wide character begins there: get_text in sql/sql_lex.cc of MariaDB.
func (s *Scanner) wideStr(open int, quote byte, backslash bool) Kind {
	for i := open + 1; i < len(s.Text); i++ {
		switch c := s.Text[i]; {
		case s.isWide(i), backslash && c == '\\':
			i++
		case c == quote && s.At(i+1) == quote:
			i++
		case c == quote:
			s.Pos = i + 1
			return String
		}
	}
	return s.fail()
}

// isWide reports whether a character of two bytes begins at offset i, in a character set
// whose second bytes may be ASCII characters.
func (s *Scanner) isWide(i int) bool {
	w := s.Dialect.Lexis.Wide
	return w != nil && s.Text[i] >= 0x80 && i+1 < len(s.Text) && w.Is(s.Text[i], s.Text[i+1])
}

// escapeString scans E'…' from its quote. If only white space and comments with a line end
// stand between two strings, the second continues the first, also with escapes: PostgreSQL
// 18, section 4.1.2.1, and quotecontinue in src/backend/parser/scan.l.
func (s *Scanner) escapeString() Kind {
	for {
		if s.str(s.Pos, '\'', true) == Broken {
			return Broken
		}
		i, ok := s.continuation()
		if !ok {
			return String
		}
		s.Pos = i
	}
}

// continuation returns the offset of the next quote, and true, if the string there
// continues the string that ended at Pos.
func (s *Scanner) continuation() (int, bool) {
	line := false
	for i := s.Pos; ; {
		switch c := s.At(i); {
		case IsSpace(c):
			line = line || c == '\n' || c == '\r'
			i++
		case c == '-' && s.At(i+1) == '-':
			for i < len(s.Text) && s.Text[i] != '\n' && s.Text[i] != '\r' {
				i++
			}
		default:
			return i, line && c == '\''
		}
	}
}

// quoteOperator scans q'x…x' from its quote, where x is any delimiter: Oracle SQL Language
// Reference, "Text Literals". The delimiter may be a character of several bytes.
func (s *Scanner) quoteOperator() Kind {
	i := s.Pos + 1
	if i >= len(s.Text) || IsSpace(s.Text[i]) {
		return s.fail()
	}
	n := 1
	for s.Text[i] >= 0x80 && s.At(i+n)&0xC0 == 0x80 {
		n++
	}
	end := s.Text[i : i+n]
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
	j := strings.Index(s.Text[i+n:], end+"'")
	if j < 0 {
		return s.fail()
	}
	s.Pos = i + n + j + len(end) + 1
	return String
}

// dollarQuote scans the string $tag$…$tag$ (PostgreSQL 18, section 4.1.2.4). It reports
// false if no such string begins at Pos.
func (s *Scanner) dollarQuote() (Kind, bool) {
	i := s.Pos + 1
	for i < len(s.Text) && Classes[s.Text[i]]&(ClassLetter|ClassDigit) != 0 {
		i++
	}
	if s.At(i) != '$' || IsDigit(s.At(s.Pos+1)) {
		return 0, false
	}
	tag := s.Text[s.Pos : i+1]
	j := strings.Index(s.Text[i+1:], tag)
	if j < 0 {
		return s.fail(), true
	}
	s.Pos = i + 1 + j + len(tag)
	return String, true
}

// quoted scans a quoted identifier up to the closing quote end. If doubled is true, the
// quote written twice is a character of the identifier.
func (s *Scanner) quoted(end byte, doubled bool) Kind {
	for i := s.Pos + 1; i < len(s.Text); i++ {
		if s.Text[i] != end {
			if s.isWide(i) {
				i++
			}
			continue
		}
		if doubled && s.At(i+1) == end {
			i++
			continue
		}
		s.Pos = i + 1
		return Quoted
	}
	return s.fail()
}

// number scans a number, or an identifier that begins with a digit. Letters that touch a
// number begin the next token: in SQL Server, SELECT 1INSERT is two statements.
func (s *Scanner) number() Kind {
	start := s.Pos
	if end := DigitsEnd(s.Text, start); end > start && (end == len(s.Text) || Classes[s.Text[end]]&(ClassSpace|ClassPunct) != 0) &&
		(start == 0 || s.Text[start-1] != '.') {
		s.Pos = end
		return Number // a short cut: most numbers are digits alone
	}
	end, plain := numberEnd(s.Text, start)
	s.Pos = end
	if !s.Dialect.Lexis.DigitIdents || !plain {
		if s.At(end)|0x20 == 'e' && !s.Dialect.Lexis.DigitIdents {
			s.Pos++ // SQL Server reads 1e as a number; other engines refuse it
		}
		return Number
	}
	// After the point of a qualified name, as in t.1, MySQL reads digits alone as a name:
	// MY_LEX_IDENT_SEP in its sql/sql_lex.cc.
	if end < len(s.Text) && s.IsPart(s.Text[end]) || start > 0 && s.Text[start-1] == '.' {
		s.WordEnd()
		return Word
	}
	return Number
}

// DigitsEnd returns the offset after the decimal digits that begin at start.
func DigitsEnd(q string, start int) int {
	for start < len(q) && Classes[q[start]]&ClassDigit != 0 {
		start++
	}
	return start
}

// numberEnd returns the offset after the number that begins at start: digits, a point, an
// exponent, or hexadecimal digits. plain reports that the number has neither point nor
// sign, so that it could be the start of a name.
func numberEnd(q string, start int) (end int, plain bool) {
	digits := func(i int, class uint8) int {
		for i < len(q) && (Classes[q[i]]&class != 0 ||
			q[i] == '_' && i > start && i+1 < len(q) && Classes[q[i+1]]&class != 0) {
			i++
		}
		return i
	}
	if q[start] == '0' && start+1 < len(q) && q[start+1]|0x20 == 'x' {
		return digits(start+2, ClassHex), true
	}
	i, plain := digits(start, ClassDigit), true
	if i < len(q) && q[i] == '.' {
		i, plain = digits(i+1, ClassDigit), false
	}
	if i < len(q) && q[i]|0x20 == 'e' {
		j := i + 1
		if j < len(q) && (q[j] == '+' || q[j] == '-') {
			j++
		}
		if j < len(q) && IsDigit(q[j]) {
			plain = plain && j == i+1
			i = digits(j, ClassDigit)
		}
	}
	return i, plain
}
