// Package wordplaces returns the places in an INSERT at which a test may insert a word that
// keyfill does not know. Tests insert words into INSERTs, and check that no such word
// changes what is stored.
package wordplaces

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// clauseWords are the words that begin or continue a clause of an INSERT.
var clauseWords = map[string]bool{
	"values": true, "on": true, "conflict": true, "duplicate": true, "key": true, "do": true, "nothing": true, "returning": true,
	"return": true, "constraint": true, "update": true, "default": true, "overriding": true, "option": true, "output": true, "log": true,
}

// With returns a text with a word at an offset.
func With(text string, offset int, word string) string {
	return text[:offset] + " " + word + " " + text[offset:]
}

// IsInsert reports whether the first word of a text begins an INSERT.
func IsInsert(d *dialect.Dialect, text string) bool {
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(d, text, at)
		if kind != scan.Space && kind != scan.Comment {
			word := text[at:end]
			return strings.EqualFold(word, "insert") && !strings.HasPrefix(strings.ToLower(text[end:]), " bulk") || strings.EqualFold(word, "replace")
		}
		at = end
	}
	return false
}

// OfClauses returns the offsets before and after each word of the clauses of an INSERT, and
// after its rows. Expressions are left out, and ON after a query, where it may begin a
// join's condition.
func OfClauses(d *dialect.Dialect, insert string) (offsets []int) {
	depth, expression, query, last, on := 0, false, false, 0, false
	for start, end := 0, 0; start < len(insert); start = end {
		var kind scan.Kind
		kind, end = scan.NextToken(d, insert, start)
		text := insert[start:end]
		word := strings.ToLower(text)
		upsert := on && (word == "conflict" || word == "duplicate") && !strings.HasPrefix(insert[end:], ".")
		switch {
		case kind == scan.Space, kind == scan.Comment:
			continue
		case text == "(":
			depth++
		case text == ")":
			depth--
		case depth > 0, text == ";":
		case word == "set", word == "where", word == "select", word == "with", word == "as", word == "order", word == "limit", word == "fetch":
			expression, query = true, query || word == "select"
		case clauseWords[word] && (!expression || upsert || word == "on" && !query):
			if !expression && (d.Name != "oracle" || word != "values") { // an alias
				offsets = append(offsets, start)
			}
			expression = word == "update" || word == "returning" || word == "return" || word == "output"
			if !expression {
				offsets = append(offsets, end)
			}
		}
		on = word == "on"
		if text != ";" {
			last = end
		}
	}
	if !expression && depth == 0 {
		offsets = append(offsets, last)
	}
	return offsets
}

// Between returns the offsets of a text between two of its words and marks.
func Between(text string) (offsets []int) {
	quote := byte(0)
	for i := range len(text) {
		c := text[i]
		together := i > 0 && inWord(text[i-1]) && inWord(c) && !strings.HasPrefix(text[i:], "::")
		if quote == 0 && i > 0 && text[i-1] != ' ' && !together {
			offsets = append(offsets, i)
		}
		switch {
		case quote == c:
			quote = 0
		case quote == 0 && strings.IndexByte("'\"`", c) >= 0:
			quote = c
		}
	}
	return append(offsets, len(text))
}

// inWord reports whether a byte may stand in a word, a number, a placeholder or a cast.
func inWord(c byte) bool {
	return c >= 0x80 || strings.IndexByte("_$?:@.", c) >= 0 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
