package rewrite

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
)

// parser reads the statements of one text and collects what has to change.
type parser struct {
	scanner
	lookup Lookup

	tok  token // the current token; white space and comments are left out
	prev int   // the end of the last token before it

	params     params // the caller's placeholders before tok
	statements int
	inserts    []Insert
	edits      []edit
	slots      []slot
	refusal    *Refusal
}

// Compile returns the plan for a query. Equal queries give equal plans.
func Compile(d *dialect.Dialect, lookup Lookup, query string) *Plan {
	p := &parser{scanner: scanner{d: d, q: query}, lookup: lookup}
	p.read()
	for p.tok.kind != tokEnd {
		if p.isPunct(';') {
			p.advance()
			continue
		}
		p.statements++
		p.statement()
	}
	return p.plan()
}

// advance moves to the next token that is neither white space nor a comment.
func (p *parser) advance() {
	if p.tok.kind == tokParam {
		p.params.add(p.d, p.q[p.tok.start:p.tok.end])
	}
	p.prev = p.tok.end
	p.read()
}

func (p *parser) read() {
	for {
		p.tok = p.next()
		if p.tok.kind != tokSpace && p.tok.kind != tokComment {
			return
		}
	}
}

func (p *parser) text(t token) string { return p.q[t.start:t.end] }

func (p *parser) isPunct(c byte) bool {
	return p.tok.kind == tokPunct && p.q[p.tok.start] == c
}

func (p *parser) isWord(word string) bool {
	return p.tok.kind == tokWord && equalWord(p.text(p.tok), word)
}

// isAny reports whether the current token is one of the words.
func (p *parser) isAny(words ...string) bool {
	for _, w := range words {
		if p.isWord(w) {
			return true
		}
	}
	return false
}

// accept moves past the word if it is the current token.
func (p *parser) accept(word string) bool {
	if p.isWord(word) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) acceptPunct(c byte) bool {
	if p.isPunct(c) {
		p.advance()
		return true
	}
	return false
}

// atEnd reports whether the statement ends here.
func (p *parser) atEnd() bool { return p.tok.kind == tokEnd || p.isPunct(';') }

// refuse notes why the INSERT cannot be filled; the first reason in the text
// stands.
func (p *parser) refuse(t *Target, offset int, reason Reason) {
	if p.refusal == nil {
		p.refusal = &Refusal{Target: t, Table: t.Table, Column: t.Keys[0].Column, Offset: offset, Reason: reason}
	}
}

// statement reads one statement up to its semicolon.
func (p *parser) statement() {
	g := &p.d.Grammar
	switch {
	case p.tok.kind != tokWord:
		p.skip(ErrCTE)
	case p.isWord("insert"), g.Replace && p.isWord("replace"):
		p.insert()
	case p.isWord("with"):
		p.with()
	case g.Merge && p.isWord("merge"):
		p.merge()
	case g.Copy && p.isWord("copy"):
		p.copy()
	case g.Load && p.isWord("load"):
		p.load()
	case p.isWord("insertbulk"):
		p.insertBulk()
	case p.isWord("bulk"):
		p.skip(ErrBulk)
	case p.isAny("create", "alter", "drop", "grant", "revoke", "deny", "comment"):
		p.definition()
	case p.isAny("explain", "describe", "desc", "analyze"):
		p.skip(ErrExplain)
	case p.isWord("prepare"):
		p.skip(ErrPrepare)
	case p.isAny("begin", "declare", "if", "while"):
		p.skip(ErrBlock)
	case g.NoSemicolon:
		p.skip(ErrSeveral)
	default:
		p.skip(ErrCTE)
	}
}

// skip moves to the end of the statement. An INSERT into a configured table
// found on the way is refused for the reason.
func (p *parser) skip(reason Reason) {
	for !p.atEnd() {
		p.nested(reason)
		p.advance()
	}
}

// nested refuses an INSERT into a configured table that begins at the current
// token, or lies in a comment that the engine runs.
func (p *parser) nested(reason Reason) {
	switch {
	case p.tok.kind == tokExec:
		if t := p.hidden(p.tok); t != nil {
			p.refuse(t, p.tok.start, ErrExecutableComment)
		}
	case p.isWord("insert"), p.isWord("replace") && p.d.Grammar.Replace:
		q := *p
		if h := q.head(); h.target != nil {
			if p.statements > 1 && reason == ErrCTE {
				reason = ErrSeveral
			}
			p.refuse(h.target, p.tok.start, reason)
		}
	}
}

// hidden returns the configured table that an INSERT inside an executable
// comment may fill, nil where there is none.
func (p *parser) hidden(t token) *Target {
	inner := p.q[t.start+3 : t.end-2]
	if !Concerns(p.d, inner) {
		return nil
	}
	return p.mentioned(inner)
}

