package rewrite

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// name is a table's name as it stands in the text.
type name struct {
	schema, table string // folded
	start, end    int
	quoted        kind // how the last part is written

	database string // what stands in front of the schema, folded
	remote   bool   // something stands in front of that
}

// tableName reads a qualified name: parts with points between them, which SQL
// Server may leave out (db..t). It reports false where there is none.
func (p *reader) tableName() (name, bool) {
	n := name{start: p.tok.start}
	for p.d.Grammar.OmittedParts && p.isPunct('.') {
		p.advance()
	}
	for {
		at := p.tok.start
		part, k, ok := p.ident()
		if !ok {
			return n, false
		}
		if p.d.ExactTables {
			part = p.exact(p.q[at:p.prev], k)
		}
		n.further(part)
		n.quoted = k
		if n.end = p.prev; !p.isPunct('.') {
			if p.d.Grammar.SessionNames != "" && part != "" && part[0] == '#' {
				n.schema, n.database = "", "" // they count for nothing: tempdb..#t
			}
			return n, true
		}
		for p.advance(); p.isPunct('.'); p.advance() {
			n.further("")
		}
	}
}

// outside returns the database of the name, with a sign that no name of one has
// where a server stands in front.
func (n *name) outside() string {
	if n.remote {
		return "\x00" + n.database
	}
	return n.database
}

// further adds a part to the name.
func (n *name) further(part string) {
	n.remote = n.remote || n.database != ""
	n.database = n.schema
	n.schema, n.table = n.table, part
}

// ident reads an identifier and returns it folded. A string is one where the
// dialect takes it for a name, or where it might: in double quotes.
func (p *reader) ident() (folded string, k kind, ok bool) {
	t := p.tok
	text := p.text(t)
	switch t.kind {
	case tokWord, tokQuoted:
	case tokString:
		if text[0] != '"' && (text[0] != '\'' || !p.d.Grammar.StringNames) {
			return "", t.kind, false
		}
	default:
		return "", t.kind, false
	}
	p.advance()
	escape := byte('\\')
	if p.d.Lexis.UnicodeStrings && t.kind == tokQuoted && text[0] != '"' && p.isWord("uescape") {
		p.advance()
		if c := p.text(p.tok); p.tok.kind != tokString || len(c) != 3 {
			return "", t.kind, false
		} else {
			escape = c[1]
		}
		p.advance()
	}
	return p.fold(text, t.kind, escape), t.kind, true
}

// folded returns the folded name of an identifier.
func (p *reader) folded(t token) string { return p.fold(p.text(t), t.kind, '\\') }

// folds reports whether an identifier has the folded name.
func (p *reader) folds(t token, folded string) bool {
	if t.kind == tokWord {
		return p.d.Folds(p.text(t), false, folded)
	}
	return p.folded(t) == folded
}

// fold returns the folded name of an identifier as it is written.
func (p *reader) fold(text string, k kind, escape byte) string {
	if k == tokWord {
		return p.d.Fold(text, false)
	}
	return p.d.Fold(p.unquoted(text, escape), true)
}

// exact returns a name as it is written, without its quotes.
func (p *reader) exact(text string, k kind) string {
	if k == tokWord {
		return text
	}
	return p.unquoted(text, '\\')
}

// isTable reports whether an identifier is the name of a table or schema, as
// tableName has it.
func (p *reader) isTable(t token, name string) bool {
	if p.d.ExactTables {
		return p.exact(p.text(t), t.kind) == name
	}
	return p.folds(t, name)
}

// unquoted returns what stands between quotes.
func (p *reader) unquoted(text string, escape byte) string {
	escaped := text[0]|0x20 == 'u'
	if escaped {
		text = text[2:]
	}
	if len(text) < 2 {
		return text
	}
	q := text[len(text)-1:]
	inner := text[1 : len(text)-1]
	if (q != "]" || p.d.Lexis.BracketsDouble) && strings.Contains(inner, q) {
		inner = strings.ReplaceAll(inner, q+q, q)
	}
	if escaped {
		inner = decodeUnicode(inner, escape)
	}
	return inner
}

// decodeUnicode resolves \XXXX and \+XXXXXX, where the backslash stands for
// the escape character: PostgreSQL 18, section 4.1.2.3.
func decodeUnicode(s string, escape byte) string {
	if strings.IndexByte(s, escape) < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		r, n := unicodeEscape(s[i:], escape)
		if n == 0 {
			b = append(b, s[i])
			i++
			continue
		}
		i += n
		if utf16.IsSurrogate(r) {
			low, m := unicodeEscape(s[i:], escape)
			r = utf16.DecodeRune(r, low)
			i += m
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// unicodeEscape returns the character of the escape that s begins with and the
// length of the escape, 0 where there is none.
func unicodeEscape(s string, escape byte) (rune, int) {
	if len(s) < 2 || s[0] != escape {
		return 0, 0
	}
	if s[1] == escape {
		return rune(escape), 2
	}
	from, to := 1, 5
	if s[1] == '+' {
		from, to = 2, 8
	}
	if len(s) < to {
		return 0, 0
	}
	r, err := strconv.ParseUint(s[from:to], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(r), to
}

// mentionLimit is how long a quoted name is that mentioned finds.
const mentionLimit = 512

// mentioned returns the first configured table whose name stands anywhere in
// the text, also in strings and comments; nil where there is none. It serves
// texts whose tokens are not certain.
func (p *parser) mentioned(text string) *Target {
	s := scanner{d: p.d, q: text}
	before := ""
	found := func(word string, k kind) *Target {
		n := p.fold(word, k, '\\')
		if p.d.ExactTables {
			n = p.exact(word, k)
		}
		t := p.lookup("", n)
		if t == nil {
			t = p.lookup(before, n)
		}
		before = n
		return t
	}
	for s.pos < len(text) {
		start := s.pos
		c := text[start]
		end := strings.IndexByte("\"`[", c)
		if end >= 0 {
			end = strings.IndexByte(text[start+1:min(len(text), start+mentionLimit)], "\"`]"[end])
		}
		s.pos++
		switch {
		case end >= 0:
			if t := found(text[start:start+end+2], tokQuoted); t != nil {
				return t
			}
		case s.isPart(c):
			if t := found(text[start:s.wordEnd()], tokWord); t != nil {
				return t
			}
		}
	}
	return nil
}
