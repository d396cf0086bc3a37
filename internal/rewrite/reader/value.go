package reader

import (
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// MayInsert reports whether the current word may begin a form of INSERT inside another
// statement.
func (p *Reader) MayInsert() bool {
	g := &p.Dialect.Grammar
	return p.IsVerb() || g.Merge && p.IsWord("merge") || g.Output && p.IsWord("output")
}

// Value is one value of a row: a span of the text.
type Value struct {
	scan.Span
	Before int  // how many of the caller's placeholders precede the value
	Star   bool // whether the value ends with .* and stands for several values
	Inner  bool // whether an INSERT may begin in brackets of the value
	Tokens int  // how many tokens the value has
	First  scan.Token
}

// Value reads one value: tokens up to a comma or closing bracket outside of brackets. In a
// SET, clause is not nil; the value then also ends before a token for which clause is true,
// and at the end of the statement.
func (p *Reader) Value(clause func() bool) (Value, rewrite.Reason) {
	v := Value{Span: scan.Span{Start: p.Token.Start}, Before: p.Params.Count, First: p.Token}
	point := false // whether the token before the current one is a point
	var open scan.OpenBrackets
	for depth := 0; ; p.Advance() {
		behindPoint := point
		point = false
		switch p.Token.Kind {
		case scan.End, scan.Broken:
			if clause == nil || p.Token.Kind == scan.Broken || depth > 0 {
				return v, rewrite.ErrGrammar
			}
			return p.valueEnd(v)
		case scan.Executable:
			return v, rewrite.ErrExecutableComment
		case scan.Word:
			if clause != nil && depth == 0 && v.Tokens > 0 && clause() {
				return p.valueEnd(v)
			}
			v.Inner = v.Inner || depth > 0 && p.MayInsert()
		case scan.Punct:
			switch c := p.Text[p.Token.Start]; c {
			case '(', '[', '{':
				depth++
				open.Open(c)
			case ')', ']', '}':
				if depth == 0 {
					return p.valueEnd(v)
				}
				if depth--; !open.Shut(c) {
					return v, rewrite.ErrGrammar
				}
			case ',':
				if depth == 0 {
					return p.valueEnd(v)
				}
			case ';':
				if clause != nil && depth == 0 {
					return p.valueEnd(v)
				}
				return v, rewrite.ErrGrammar
			case '.':
				point = true
			case '*':
				v.Star = behindPoint && depth == 0
			}
		}
		v.Tokens++
	}
}

// Single moves past the value that begins at the current token, to the token that ends it,
// if the value is one token, as in most rows. It then does the same as Value, in less time.
// If it reports false, it has not moved.
func (p *Reader) Single() bool {
	switch p.Token.Kind {
	case scan.End, scan.Broken, scan.Executable, scan.Punct:
		return false
	}
	i := p.Pos
	for i < len(p.Text) && scan.Classes[p.Text[i]]&scan.ClassSpace != 0 {
		i++
	}
	if i >= len(p.Text) || p.Text[i] != ',' && p.Text[i] != ')' {
		return false
	}
	p.leave()
	p.Token = scan.Token{Kind: scan.Punct, Start: i, End: i + 1}
	p.Pos = i + 1
	return true
}

// PlainWord moves from a sign past the following word to the comma or closing bracket after
// the word, and returns the word. The word has letters, digits and underscores of ASCII
// only. If no such word follows the sign, or anything but a comma or closing bracket
// follows the word, PlainWord does not move, and reports false.
func (p *Reader) PlainWord() (t scan.Token, ok bool) {
	start, end := scan.PlainWord(p.Text, p.Pos)
	i := end
	for i < len(p.Text) && scan.Classes[p.Text[i]]&scan.ClassSpace != 0 {
		i++
	}
	if start == end || i >= len(p.Text) || p.Text[i] != ',' && p.Text[i] != ')' {
		return scan.Token{}, false
	}
	p.PrevEnd, p.Token, p.Pos = end, scan.Token{Kind: scan.Punct, Start: i, End: i + 1}, i+1
	return scan.Token{Kind: scan.Word, Start: start, End: end}, true
}

// valueEnd returns a value that ends before the current token.
func (p *Reader) valueEnd(v Value) (Value, rewrite.Reason) {
	v.End = p.PrevEnd
	if v.Tokens == 0 {
		return v, rewrite.ErrGrammar
	}
	return v, ""
}

// Clause reports whether the current word begins a clause after a SET. If the clause
// belongs to another engine of the family, the caller refuses it later.
func (p *Reader) Clause() bool {
	switch {
	case p.IsAny("as", "returning", "on"):
		return true
	}
	return false
}

// Core returns the token that decides whether a value counts as a key: the value itself,
// also in brackets; the placeholder inside CAST(… AS type) or before ::type; or a signed
// number. It reports false for any other expression.
func (p *Reader) Core(v Value) (scan.Token, bool) {
	if v.Tokens == 1 {
		return v.First, true
	}
	q := p.Within(v.Span)
	t, ok := q.CoreToken()
	return t, ok && q.Token.Kind == scan.End
}

// CoreToken returns the result of [Reader.Core] for the value that begins at the current
// token. It moves past the value.
func (p *Reader) CoreToken() (scan.Token, bool) {
	var open []bool // for each open bracket, whether it belongs to CAST
	for p.IsPunct('(') || p.IsWord("cast") {
		cast := p.Accept("cast")
		if !p.AcceptPunct('(') {
			return p.Token, false
		}
		open = append(open, cast)
	}
	t := p.Token
	if p.AcceptPunct('-') || p.AcceptPunct('+') {
		if p.Token.Kind != scan.Number {
			return t, false
		}
		t = scan.Token{Kind: scan.Number, Start: t.Start, End: p.Token.End}
	}
	p.Advance()
	for p.casts(t) {
		if len(open) == 0 {
			return t, true
		}
		cast := open[len(open)-1]
		open = open[:len(open)-1]
		if cast {
			if t.Kind != scan.Placeholder || !p.Accept("as") {
				return t, false
			}
			p.TypeName()
		}
		if !p.AcceptPunct(')') {
			return t, false
		}
	}
	return t, false
}

// casts moves past ::type if t is a placeholder. It reports false if a value that is no
// placeholder has such a cast.
func (p *Reader) casts(t scan.Token) bool {
	for p.IsPunct(':') {
		if t.Kind != scan.Placeholder || !p.Dialect.Lexis.ColonCasts {
			return false
		}
		if p.Advance(); !p.AcceptPunct(':') {
			return false
		}
		p.TypeName()
	}
	return true
}

// TypeName moves past the name of a type: words, points and brackets with their content.
func (p *Reader) TypeName() {
	for {
		switch {
		case p.Token.Kind == scan.Word, p.Token.Kind == scan.Quoted, p.IsPunct('.'):
			p.Advance()
		case p.Balanced('(', ')'), p.Balanced('[', ']'):
		default:
			return
		}
	}
}
