package simdb

import (
	"strconv"
	"strings"
	"time"
)

// token is a word, a number, a text, a placeholder or a sign.
type token struct {
	kind byte // one of word, number, literal, placeholder, sign and end
	text string
}

const (
	word        byte = 'w' // a word or name, in lower case unless it is quoted
	number      byte = 'n'
	literal     byte = 't' // a quoted text, without its quotes
	placeholder byte = '?' // a placeholder, whose text is empty or a number
	sign        byte = 's'
	end         byte = 'e'
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' || c == '.' }

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// text reads a text in quotes, which begins at from, and returns the offset after it.
func text(query string, from int) (text string, end int) {
	for at := from + 1; ; {
		close := strings.IndexByte(query[at:], '\'')
		if close < 0 {
			panic("simdb: a text does not end in " + query)
		}
		text += query[at : at+close]
		if at += close + 1; at >= len(query) || query[at] != '\'' {
			return text, at
		}
		text += "'"
		at++
	}
}

// literalOf returns the value of a text. A text that begins with 1970-01-01 becomes the
// time 0, which is before all other times.
func literalOf(text string) any {
	if strings.HasPrefix(text, "1970-01-01") {
		return time.Unix(0, 0).UTC()
	}
	return text
}

// arguments replaces the integers and texts of a statement by placeholders, and returns
// both.
func arguments(query string) (string, []any) {
	var (
		b    strings.Builder
		args []any
		from int
	)
	for at := 0; at < len(query); {
		begin := at
		switch c := query[at]; {
		case c == '\'':
			var one string
			one, at = text(query, at)
			args = append(args, literalOf(one))
		case c >= '0' && c <= '9':
			for at < len(query) && isDigit(query[at]) {
				at++
			}
			n, err := strconv.ParseInt(query[begin:at], 10, 64)
			if err != nil {
				panic(err)
			}
			args = append(args, n)
		case isWord(c):
			for at < len(query) && isWord(query[at]) {
				at++
			}
			continue
		default:
			at++
			continue
		}
		b.WriteString(query[from:begin])
		b.WriteByte('?')
		from = at
	}
	b.WriteString(query[from:])
	return b.String(), args
}

// lex splits a statement into tokens.
func lex(query string) (all []token) {
	// while returns the end of the bytes from from on that satisfy is.
	while := func(from int, is func(byte) bool) int {
		for from < len(query) && is(query[from]) {
			from++
		}
		return from
	}
	for at := 0; at < len(query); {
		c, from := query[at], at
		switch {
		case c == ' ' || c == '\n' || c == '\t':
			at++
		case strings.HasPrefix(query[at:], "/*"):
			at += strings.Index(query[at:], "*/") + len("*/")
		case c == '\'' || c == 'E' && strings.HasPrefix(query[at:], "E'"):
			var one string
			one, at = text(query, at+strings.IndexByte(query[at:], '\''))
			all = append(all, token{literal, one})
		case c == '"' || c == '`':
			close := strings.IndexByte(query[at+1:], c)
			all = append(all, token{word, query[at+1 : at+1+close]})
			at += close + 2
		case c == '?' || c == '$':
			at = while(at+1, isDigit)
			all = append(all, token{placeholder, query[from+1 : at]})
		case isDigit(c) && c != '.':
			at = while(at, isDigit)
			all = append(all, token{number, query[from:at]})
		case isWord(c):
			at = while(at, isWord)
			all = append(all, token{word, strings.ToLower(query[from:at])})
		default:
			at++
			if at < len(query) {
				switch query[from : at+1] {
				case "<=", ">=", "<>", "||", "::":
					at++
				}
			}
			all = append(all, token{sign, query[from:at]})
		}
	}
	return append(all, token{kind: end})
}
