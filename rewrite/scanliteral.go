package rewrite

import "strings"

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
	case n == 1 && c == 'q' && lex.QuoteOperator,
		n == 2 && c == 'n' && s.q[start+1]|0x20 == 'q' && lex.QuoteOperator:
		return s.quoteOperator()
	case n == 1 && strings.IndexByte(lex.StringPrefixes, c) >= 0:
		// PostgreSQL's B'…' and X'…' never have escapes, elsewhere they have nothing
		// but digits: xb and xh in src/backend/parser/scan.l.
		return s.str(s.pos, '\'', lex.BackslashEscapes && (!lex.EscapeStrings || c == 'n'))
	}
	return tokWord
}

// str scans a string that opens at offset open with quote; the quote doubled
// stands for itself. Each byte is looked at twice at most.
func (s *scanner) str(open int, quote byte, backslash bool) kind {
	if s.d.Lexis.Wide != nil {
		return s.wideStr(open, quote, backslash)
	}
	i, end := open+1, -1 // end is the first quote from i on
	for {
		if end < i {
			n := strings.IndexByte(s.q[i:], quote)
			if n < 0 {
				return s.fail()
			}
			end = i + n
		}
		if backslash {
			if n := strings.IndexByte(s.q[i:end], '\\'); n >= 0 {
				i += n + 2 // a quote may be at the second
				continue
			}
		}
		if s.at(end+1) != quote {
			s.pos = end + 1
			return tokString
		}
		i = end + 2
	}
}

// wideStr is str in a character set in which a backslash may be half of a character. Behind
// another backslash a byte stands alone: get_text in sql/sql_lex.cc of MariaDB.
func (s *scanner) wideStr(open int, quote byte, backslash bool) kind {
	for i := open + 1; i < len(s.q); i++ {
		switch c := s.q[i]; {
		case s.isWide(i), backslash && c == '\\':
			i++
		case c == quote && s.at(i+1) == quote:
			i++
		case c == quote:
			s.pos = i + 1
			return tokString
		}
	}
	return s.fail()
}

// isWide reports whether a character of two bytes begins at an offset.
func (s *scanner) isWide(i int) bool {
	w := s.d.Lexis.Wide
	return w != nil && s.q[i] >= 0x80 && i+1 < len(s.q) && w.Is(s.q[i], s.q[i+1])
}

// escapeString scans E'…' from its quote. White space and comments with a line
// end in them continue the string, still with escapes: PostgreSQL 18, section
// 4.1.2.1, and quotecontinue in src/backend/parser/scan.l.
func (s *scanner) escapeString() kind {
	for {
		if s.str(s.pos, '\'', true) == tokError {
			return tokError
		}
		i, ok := s.continuation()
		if !ok {
			return tokString
		}
		s.pos = i
	}
}

// continuation returns where the string goes on that ends at pos, and whether
// it does.
func (s *scanner) continuation() (int, bool) {
	line := false
	for i := s.pos; ; {
		switch c := s.at(i); {
		case isSpace(c):
			line = line || c == '\n' || c == '\r'
			i++
		case c == '-' && s.at(i+1) == '-':
			for i < len(s.q) && s.q[i] != '\n' && s.q[i] != '\r' {
				i++
			}
		default:
			return i, line && c == '\''
		}
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

// quoted scans a quoted identifier up to end.
func (s *scanner) quoted(end byte, doubled bool) kind {
	for i := s.pos + 1; i < len(s.q); i++ {
		if s.q[i] != end {
			if s.isWide(i) {
				i++
			}
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

// number scans a number, or an identifier that begins with a digit. Letters
// that touch a number begin the next token: SELECT 1INSERT is two statements
// in SQL Server.
func (s *scanner) number() kind {
	start := s.pos
	if end := digitsEnd(s.q, start); end > start && (end == len(s.q) || classes[s.q[end]]&(classSpace|classPunct) != 0) &&
		(start == 0 || s.q[start-1] != '.') {
		s.pos = end
		return tokNumber // as most of them are
	}
	end, plain := numberEnd(s.q, start)
	s.pos = end
	if !s.d.Lexis.DigitIdents || !plain {
		if s.at(end)|0x20 == 'e' && !s.d.Lexis.DigitIdents {
			s.pos++ // 1e is a number to SQL Server and an error elsewhere
		}
		return tokNumber
	}
	// Behind the point of a qualified name even digits alone are a name:
	// MY_LEX_IDENT_SEP in sql/sql_lex.cc of MySQL.
	if end < len(s.q) && s.isPart(s.q[end]) || start > 0 && s.q[start-1] == '.' {
		s.wordEnd()
		return tokWord
	}
	return tokNumber
}

// digitsEnd returns where the decimal digits end that begin at start.
func digitsEnd(q string, start int) int {
	for start < len(q) && classes[q[start]]&classDigit != 0 {
		start++
	}
	return start
}

// numberEnd returns where the number ends that begins at start: digits, a
// point, an exponent, or hexadecimal digits. It is plain when it has neither
// point nor sign, so that it could be the start of a name.
func numberEnd(q string, start int) (end int, plain bool) {
	digits := func(i int, class uint8) int {
		for i < len(q) && (classes[q[i]]&class != 0 ||
			q[i] == '_' && i > start && i+1 < len(q) && classes[q[i+1]]&class != 0) {
			i++
		}
		return i
	}
	if q[start] == '0' && start+1 < len(q) && q[start+1]|0x20 == 'x' {
		return digits(start+2, classHex), true
	}
	i, plain := digits(start, classDigit), true
	if i < len(q) && q[i] == '.' {
		i, plain = digits(i+1, classDigit), false
	}
	if i < len(q) && q[i]|0x20 == 'e' {
		j := i + 1
		if j < len(q) && (q[j] == '+' || q[j] == '-') {
			j++
		}
		if j < len(q) && isDigit(q[j]) {
			plain = plain && j == i+1
			i = digits(j, classDigit)
		}
	}
	return i, plain
}
