package session

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// single returns the first word of a text that is a single statement, and the rest of the
// text. Both are empty if there may be more statements.
func single(d *dialect.Dialect, query string) (word, rest string) {
	if d.Grammar.NoSemicolon {
		return "", "" // in Transact-SQL another statement may follow without a semicolon
	}
	query = strings.TrimRight(withoutComments(d, query), "; \t\r\n")
	if strings.Contains(query, ";") {
		return "", ""
	}
	n := strings.IndexFunc(query, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' })
	if n < 0 {
		return "", ""
	}
	return query[:n], query[n:]
}

// isAny reports whether a word of a text is one of the keywords.
func isAny(word string, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { return strings.EqualFold(word, k) })
}

// withoutComments returns a text without the white space and comments at its beginning. It
// returns an empty text after a comment with a !, which the engine may run.
func withoutComments(d *dialect.Dialect, query string) string {
	for {
		query = strings.TrimLeft(query, " \t\r\n")
		n := 0
		switch {
		case strings.HasPrefix(query, "--"):
			ends := "\n"
			if d.Lexis.ReturnEndsLine {
				ends = "\r\n"
			}
			n = strings.IndexAny(query, ends) + 1
		case strings.HasPrefix(query, "/*"):
			n = commentEnd(d, query)
		default:
			return query
		}
		if n == 0 || strings.Contains(query[:n], "!") {
			return ""
		}
		query = query[n:]
	}
}

// commentEnd returns the offset after the comment that a text begins with; zero if the
// comment has no end.
func commentEnd(d *dialect.Dialect, query string) int {
	depth := 0
	for i := 0; i+1 < len(query); i++ {
		switch query[i : i+2] {
		case "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		case "/*":
			if depth == 0 || d.Lexis.NestedComments {
				depth++
			}
			i++
		}
	}
	return 0
}

// IsRead reports whether a text is one statement that only reads, or sets something for the
// session. It is false if that is not certain. It does not see changes by a function that a
// query calls, which belong to the query's transaction.
func IsRead(d *dialect.Dialect, query string) bool {
	word, rest := single(d, strings.TrimLeft(withoutComments(d, query), "( \t\r\n"))
	switch {
	case containsFold(rest, "into"), strings.Contains(rest, "/*!"), strings.Contains(rest, "/*M!"):
		return false
	case isAny(word, "set"):
		second, behind := single(d, rest)
		// On MariaDB, SET STATEMENT … FOR executes another statement; SET statement_timeout does
		// not.
		return !isAny(second, "statement") || strings.HasPrefix(behind, "_")
	case isAny(word, "with", "explain"):
		return !slices.ContainsFunc([]string{"insert", "update", "delete", "merge", "replace"}, func(w string) bool { return containsFold(rest, w) })
	}
	return isAny(word, "select", "values", "table", "show", "savepoint", "release", "rollback")
}
