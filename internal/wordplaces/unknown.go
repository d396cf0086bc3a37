package wordplaces

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Tests insert these into texts, and check that no text with an unknown word counts as
// harmless.
const (
	unknownCall = "kfunknown(1)"
	unknownWord = "kfunknown"
)

// UnknownCalls returns one text for each literal of a text, with a call of an unknown
// function instead of the literal. It replaces no literal that may be a quoted name, and
// none in a statement that begins with CREATE, since only later statements call a function
// in a DEFAULT.
func UnknownCalls(d *dialect.Dialect, text string) (texts []string) {
	begins, creates := true, false
	for start, end := 0, 0; start < len(text); start = end {
		var kind scan.Kind
		kind, end = scan.NextToken(d, text, start)
		number := kind.IsOther() && (isDigit(text[start]) || text[start] == '.' && end > start+1)
		switch {
		case kind == scan.Space, kind == scan.Comment:
			continue
		case begins:
			creates = strings.EqualFold(text[start:end], "create")
		case !creates && (number || kind == scan.String && text[start] != '"'):
			texts = append(texts, text[:start]+unknownCall+text[end:])
		}
		begins = text[start:end] == ";"
	}
	return texts
}

// UnknownStatements returns one text for each statement of a text, with an unknown word
// instead of the statement's first one. On SQL Server it returns one text, since a word
// that is not the first of a batch may continue the statement before it. It replaces no
// word of a definition, whose statements do not run with the text.
func UnknownStatements(d *dialect.Dialect, text string) (texts []string) {
	begins := true
	for start, end := 0, 0; start < len(text); start = end {
		var kind scan.Kind
		kind, end = scan.NextToken(d, text, start)
		word := text[start:end]
		switch {
		case kind == scan.Space, kind == scan.Comment:
			continue
		case strings.EqualFold(word, "create") && begins:
			return texts
		case kind == scan.Word && begins:
			texts = append(texts, text[:start]+unknownWord+text[end:])
		}
		if begins = word == ";"; d.Grammar.NoSemicolon && !begins {
			return texts
		}
	}
	return texts
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
