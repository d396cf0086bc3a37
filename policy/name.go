package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/glob"
)

// maxName is how many characters one part of a name may have. The longest name that an
// engine takes has 128 (SQL Server, Oracle); SQLite sets no limit.
const maxName = 255

// namer reads names, of tables unless a method says otherwise, in the syntax of a dialect:
//
//	name = part { "." part }
//	part = open { any character, close doubled } close    exact
//	     | { letter | digit | "_" | other of the dialect's
//	       | any character from U+0080 on | "*" | "?" }   folded
//
// Deliberate difference: a part without quotes may begin with a digit, since
// some engines allow it, and it cannot be mistaken for anything else here.
type namer struct{ d *dialect.Dialect }

// parse returns the parts of name, at least one, folded as the engine compares names.
// If name is wrong, msg describes the mistake.
func (n namer) parse(name string) (parts []glob.Pattern, msg string) {
	for rest := name; ; {
		var p glob.Pattern
		if p, rest, msg = n.part(rest); msg != "" {
			return nil, msg
		}
		parts = append(parts, p)
		if rest == "" {
			return parts, ""
		}
		if rest[0] != '.' {
			return nil, "text follows the closing quote; put a dot between the parts"
		}
		rest = rest[1:]
	}
}

// single returns the folded form of a name of one part without wildcards, such as a
// column's.
func (n namer) single(name string) (folded, msg string) {
	parts, msg := n.parse(name)
	switch {
	case msg != "":
		return "", msg
	case len(parts) > 1:
		return "", "a dot is only read inside quotes: write " + n.hint(name)
	case parts[0].Wild:
		return "", "* and ? stand for other characters only in the names of tables; write " + n.hint(name)
	}
	if n.d.ExactTables {
		return n.d.Fold(parts[0].Text, true), "" // columns' names are folded even if tables' names are not
	}
	return parts[0].Text, ""
}

// part reads the first part of name, and returns the rest.
func (n namer) part(name string) (p glob.Pattern, rest, msg string) {
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
			p.Wild = true
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
	p.Text = n.d.FoldTable(raw, false)
	return p, rest, ""
}

// quoted reads the part between the quote with which name begins and the closing quote, end.
func (n namer) quoted(name string, end byte) (p glob.Pattern, rest, msg string) {
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
			p.Text = n.d.FoldTable(b.String(), true)
			return p, name[i+1:], ""
		}
	}
	return p, "", fmt.Sprintf("the closing %c is missing", end)
}

// closing returns the character that closes a quoted name after open, or 0 if open is
// no quote.
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

// isSessions reports whether a table of this name belongs to a single session, as #t does.
func (n namer) isSessions(table string) bool {
	return table != "" && strings.IndexByte(n.d.Grammar.SessionNames, table[0]) >= 0
}

// hint returns the spelling with which name is read exactly in a file, for the end of a
// message.
func (n namer) hint(name string) string {
	if show(name) == hidden || strings.Contains(name, "'") {
		name = "name"
	}
	return "'" + n.d.QuoteIdent(name) + "'"
}

// join returns the folded parts as one name, for reports and as the name of a state
// (counter). Parts with a dot or a quote, which could be misread, are quoted.
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

// suitName checks a name of one or more parts, which is at p.
func (n namer) suitName(m *mistakes, p place, name string) {
	parts, msg := n.parse(name)
	if msg == "" && slices.ContainsFunc(parts, func(part glob.Pattern) bool { return part.Wild }) {
		msg = "* and ? stand for other characters only in the names of tables; write " + n.hint(name)
	}
	if msg != "" {
		m.wrong(p, "%s", msg)
	}
}

// suitColumn is suitName for the name of a column. It returns the folded name.
func (n namer) suitColumn(m *mistakes, p place, name string) string {
	folded, msg := n.single(name)
	if msg != "" {
		m.wrong(p, "%s", msg)
	}
	return folded
}

// tableName is the folded name of a table. schema is empty if the name has none.
type tableName struct{ schema, table string }
