package words

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// SoleTable returns the table that a text inserts into, as the text has its name, where
// the first words alone tell that it inserts into no other one: INSERT INTO name, and no
// word in the rest that can begin another form of INSERT. Most texts of programs are
// so. It is false for any other text, which has to be compiled.
//
// The answer holds under all settings of a session. It allocates nothing.
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
		return "", false // a schema's name, or whatever a comment hides
	case isOneOf(name, d.Grammar.QueryTargets), isOneOf(name, d.Grammar.FunctionTargets), HasVerb(d, rest):
		return "", false
	}
	return name, true
}

// whiteSpace is what every engine takes for it.
const whiteSpace = " \t\r\n"

// word returns what is behind a word and the white space that follows it.
func word(text, want string) (rest string, ok bool) {
	if len(text) <= len(want) || !scan.EqualWord(text[:len(want)], want) {
		return "", false
	}
	rest = strings.TrimLeft(text[len(want):], whiteSpace)
	return rest, len(rest) < len(text)-len(want)
}

// isPlainLetter reports whether every engine takes a byte for part of a name.
func isPlainLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || scan.IsDigit(c) || c == '_' }

// isOneOf reports whether a word is one of the keywords, in any case.
func isOneOf(word string, keywords []string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { return strings.EqualFold(k, word) })
}
