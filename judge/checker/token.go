package checker

import (
	"fmt"
	"strings"
)

// kind is the kind of a token.
type kind uint8

const (
	word kind = iota
	quotedName
	text // a string
	number
	param
	mark // one byte that belongs to no other kind of token
	comment
	codeComment
)

// token is a piece of the text.
type token struct {
	kind    kind
	text    string
	start   int
	ordinal int // the number of a placeholder, from 1
}

// lexer cuts a text into tokens.
type lexer struct {
	*lexis
	q      string
	tokens []token
	params int
}

// tokens returns the tokens of a text without its white space. It fails where a
// string, a name or a comment does not end.
func (l *lexis) tokens(query string) ([]token, error) {
	x := lexer{lexis: l, q: query}
	for at := 0; at < len(query); {
		if strings.IndexByte(" \t\r\n\f\v\x00", query[at]) >= 0 || strings.HasPrefix(query[at:], "\ufeff") {
			at++
			if query[at-1] == '\xef' {
				at += 2
			}
			continue
		}
		k, end := x.next(at)
		if end < 0 {
			return nil, fmt.Errorf("byte %d: a string, a name or a comment does not end", at)
		}
		t := token{kind: k, text: query[at:end], start: at}
		if k == param {
			x.params++
			t.ordinal = x.params
		}
		x.tokens = append(x.tokens, t)
		at = end
	}
	return x.tokens, nil
}

// next returns the kind of the token at an offset, and where it ends; -1 if it does not
// end.
func (x *lexer) next(at int) (kind, int) {
	rest := x.q[at:]
	if k, n := x.comment(rest); n != 0 {
		return k, ending(at, n)
	}
	if n := x.str(rest); n != 0 {
		return text, ending(at, n)
	}
	c := rest[0]
	switch {
	case c == '"' || c == '`' && x.backticks:
		return quotedName, ending(at, closing(rest, 1, c, true, false))
	case c == '[' && x.brackets:
		return quotedName, ending(at, closing(rest, 1, ']', x.doubledBrackets, false))
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]) && !x.afterName():
		return number, at + numeral(rest)
	case x.begins(c):
		return word, at + x.wordLength(rest)
	}
	if n := x.placeholder(rest); n > 0 {
		return param, at + n
	}
	return mark, at + 1
}

// afterName reports whether a name ended just before, so that a point separates two names.
func (x *lexer) afterName() bool {
	if len(x.tokens) == 0 {
		return false
	}
	k := x.tokens[len(x.tokens)-1].kind
	return k == word || k == quotedName
}

func ending(at, n int) int {
	if n < 0 {
		return -1
	}
	return at + n
}

func (x *lexer) comment(s string) (kind, int) {
	switch {
	case strings.HasPrefix(s, "--") && (!x.comments.spacedDashes || len(s) == 2 || s[2] <= ' '), s[0] == '#' && x.comments.hash:
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return comment, n
		}
		return comment, len(s)
	case !strings.HasPrefix(s, "/*"):
		return 0, 0
	}
	k := comment
	if x.comments.code && (strings.HasPrefix(s, "/*!") || strings.HasPrefix(s, "/*M!")) {
		k = codeComment
	}
	depth := 1
	for i := 2; i+1 < len(s); {
		switch {
		case s[i] == '*' && s[i+1] == '/':
			if depth--; depth == 0 {
				return k, i + 2
			}
			i += 2
		case s[i] == '/' && s[i+1] == '*' && x.comments.nested:
			depth++
			i += 2
		default:
			i++
		}
	}
	if x.comments.open {
		return k, len(s)
	}
	return k, -1
}

