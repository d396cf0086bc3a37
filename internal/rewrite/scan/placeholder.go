package scan

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// NumberIn returns the number that text spells, or maxNumber if it is greater. ok reports
// whether text is made of digits only, and is not empty.
func NumberIn(text string) (n int, ok bool) {
	for i := range len(text) {
		if !IsDigit(text[i]) {
			return 0, false
		}
		n = int(min(int64(n)*10+int64(text[i]-'0'), maxNumber))
	}
	return n, text != ""
}

// maxNumber replaces any greater number: no engine accepts a placeholder with a number so
// large.
const maxNumber = 1 << 30

// NumberOf returns the number of [NumberIn] for a text that is known to have digits only.
func NumberOf(digits string) int {
	n, _ := NumberIn(digits)
	return n
}

// Identity returns a text that is equal for two spellings of one placeholder: its number
// without leading zeros, or its name without the sign before it, such as : or @. Drivers
// find the argument of a placeholder by that number or name.
func Identity(d *dialect.Dialect, text string) string {
	bare := text[1:]
	if d.Params.AtNumber && len(bare) > 1 && bare[0]|0x20 == 'p' && Digits(bare[1:]) {
		bare = bare[1:]
	}
	switch {
	case Digits(bare):
		if bare[0] != '0' && len(bare) < 10 {
			return bare
		}
		return strconv.Itoa(NumberOf(bare))
	case d.Params.FoldedNames:
		return strings.ToLower(bare)
	}
	return bare
}

// Digits reports whether a text has decimal digits only, and is not empty.
func Digits(s string) bool {
	for i := range len(s) {
		if !IsDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// param scans a placeholder, dollar-quoted string or variable that begins with c, which is
// '$', ':' or '@'. It reports false if c is an operator here.
func (s *Scanner) param(c byte) (Kind, bool) {
	p := &s.Dialect.Params
	n := s.At(s.Pos + 1)
	switch c {
	case '$':
		switch {
		case p.DollarName:
			return s.name()
		case IsDigit(n) && p.Dollar:
			s.Pos++
			s.digits()
			return Placeholder, true
		case s.Dialect.Lexis.DollarQuotes:
			return s.dollarQuote()
		}
	case ':':
		if (p.Colon || p.ColonPlaces) && n != ':' && n != '=' {
			return s.name()
		}
	case '@':
		switch {
		case s.Dialect.Lexis.UserVariables, s.Dialect.Lexis.ServerVariables && n == '@':
			return s.variable()
		case p.At:
			return s.name()
		}
	}
	return 0, false
}

// digits moves Pos past decimal digits.
func (s *Scanner) digits() {
	for s.Pos < len(s.Text) && IsDigit(s.Text[s.Pos]) {
		s.Pos++
	}
}

// variable scans a variable of the session or server: @x, @@x, @@session.x or @'x'. It
// reports false if no variable begins at Pos.
func (s *Scanner) variable() (Kind, bool) {
	i := s.Pos + 1
	if s.At(i) == '@' {
		i++
	}
	switch c := s.At(i); {
	case s.Dialect.Lexis.UserVariables && (c == '\'' || c == '"' || c == '`'):
		lex := &s.Dialect.Lexis
		if s.str(i, c, lex.BackslashEscapes && (c == '\'' || c == '"' && lex.DoubleQuotedStrings)) == Broken {
			return Broken, true
		}
		return Variable, true
	case s.IsPart(c):
		for s.Pos = i; s.WordEnd() < len(s.Text) && s.Text[s.Pos] == '.' && s.IsPart(s.At(s.Pos+1)); s.Pos++ {
		}
		return Variable, true
	}
	return 0, false
}

// name scans a named placeholder, such as :id. In SQLite, ::name and then (text) may follow
// the name, as in the Tcl variables of its src/tokenize.c. In Oracle the name may be
// quoted.
func (s *Scanner) name() (Kind, bool) {
	start := s.Pos
	if s.Text[start] == ':' && s.At(start+1) == '"' && s.Dialect.Params.QuotedName {
		j := strings.IndexByte(s.Text[start+2:], '"')
		if j < 0 {
			return s.fail(), true
		}
		s.Pos = start + 2 + j + 1
		return Placeholder, true
	}
	s.Pos++
	first := s.WordEnd()
	if s.Dialect.Params.DollarName {
		for s.At(s.Pos) == ':' && s.At(s.Pos+1) == ':' {
			s.Pos += 2
			first = s.WordEnd()
		}
		if s.At(s.Pos) == '(' && first > start+1 {
			return s.tclIndex(), true
		}
	}
	if s.Pos == start+1 {
		s.Pos = start
		return 0, false
	}
	return Placeholder, true
}

// tclIndex scans the (text) that may follow a placeholder's name in SQLite.
func (s *Scanner) tclIndex() Kind {
	for i := s.Pos; i < len(s.Text) && !IsSpace(s.Text[i]); i++ {
		if s.Text[i] == ')' {
			s.Pos = i + 1
			return Placeholder
		}
	}
	return s.fail()
}
