package dbconn

import (
	"database/sql/driver"
	"encoding/hex"
	"strconv"
	"strings"
)

// WriteDollar writes the arguments of a statement with PostgreSQL's placeholders ($1) into
// its text, and returns the text and nil: a driver that prepares each statement with
// arguments needs two round trips for it, but one for a text without arguments. It returns
// the statement unchanged if an argument is not an integer, a text or nil.
//
// A text means the same under every setting of the session. An integer is written between
// quotes, since the engine then finds its type as it does for an argument.
func WriteDollar(query string, args []any) (string, []any) { return write(query, args, true) }

// WriteASCII does what [WriteDollar] does, for MySQL's placeholders (?). It also returns the
// statement unchanged if a text is not ASCII, or if the statement has another number of
// question marks than of arguments. No literal in the statement may have a backslash before
// a quote.
func WriteASCII(query string, args []any) (string, []any) { return write(query, args, false) }

func write(query string, args []any, dollar bool) (string, []any) {
	if len(args) == 0 || !dollar && strings.Count(query, "?") != len(args) {
		return query, args
	}
	texts := make([]string, len(args))
	for i, arg := range args {
		if texts[i] = literal(arg, dollar); texts[i] == "" {
			return query, args
		}
	}
	var b strings.Builder
	var quote byte // the opening quote of the name or text that at is in; 0 outside of them
	for at, next := 0, 0; at < len(query); at++ {
		one := query[at]
		switch {
		case quote != 0 || one == '"' || one == '\'' || one == '`':
			if one == quote {
				quote = 0
			} else if quote == 0 {
				quote = one
			}
			b.WriteByte(one)
		case !dollar && one == '?':
			b.WriteString(texts[next])
			next++
		case dollar && one == '$':
			rest := query[at+1:]
			digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			n, err := strconv.Atoi(rest[:digits])
			if err != nil || n < 1 || n > len(args) {
				return query, args // the dollar sign does not begin a placeholder here
			}
			b.WriteString(texts[n-1])
			at += digits
		default:
			b.WriteByte(one)
		}
	}
	return b.String(), nil
}

// quoting escapes a text of PostgreSQL for E'…'.
var quoting = strings.NewReplacer(`\`, `\\`, "'", "''")

// literal returns an argument as a literal, or an empty text if it cannot be written as one.
func literal(arg any, dollar bool) string {
	v, err := driver.DefaultParameterConverter.ConvertValue(arg)
	if err != nil {
		return ""
	}
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		if dollar {
			return "'" + strconv.FormatInt(v, 10) + "'"
		}
		return strconv.FormatInt(v, 10)
	case string:
		if !dollar {
			return asciiLiteral(v)
		}
		if !strings.ContainsRune(v, 0) {
			return "E'" + quoting.Replace(v) + "'"
		}
	}
	return ""
}

// asciiLiteral returns a text as a literal of MySQL, or an empty text if it is not ASCII:
// the engine would read it in the session's character set, which the DSN may have chosen.
func asciiLiteral(v string) string {
	plain := true
	for i := range len(v) {
		switch b := v[i]; {
		case b >= 0x80:
			return ""
		case b < ' ' || b > '~' || b == '\'' || b == '\\':
			plain = false
		}
	}
	if plain {
		return "'" + v + "'"
	}
	return "_utf8mb4 X'" + hex.EncodeToString([]byte(v)) + "'"
}
