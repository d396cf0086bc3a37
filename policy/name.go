package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
)

// maxName is how many characters one part of a name may have. The longest name that an
// engine takes has 128 (SQL Server, Oracle); SQLite sets no limit.
const maxName = 255

// namer reads names, of tables unless it is said otherwise, as a dialect writes them:
//
//	name = part { "." part }
//	part = open { any character, close doubled } close    exact
//	     | { letter | digit | "_" | other of the dialect's
//	       | any character from U+0080 on | "*" | "?" }   folded
//
// Deliberate difference: a part without quotes may begin with a digit, since
// some engines allow it, and it cannot be mistaken for anything else here.
type namer struct{ d *dialect.Dialect }

// parse returns the folded parts of name, at least one; msg names the mistake
// with it.
func (n namer) parse(name string) (parts []pattern, msg string) {
	for rest := name; ; {
		var p pattern
		if p, rest, msg = n.part(rest); msg != "" {
			return nil, msg
		}
		parts = append(parts, p)
		if rest == "" {
			return parts, ""
		}
		if rest[0] != '.' {
			return nil, "something follows the closing quote; put a dot between the parts"
		}
		rest = rest[1:]
	}
}

// single returns the folded form of a name of one part without wildcards.
func (n namer) single(name string) (folded, msg string) {
	parts, msg := n.parse(name)
	switch {
	case msg != "":
		return "", msg
	case len(parts) > 1:
		return "", "a dot is only read inside quotes: write " + n.hint(name)
	case parts[0].wild:
		return "", "* and ? stand for other characters in tables' names only; write " + n.hint(name)
	}
	if n.d.ExactTables {
		return n.d.Fold(parts[0].text, true), "" // no table has it
	}
	return parts[0].text, ""
}

// part reads the part that name begins with.
func (n namer) part(name string) (p pattern, rest, msg string) {
	if name == "" {
		return p, "", "a part of the name is empty; give it a name, or leave its dot out"
	}
	if end := n.closing(name[0]); end != 0 {
		return n.quoted(name, end)
	}
	raw := name
	if i := strings.IndexByte(name, '.'); i >= 0 {
		raw, rest = name[:i], name[i:]
	}
	if raw == "" {
		return p, "", "a part of the name is empty; give it a name, or leave its dot out"
	}
	for _, c := range raw {
		switch {
		case n.isIdent(c):
		case c == '*' || c == '?':
			p.wild = true
		case strings.ContainsRune("\"`[", c):
			return p, "", fmt.Sprintf("%s does not quote names with %c; write %s",
				n.d.Title, c, n.d.QuoteIdent("name"))
		default:
			return p, "", fmt.Sprintf("%q is only read inside quotes: write %s", string(c), n.hint(raw))
		}
	}
	if utf8.RuneCountInString(raw) > maxName {
		return p, "", fmt.Sprintf("a part of the name has more than %d characters", maxName)
	}
	p.text = n.d.FoldTable(raw, false)
	return p, rest, ""
}

// quoted reads the part between a quote, which name begins with, and end.
func (n namer) quoted(name string, end byte) (p pattern, rest, msg string) {
	doubles := end != ']' || n.d.Lexis.BracketsDouble
	var b strings.Builder
	for i := 1; i < len(name); i++ {
		switch {
		case name[i] != end:
			b.WriteByte(name[i])
		case doubles && i+1 < len(name) && name[i+1] == end:
			b.WriteByte(end)
			i++
		case b.Len() == 0:
			return p, "", "a part of the name is empty; give it a name, or leave its dot out"
		case utf8.RuneCountInString(b.String()) > maxName:
			return p, "", fmt.Sprintf("a part of the name has more than %d characters", maxName)
		default:
			p.text = n.d.FoldTable(b.String(), true)
			return p, name[i+1:], ""
		}
	}
	return p, "", fmt.Sprintf("the closing %c is missing", end)
}

// closing returns the character that closes a name which open opens, or 0.
func (n namer) closing(open byte) byte {
	switch l := &n.d.Lexis; {
	case open == '"' && !l.DoubleQuotedStrings, open == '`' && l.Backticks:
		return open
	case open == '[' && l.Brackets:
		return ']'
	}
	return 0
}

// isIdent reports whether an identifier without quotes may contain c.
func (n namer) isIdent(c rune) bool {
	switch {
	case c >= utf8.RuneSelf:
		return !unicode.IsSpace(c) && !unicode.IsControl(c)
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
		return true
	}
	return strings.ContainsRune(n.d.Lexis.IdentPart, c)
}

// isSessions reports whether a table of the name is a session's own.
func (n namer) isSessions(table string) bool {
	return table != "" && strings.IndexByte(n.d.Grammar.SessionNames, table[0]) >= 0
}

// hint returns how to write name, exact, in a file.
func (n namer) hint(name string) string {
	if show(name) == hidden || strings.Contains(name, "'") {
		name = "name"
	}
	return "'" + n.d.QuoteIdent(name) + "'"
}

// join returns the folded parts as one name, for reports and as the name of a
// state. Parts that a dot or quote could confuse are in quotes.
func (n namer) join(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if strings.ContainsAny(p, ".\"`[]") {
			p = n.d.QuoteIdent(p)
		}
		b.WriteString(p)
	}
	return b.String()
}

// suitName checks a name of one or more parts, which stands at p.
func (n namer) suitName(m *mistakes, p place, name string) {
	parts, msg := n.parse(name)
	if msg == "" && slices.ContainsFunc(parts, func(part pattern) bool { return part.wild }) {
		msg = "* and ? stand for other characters in tables' names only; write " + n.hint(name)
	}
	if msg != "" {
		m.wrong(p, "%s", msg)
	}
}

// suitColumn is suitName for a column. It returns the folded name.
func (n namer) suitColumn(m *mistakes, p place, name string) string {
	folded, msg := n.single(name)
	if msg != "" {
		m.wrong(p, "%s", msg)
	}
	return folded
}

// tableName is a folded name; schema is empty for a bare one.
type tableName struct{ schema, table string }
