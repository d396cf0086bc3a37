package engine

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// SplitName returns the parts of a name that is written in SQL, without quotes and in
// the case in which the catalog of the engine stores them. It returns nil if the text
// is not a name.
func SplitName(d *dialect.Dialect, name string) []string {
	var parts []string
	for {
		part, rest := namePart(d, name)
		if part == "" {
			return nil
		}
		parts = append(parts, part)
		if rest == "" {
			return parts
		}
		if rest[0] != '.' {
			return nil
		}
		name = rest[1:]
	}
}

// namePart returns the first part of a name, and the rest of the name; part is empty if
// there is no first part.
func namePart(d *dialect.Dialect, name string) (part, rest string) {
	if name == "" {
		return "", ""
	}
	end := byte(0)
	switch c := name[0]; {
	case c == '"' && !d.Lexis.DoubleQuotedStrings, c == '`' && d.Lexis.Backticks:
		end = c
	case c == '[' && d.Lexis.Brackets:
		end = ']'
	}
	if end != 0 {
		return quotedPart(name[1:], end)
	}
	i := 0
	for i < len(name) && isNameByte(name[i]) {
		i++
	}
	if i == 0 || '0' <= name[0] && name[0] <= '9' && !d.Lexis.DigitIdents {
		return "", ""
	}
	part = name[:i]
	if d.Folding != dialect.FoldCase {
		part = d.Fold(part, false)
	}
	return part, name[i:]
}

// quotedPart returns the part of name before the closing quote end, and the rest. Two
// closing quotes in a row stand for one character of the name.
func quotedPart(name string, end byte) (part, rest string) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] != end:
			b.WriteByte(name[i])
		case i+1 < len(name) && name[i+1] == end:
			b.WriteByte(end)
			i++
		default:
			return b.String(), name[i+1:]
		}
	}
	return "", ""
}

// isNameByte reports whether a byte may be part of a name without quotes. It accepts
// more bytes than some engines, which then refuse the name themselves.
func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c >= 0x80 ||
		'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