// str returns the length of the string at the start of s, with its prefix: 0 if there is no
// string, -1 if it does not end.
func (x *lexer) str(s string) int {
	c := s[0] | 0x20
	switch {
	case s[0] == '\'':
		return closing(s, 1, '\'', true, x.strings.backslashes)
	case s[0] == '"' && x.strings.double:
		return closing(s, 1, '"', true, x.strings.backslashes)
	case s[0] == '$' && x.strings.dollar:
		return dollarString(s)
	case x.strings.quote && (c == 'q' || c == 'n' && len(s) > 1 && s[1]|0x20 == 'q'):
		return quoteString(s)
	case c == 'e' && x.strings.escape && strings.HasPrefix(s[1:], "'"):
		return escapeString(s)
	case strings.IndexByte("nbx", c) >= 0 && strings.HasPrefix(s[1:], "'"):
		return closing(s, 2, '\'', true, x.strings.backslashes)
	}
	return 0
}

// escapeString returns the length of E'…', which another string continues after white
// space with a line end.
func escapeString(s string) int {
	end := closing(s, 2, '\'', true, true)
	for end > 0 {
		rest := strings.TrimLeft(s[end:], " \t\r\n\f\v")
		space := s[end : len(s)-len(rest)]
		if !strings.HasPrefix(rest, "'") || !strings.ContainsAny(space, "\r\n") {
			break
		}
		if end = closing(s, end+len(space)+1, '\'', true, true); end < 0 {
			return -1
		}
	}
	return end
}

// closing returns the offset after the quote that ends s; -1 if s does not end.
func closing(s string, from int, quote byte, doubled, backslashes bool) int {
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslashes:
			i++
		case s[i] != quote:
		case doubled && i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

func dollarString(s string) int {
	end := strings.IndexByte(s[1:], '$')
	if end < 0 || end > 0 && isDigit(s[1]) ||
		strings.IndexFunc(s[1:1+end], func(r rune) bool { return r < 0x80 && !isLetter(byte(r)) && !isDigit(byte(r)) && r != '_' }) >= 0 {
		return 0
	}
	tag := s[:end+2]
	if n := strings.Index(s[len(tag):], tag); n >= 0 {
		return n + 2*len(tag)
	}
	return -1
}

func quoteString(s string) int {
	open := strings.IndexByte(s[:min(3, len(s))], '\'')
	if open < 0 || open+1 >= len(s) {
		return 0
	}
	close := string(s[open+1])
	if i := strings.Index("[{<(", close); i >= 0 {
		close = "]}>)"[i : i+1]
	}
	if n := strings.Index(s[open+2:], close+"'"); n >= 0 {
		return open + 2 + n + 2
	}
	return -1
}

// numeral returns the length of the number that s begins with.
func numeral(s string) int {
	if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x' {
		return 2 + span(s[2:], func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' })
	}
	n := span(s, isDigit)
	if n < len(s) && s[n] == '.' {
		n += 1 + span(s[n+1:], isDigit)
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if d := span(s[m:], isDigit); d > 0 {
			n = m + d
		}
	}
	return n
}

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

func (x *lexer) begins(c byte) bool { return isLetter(c) || strings.IndexByte(x.wordStart, c) >= 0 }

func (x *lexer) wordLength(s string) int {
	return span(s, func(c byte) bool {
		return isLetter(c) || isDigit(c) || strings.IndexByte(x.wordPart, c) >= 0
	})
}

// placeholder returns the length of the placeholder that s begins with, or of
// a variable that is spelled like one; 0 for none.
func (x *lexer) placeholder(s string) int {
	name := func(from int) int {
		n := x.wordLength(s[from:])
		if n == 0 {
			return 0
		}
		return from + n
	}
	switch {
	case s[0] == '?' && x.question:
		if x.numberedQuestion {
			return 1 + span(s[1:], isDigit)
		}
		return 1
	case s[0] == '$' && x.dollarNames:
		return name(1) // the name may begin with digits: $1a is one name
	case s[0] == '$' && x.dollar:
		if n := span(s[1:], isDigit); n > 0 {
			return 1 + n
		}
	case s[0] == ':' && x.colon, s[0] == '@' && x.at && !strings.HasPrefix(s, "@@"):
		return name(1)
	}
	return 0
}
