package words

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// SoleTable returns the name, as written, of the only table that a text inserts into. The
// text must begin with INSERT INTO name, and the rest must have no word that can begin
// another form of INSERT, as is usual in programs. ok is false for any other text, which
// has to be compiled.
//
// The result is the same under all settings of a session. SoleTable allocates nothing.
func SoleTable(d *dialect.Dialect, query string) (name string, ok bool) {
	rest, ok := word(query, "insert")
	if !ok {
		return "", false
	}
	if rest, ok = word(rest, "into"); !ok {
		return "", false
	}
	n := 0
	for n < len(rest) && isPlainLetter(rest[n]) {
		n++
	}
	name, rest = rest[:n], rest[n:]
	behind := strings.TrimLeft(rest, whiteSpace)
	switch {
	case n == 0, scan.IsDigit(name[0]), behind == "":
		return "", false
	case behind[0] != '(' && (len(behind) == len(rest) || !isPlainLetter(behind[0])):
		return "", false // the name has a schema, or a comment follows it
	case isOneOf(name, d.Grammar.QueryTargets), isOneOf(name, d.Grammar.FunctionTargets), HasVerb(d, rest):
		return "", false
	}
	return name, true
}

// whiteSpace holds the bytes that are white space in every engine.
const whiteSpace = " \t\r\n"

// word returns the text after the word want and the white space after it. ok is false if
// text does not begin with the word and white space.
func word(text, want string) (rest string, ok bool) {
	if len(text) <= len(want) || !scan.EqualWord(text[:len(want)], want) {
		return "", false
	}
	rest = strings.TrimLeft(text[len(want):], whiteSpace)
	return rest, len(rest) < len(text)-len(want)
}

// isPlainLetter reports whether a byte may be part of a name in every engine: an ASCII
// letter, a digit or an underscore.
func isPlainLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || scan.IsDigit(c) || c == '_' }

// isOneOf reports whether a word is one of the keywords, in any case.
func isOneOf(word string, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { return strings.EqualFold(k, word) })
}
