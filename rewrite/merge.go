package rewrite

// merge reads a statement that begins with MERGE.
func (p *parser) merge() {
	p.fork().mergeInto(p, ErrMerge)
	p.advance()
	p.skip(p.beside())
}

// mergeInto reads MERGE in a fork of outer: it is kept when every INSERT in it
// names the keys of its target, and refused for the reason else.
func (p *parser) mergeInto(outer *parser, reason Reason) {
	p.advance()
	if p.d.Grammar.Top && p.accept("top") {
		p.brackets()
		p.accept("percent")
	}
	into := p.accept("into")
	p.accept("only")
	var h head
	if p.into(&h, into || p.isPunct('(')); h.target == nil {
		return
	}
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			if depth--; depth < 0 {
				return
			}
		case depth > 0:
		case p.isWord("insert"):
			q := p.fork()
			q.advance()
			q.judgeInside(outer, h, p.tok.start, reason)
		case p.isWord("merge"):
			// The next MERGE is read on its own; MERGE JOIN is none.
			if !p.fork().follows("join") {
				return
			}
		}
	}
}

// follows reports whether the next token is the word, and moves to it.
func (p *parser) follows(word string) bool {
	p.advance()
	return p.isWord(word)
}
