package store

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// written writes the arguments of a statement of MySQL or MariaDB into its text, and
// returns the text and nil, so that the statement is one packet, whatever
// interpolateParams in the DSN is. It returns the statement unchanged if an argument is
// neither an integer nor a text, or if a name contains a question mark.
//
// A text argument is written in a form that means the same under every sql_mode and
// character set: in quotes if it is printable ASCII without quotes and backslashes,
// otherwise as the hexadecimal digits of its UTF-8.
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
