package reader

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// Column reads one column of a column list. If the dialect allows it, the table's name may
// precede the column's; else fields or subscripts may follow it. plain is false if fields
// or subscripts follow.
func (p *Reader) Column() (folded string, plain bool, reason rewrite.Reason) {
	fields := p.Dialect.Grammar.FieldTargets
	plain = true
	for p.Dialect.Grammar.OmittedParts && p.IsPunct('.') {
		p.Advance()
	}
	for first := true; ; first = false {
		part, k, ok := p.Ident()
		switch {
		case !ok:
			return "", false, p.Grammar()
		case k == scan.String && !p.Dialect.Grammar.StringNames:
			return "", false, rewrite.ErrDoubleQuotes
		case first || !fields:
			folded = part
		}
		for fields && p.IsPunct('[') {
			plain = false
			if !p.Balanced('[', ']') {
				return "", false, p.Grammar()
			}
		}
		if !p.IsPunct('.') {
			return folded, plain, ""
		}
		plain = plain && !fields
		for p.IsPunct('.') {
			p.Advance()
		}
	}
}

// Names reads a list of columns in brackets, and returns their names. It skips everything
// else, such as the user variables of LOAD DATA.
func (p *Reader) Names() []string {
	if !p.AcceptPunct('(') {
		return nil
	}
	var names []string
	for !p.AtEnd() && !p.IsPunct(')') {
		name, _, ok := p.Ident()
		if !ok {
			p.Advance()
			continue
		}
		names = append(names, name)
	}
	p.AcceptPunct(')')
	return names
}

// Name is the name of a table in a text.
type Name struct {
	Schema, Table string // folded
	Start, End    int
	Quoted        scan.Kind // the kind of the last part: a word, a quoted name or a string

	database string // the part before the schema, folded
	remote   bool   // whether another part precedes database
}

// TableName reads a qualified name: parts with points between them. SQL Server allows empty
// parts (db..t). TableName reports false if there is no name.
func (p *Reader) TableName() (Name, bool) {
	n := Name{Start: p.Token.Start}
	for p.Dialect.Grammar.OmittedParts && p.IsPunct('.') {
		p.Advance()
	}
	for {
		at := p.Token.Start
		part, k, ok := p.Ident()
		if !ok {
			return n, false
		}
		if p.Dialect.ExactTables {
			part = p.Exact(p.Text[at:p.PrevEnd], k)
		}
		n.Further(part)
		n.Quoted = k
		if n.End = p.PrevEnd; !p.IsPunct('.') {
			if p.Dialect.Grammar.SessionNames != "" && part != "" && part[0] == '#' {
				n.Schema, n.database = "", "" // the server ignores the parts before #t: tempdb..#t
			}
			return n, true
		}
		for p.Advance(); p.IsPunct('.'); p.Advance() {
			n.Further("")
		}
	}
}

// Outside returns the database part of the name. If the name has a server part too, a zero
// byte precedes the database, as in no database's name.
func (n *Name) Outside() string {
	if n.remote {
		return "\x00" + n.database
	}
	return n.database
}

// Further appends a part to the name: the table so far becomes the schema, and the schema
// the database.
func (n *Name) Further(part string) {
	n.remote = n.remote || n.database != ""
	n.database = n.Schema
	n.Schema, n.Table = n.Table, part
}

// Ident reads an identifier and returns its folded name, in the case in which the engine
// compares names. A string is an identifier if the dialect allows it, or if it is in double
// quotes, since another setting may make it one.
func (p *Reader) Ident() (folded string, k scan.Kind, ok bool) {
	t := p.Token
	text := p.TextOf(t)
	switch t.Kind {
	case scan.Word, scan.Quoted:
	case scan.String:
		if text[0] != '"' && (text[0] != '\'' || !p.Dialect.Grammar.StringNames) {
			return "", t.Kind, false
		}
	default:
		return "", t.Kind, false
	}
	p.Advance()
	escape := byte('\\')
	if p.Dialect.Lexis.UnicodeStrings && t.Kind == scan.Quoted && text[0] != '"' && p.IsWord("uescape") {
		p.Advance()
		if c := p.TextOf(p.Token); p.Token.Kind != scan.String || len(c) != 3 {
			return "", t.Kind, false
		} else {
			escape = c[1]
		}
		p.Advance()
	}
	return p.Fold(text, t.Kind, escape), t.Kind, true
}

