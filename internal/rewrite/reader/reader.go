package reader

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// Reader reads a text token by token. Copy it to look ahead.
type Reader struct {
	scan.Scanner
	Token   scan.Token // the current token; white space and comments are left out
	PrevEnd int        // the offset after the token before Token

	Params Params          // the caller's placeholders before Token
	locals map[string]bool // variables that the text declares, in lower case; nil if it declares none
	Limit  int             // the offset of the closing bracket around the statement; zero if there is none

	Free *FreeNames // names that do not occur in the text; nil until one is asked for
}

// New returns a reader of a text, at its first token.
func New(d *dialect.Dialect, text string) Reader { return At(d, text, 0) }

// At returns a reader at the first token of a text from an offset on.
func At(d *dialect.Dialect, text string, offset int) Reader {
	p := Reader{Scanner: scan.Scanner{Dialect: d, Text: text, Pos: offset}}
	p.Read()
	return p
}

// Within returns a reader of the span v of the text.
func (p *Reader) Within(v scan.Span) Reader { return At(p.Dialect, p.Text[:v.End], v.Start) }

// Advance moves to the next token that is neither white space nor a comment.
func (p *Reader) Advance() {
	p.leave()
	p.Read()
}

// leave notes the end of the current token, and counts the token if it is a placeholder.
func (p *Reader) leave() {
	if p.Token.Kind == scan.Placeholder {
		countPlaceholder(p)
	}
	p.PrevEnd = p.Token.End
}

// countPlaceholder counts the current token among the placeholders for the caller's arguments,
// unless it is a variable that the text itself declares.
func countPlaceholder(p *Reader) {
	if text := p.TextOf(p.Token); p.locals == nil || !p.IsLocal(text) {
		p.Params.add(p.Dialect, text)
	}
}

// Read sets the current token: the first one from Pos on that is neither white space nor a
// comment.
func (p *Reader) Read() { p.Token = p.Following() }

// TextOf returns the text of a token.
func (p *Reader) TextOf(t scan.Token) string { return p.Text[t.Start:t.End] }

// IsPunct reports whether the current token is the sign.
func (p *Reader) IsPunct(c byte) bool {
	return p.Token.Kind == scan.Punct && p.Text[p.Token.Start] == c
}

// IsWord reports whether the current token is the word, in any case. The caller gives it in
// lower case.
func (p *Reader) IsWord(word string) bool {
	return p.Token.Kind == scan.Word && scan.EqualWord(p.TextOf(p.Token), word)
}

// IsIn reports whether the current token is a word of the set.
func (p *Reader) IsIn(s *scan.WordSet) bool {
	return p.Token.Kind == scan.Word && s.MayHave(p.TextOf(p.Token)) && s.Has(p.TextOf(p.Token))
}

// IsAny reports whether the current token is one of the words.
func (p *Reader) IsAny(words ...string) bool {
	if p.Token.Kind != scan.Word {
		return false
	}
	for _, w := range words {
		if scan.EqualWord(p.TextOf(p.Token), w) {
			return true
		}
	}
	return false
}

// IsVerb reports whether the current token is INSERT, or REPLACE in dialects with it.
func (p *Reader) IsVerb() bool {
	return p.IsWord("insert") || p.Dialect.Grammar.Replace && p.IsWord("replace")
}

// Accept moves past the current token if it is the word, and reports whether it is.
func (p *Reader) Accept(word string) bool {
	if p.IsWord(word) {
		p.Advance()
		return true
	}
	return false
}

// AcceptPunct moves past the current token if it is the sign, and reports whether it is.
func (p *Reader) AcceptPunct(c byte) bool {
	if p.IsPunct(c) {
		p.Advance()
		return true
	}
	return false
}

// AtEnd reports whether the statement ends at the current token.
func (p *Reader) AtEnd() bool {
	return p.Token.Kind == scan.End || p.IsPunct(';') || p.Limit > 0 && p.Token.Start >= p.Limit
}

// Brackets moves past a balanced pair of round brackets, if a pair begins at the current
// token.
func (p *Reader) Brackets() { p.Balanced('(', ')') }

// Balanced moves past a balanced pair of open and end that begins at the current token. It
// reports false if no pair begins there, or the pair is not closed.
func (p *Reader) Balanced(open, end byte) bool {
	if !p.IsPunct(open) {
		return false
	}
	for depth := 0; p.Token.Kind != scan.End; {
		switch {
		case p.IsPunct(open):
			depth++
		case p.IsPunct(end):
			depth--
		case p.Token.Kind == scan.Broken, p.Token.Kind == scan.Executable:
			return false
		}
		p.Advance()
		if depth == 0 {
			return true
		}
	}
	return false
}

// AcceptAny moves past the current token if it is of one of the kinds, and reports whether
// it is.
func (p *Reader) AcceptAny(kinds ...scan.Kind) bool {
	for _, k := range kinds {
		if p.Token.Kind == k {
			p.Advance()
			return true
		}
	}
	return false
}

// Grammar returns the reason to refuse a statement in which the current token may not
// stand.
func (p *Reader) Grammar() rewrite.Reason {
	if p.Token.Kind == scan.Executable {
		return rewrite.ErrExecutableComment
	}
	return rewrite.ErrGrammar
}

// nextIsAny reports whether the token after the current one is one of the words.
func (p *Reader) nextIsAny(words ...string) bool {
	q := *p
	q.Advance()
	return q.IsAny(words...)
}

// Peek returns the token after the current one, and a scanner at the end of that token.
func (p *Reader) Peek() (scan.Token, scan.Scanner) {
	s := p.Scanner
	return s.Following(), s
}

// NextIs reports whether the token after the current one is the word.
func (p *Reader) NextIs(word string) bool {
	n, _ := p.Peek()
	return n.Kind == scan.Word && scan.EqualWord(p.TextOf(n), word)
}

// NextIsPunct reports whether the token after the current one is the sign c.
func (p *Reader) NextIsPunct(c byte) bool {
	at := p.Pos
	for at < len(p.Text) && scan.IsSpace(p.Text[at]) {
		at++
	}
	if at < len(p.Text) && scan.Classes[p.Text[at]]&scan.ClassPunct != 0 {
		return p.Text[at] == c
	}
	if at < len(p.Text) && scan.IsDigit(p.Text[at]) {
		return false
	}
	n, _ := p.Peek()
	return n.Kind == scan.Punct && p.Text[n.Start] == c
}
