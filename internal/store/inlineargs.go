package store

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// written returns a statement of MySQL or MariaDB with its arguments in its text, so that
// it is one packet with each setting of interpolateParams in the DSN; the arguments are
// then nil. A statement with an argument that is neither an integer nor a text, or with a
// question mark in a name, stays as it is.
//
// A text is in a form that means the same under every sql_mode and character set:
// between quotes where it is of printable ASCII without quote and backslash, else
// as the hexadecimal digits of its UTF-8.
func written(query string, args []any) (string, []any) {
	if len(args) == 0 || strings.Count(query, "?") != len(args) {
		return query, args
	}
	var b strings.Builder
	rest := query
	for _, arg := range args {
		before, after, _ := strings.Cut(rest, "?")
		b.WriteString(before)
		switch v := arg.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case uint64:
			b.WriteString(strconv.FormatUint(v, 10))
		case string:
			writeText(&b, v)
		case nil:
			b.WriteString("NULL")
		default:
			return query, args
		}
		rest = after
	}
	b.WriteString(rest)
	return b.String(), nil
}

func writeText(b *strings.Builder, text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
			b.WriteString("_utf8mb4 X'")
			b.WriteString(hex.EncodeToString([]byte(text)))
			b.WriteByte('\'')
			return
		}
	}
	b.WriteByte('\'')
	b.WriteString(text)
	b.WriteByte('\'')
}
