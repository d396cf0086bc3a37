package rewrite

// multiTable reads Oracle's INSERT ALL, FIRST and WHEN and reports whether it
// is one: it is kept when every INTO names the keys of its target, and refused
// else.
func (p *parser) multiTable() bool {
	q := *p
	if q.advance(); !q.isAny("all", "first", "when") {
		return false
	}
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth == 0 && p.isAny("select", "with"):
			// Behind the query only LOG ERRORS INTO may follow.
			p.skip(ErrCTE)
			return true
		case depth == 0 && p.isWord("into"):
			at := p.tok.start
			q := p.fork()
			q.advance()
			var h head
			if q.into(&h, true); h.target != nil {
				q.judgeInside(p, h, at, ErrMultiTable)
			}
		default:
			p.nested(ErrCTE)
		}
	}
	return true
}
