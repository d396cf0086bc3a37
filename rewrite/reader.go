package rewrite

import "github.com/keyfill/keyfill/dialect"

// reader reads a text token by token. Copies of it look ahead.
type reader struct {
	scanner
	tok  token // the current token; white space and comments are left out
	prev int   // the end of the last token before it

	params params          // the caller's placeholders before tok
	locals map[string]bool // variables that the text declares, in lower case; nil for none
	limit  int             // where the brackets end that the statement stands in; 0 for none

	free *freeNames // nil before one was asked for
}

// newReader returns a reader of a text, at its first token.
func newReader(d *dialect.Dialect, text string) reader { return readerAt(d, text, 0) }

// readerAt returns a reader of a text, at the token that begins at an offset or behind it.
func readerAt(d *dialect.Dialect, text string, offset int) reader {
	p := reader{scanner: scanner{d: d, q: text, pos: offset}}
	p.read()
	return p
}

// within returns a reader of a piece of the text.
func (p *reader) within(v span) reader { return readerAt(p.d, p.q[:v.end], v.start) }

// advance moves to the next token that is neither white space nor a comment.
func (p *reader) advance() {
	p.leave()
	p.read()
}

// leave notes that the current token is behind.
func (p *reader) leave() {
	if p.tok.kind == tokParam && (p.locals == nil || !p.isLocal(p.text(p.tok))) {
		p.params.add(p.d, p.q[p.tok.start:p.tok.end])
	}
	p.prev = p.tok.end
}

// read makes the token at pos the current one, or the first behind it that is
// neither white space nor a comment.
func (p *reader) read() { p.tok = p.following() }

func (p *reader) text(t token) string { return p.q[t.start:t.end] }

func (p *reader) isPunct(c byte) bool {
	return p.tok.kind == tokPunct && p.q[p.tok.start] == c
}

func (p *reader) isWord(word string) bool {
	return p.tok.kind == tokWord && equalWord(p.text(p.tok), word)
}

// isIn reports whether the current token is a word of the set.
func (p *reader) isIn(s *wordSet) bool {
	return p.tok.kind == tokWord && s.mayHave(p.text(p.tok)) && s.has(p.text(p.tok))
}

// isAny reports whether the current token is one of the words.
func (p *reader) isAny(words ...string) bool {
	if p.tok.kind != tokWord {
		return false
	}
	for _, w := range words {
		if equalWord(p.text(p.tok), w) {
			return true
		}
	}
	return false
}

// isVerb reports whether the current token may begin an INSERT.
func (p *reader) isVerb() bool {
	return p.isWord("insert") || p.d.Grammar.Replace && p.isWord("replace")
}

// accept moves past the word if it is the current token.
func (p *reader) accept(word string) bool {
	if p.isWord(word) {
		p.advance()
		return true
	}
	return false
}

func (p *reader) acceptPunct(c byte) bool {
	if p.isPunct(c) {
		p.advance()
		return true
	}
	return false
}

// atEnd reports whether the statement ends here.
func (p *reader) atEnd() bool {
	return p.tok.kind == tokEnd || p.isPunct(';') || p.limit > 0 && p.tok.start >= p.limit
}

// brackets moves past a balanced pair of brackets, if one begins here.
func (p *reader) brackets() { p.balanced('(', ')') }

// balanced moves past what open and end enclose, if it begins here; it reports
// false when it does not end.
func (p *reader) balanced(open, end byte) bool {
	if !p.isPunct(open) {
		return false
	}
	for depth := 0; p.tok.kind != tokEnd; {
		switch {
		case p.isPunct(open):
			depth++
		case p.isPunct(end):
			depth--
		case p.tok.kind == tokError, p.tok.kind == tokExec:
			return false
		}
		p.advance()
		if depth == 0 {
			return true
		}
	}
	return false
}
