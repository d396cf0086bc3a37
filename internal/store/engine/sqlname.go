package engine

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// SplitName returns the parts of a name that is written in SQL, without their
// quotes and as the catalog of the engine has them; nil where it is no name.
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

// namePart returns the first part of a name, empty if there is none, and the rest.
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

// quotedPart returns a name up to its closing quote. Two closing quotes stand
// for one character of the name.
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

// isNameByte reports whether a byte may stand in a name without quotes. If an engine does
// not allow it, the engine refuses it.
func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c == '#' || c >= 0x80 ||
		'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