// mentioned returns the first configured table that text names anywhere.
func (p *parser) mentioned(text string) *Target {
	s := scanner{d: p.d, q: text}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		var name string
		switch t.kind {
		case tokWord, tokQuoted, tokString:
			name = p.d.Fold(p.unquote(text[t.start:t.end], t.kind))
		case tokExec:
			if found := p.mentioned(text[t.start+3 : t.end-2]); found != nil {
				return found
			}
			continue
		default:
			continue
		}
		if found := p.lookup("", name); found != nil {
			return found
		}
	}
	return nil
}

// with reads a statement that begins with WITH: its verb is the first one
// outside of brackets.
func (p *parser) with() {
	depth := 0
	for p.advance(); !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0 || p.tok.kind != tokWord:
			p.nested(ErrCTE)
		case p.isWord("insert"), p.isWord("replace") && p.d.Grammar.Replace:
			p.insert()
			return
		case p.isWord("merge") && p.d.Grammar.Merge:
			p.merge()
			return
		case p.isAny("select", "update", "delete", "values", "table"):
			p.skip(ErrCTE)
			return
		}
	}
}

// definition passes a statement that defines or permits something: the body of
// a routine or trigger is not executed now.
func (p *parser) definition() {
	routine, depth, body := false, 0, 0
	create := p.isAny("create", "alter")
	for words := 0; !(p.tok.kind == tokEnd || depth <= 0 && body <= 0 && p.isPunct(';')); words++ {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case p.tok.kind != tokWord:
		case create && words < 12 && p.isAny("procedure", "proc", "function", "trigger", "event", "package", "body", "rule"):
			routine = true
		case routine && p.isAny("begin", "case"):
			body++
		case routine && p.isWord("end"):
			body--
		}
		if p.d.Grammar.NoSemicolon && !routine {
			p.nested(ErrSeveral)
		}
		p.advance()
		if routine && p.d.Grammar.Blocks {
			// Where the body ends is for the engine to say; it is all of the
			// text in SQL Server and Oracle, and as good as always in MySQL.
			for p.tok.kind != tokEnd {
				p.advance()
			}
		}
	}
}

// name is a table's name as it stands in the text.
type name struct {
	schema, table string // folded
	start, end    int
	quoted        kind // how the last part is written
}

// tableName reads a qualified name: parts with points between them, which SQL
// Server may leave out (db..t). It reports false where there is none.
func (p *parser) tableName() (name, bool) {
	n := name{start: p.tok.start}
	for p.d.Grammar.OmittedParts && p.isPunct('.') {
		p.advance()
	}
	for {
		switch p.tok.kind {
		case tokWord, tokQuoted:
		case tokString:
			// SQLite takes a string for a name, MySQL under ANSI_QUOTES one in
			// double quotes.
			if !p.d.Grammar.StringNames && p.q[p.tok.start] != '"' {
				return n, false
			}
		default:
			return n, false
		}
		n.schema, n.table = n.table, p.d.Fold(p.unquote(p.text(p.tok), p.tok.kind))
		n.quoted = p.tok.kind
		p.advance()
		n.end = p.prev
		if !p.isPunct('.') {
			return n, true
		}
		for p.isPunct('.') {
			p.advance()
			if p.isPunct('.') {
				n.table = ""
			}
		}
	}
}

// unquote returns an identifier without its quotes, and whether it had any.
func (p *parser) unquote(text string, k kind) (string, bool) {
	if k != tokQuoted && k != tokString {
		return text, false
	}
	unicode := false
	if text[0]|0x20 == 'u' {
		unicode, text = true, text[2:]
	}
	if len(text) < 2 {
		return text, true
	}
	q := text[len(text)-1:]
	inner := text[1 : len(text)-1]
	if q != "]" || p.d.Lexis.BracketsDouble {
		if strings.Contains(inner, q) {
			inner = strings.ReplaceAll(inner, q+q, q)
		}
	}
	if unicode && strings.Contains(inner, `\`) {
		inner = decodeUnicode(inner)
	}
	return inner, true
}

// decodeUnicode resolves \XXXX and \+XXXXXX: PostgreSQL 18, section 4.1.2.3.
// The escape character is the default one.
func decodeUnicode(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		digits, skip := 4, 1
		if i+1 < len(s) && s[i+1] == '+' {
			digits, skip = 6, 2
		}
		if i+skip+digits <= len(s) {
			if r, err := strconv.ParseUint(s[i+skip:i+skip+digits], 16, 32); err == nil {
				b = utf8.AppendRune(b, rune(r))
				i += skip + digits - 1
				continue
			}
		}
		if i+1 < len(s) && s[i+1] == '\\' {
			i++
		}
		b = append(b, '\\')
	}
	return string(b)
}