// Folded returns the name of an identifier in the case in which the engine compares names.
func (p *Reader) Folded(t scan.Token) string { return p.Fold(p.TextOf(t), t.Kind, '\\') }

// Folds reports whether an identifier has the name folded, which is in the case in which
// the engine compares names.
func (p *Reader) Folds(t scan.Token, folded string) bool {
	if t.Kind == scan.Word {
		return p.Dialect.Folds(p.TextOf(t), false, folded)
	}
	return p.Folded(t) == folded
}

// Fold returns the folded name of an identifier, given its text and kind. escape is the
// escape character of a name with Unicode escapes.
func (p *Reader) Fold(text string, k scan.Kind, escape byte) string {
	if k == scan.Word {
		return p.Dialect.Fold(text, false)
	}
	return p.Dialect.Fold(p.Unquoted(text, escape), true)
}

// Exact returns a name without its quotes, in the case as written.
func (p *Reader) Exact(text string, k scan.Kind) string {
	if k == scan.Word {
		return text
	}
	return p.Unquoted(text, '\\')
}

// IsTable reports whether an identifier is the name of a table or schema. name is as
// [Reader.TableName] returns it.
func (p *Reader) IsTable(t scan.Token, name string) bool {
	if p.Dialect.ExactTables {
		return p.Exact(p.TextOf(t), t.Kind) == name
	}
	return p.Folds(t, name)
}

// Unquoted returns the name between the quotes of a text, with its escapes resolved.
func (p *Reader) Unquoted(text string, escape byte) string {
	escaped := text[0]|0x20 == 'u'
	if escaped {
		text = text[2:]
	}
	if len(text) < 2 {
		return text
	}
	q := text[len(text)-1:]
	inner := text[1 : len(text)-1]
	if (q != "]" || p.Dialect.Lexis.BracketsDouble) && strings.Contains(inner, q) {
		inner = strings.ReplaceAll(inner, q+q, q)
	}
	if escaped {
		inner = decodeUnicode(inner, escape)
	}
	return inner
}

// decodeUnicode resolves \XXXX and \+XXXXXX, in which escape replaces the backslash:
// PostgreSQL 18, section 4.1.2.3.
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

// unicodeEscape returns the character of the escape that s begins with, and the length of
// the escape in bytes; zero if s begins with no escape.
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

// NameHere reads the name that begins at the current token, and returns its folded parts.
func (p *Reader) NameHere() (name []string) {
	for p.Token.Kind == scan.Word || p.Token.Kind == scan.Quoted {
		name = append(name, p.Folded(p.Token))
		if p.Advance(); !p.AcceptPunct('.') {
			break
		}
	}
	return name
}

// NameIn returns the folded parts of the name that is in the current token, a string.
func (p *Reader) NameIn() []string {
	text := p.TextOf(p.Token)
	text = text[strings.IndexByte(text, '\'')+1:]
	q := New(p.Dialect, strings.TrimSuffix(text, "'"))
	return q.NameHere()
}

// IsVariable reports whether the current token names a variable of the server:
// x, `x`, @@x or @@session.x.
func (p *Reader) IsVariable(name string) bool {
	text := p.TextOf(p.Token)
	if len(text) < len(name) {
		return false
	}
	switch p.Token.Kind {
	case scan.Variable:
		if !strings.HasPrefix(text, "@@") {
			return false
		}
		text = text[max(2, strings.LastIndexByte(text, '.')+1):]
	case scan.Word, scan.Quoted:
	default:
		return false
	}
	for text != "" && strings.IndexByte("`\"'", text[0]) >= 0 {
		text = text[1:]
	}
	for text != "" && strings.IndexByte("`\"'", text[len(text)-1]) >= 0 {
		text = text[:len(text)-1]
	}
	return scan.EqualWord(text, name)
}
