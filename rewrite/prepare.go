package rewrite

// prepare reads PREPARE: PostgreSQL's of a statement, MySQL's of a string.
func (p *parser) prepare() {
	at := p.tok.start
	p.advance()
	for ; !p.atEnd(); p.advance() {
		if p.tok.kind != tokString || !p.d.Grammar.PrepareText {
			p.nested(ErrPrepare)
			continue
		}
		text := p.unquoted(p.text(p.tok), '\\')
		q := &parser{reader: readerAt(p.d, text, 0), lookup: p.lookup, maybe: p.maybe, moved: p.moved, standing: p.standing}
		q.statementsOf()
		switch {
		case q.refusal != nil:
			p.refuse(q.refusal.Target, at, ErrPrepare)
		case q.lacks(ErrPrepare):
			p.refuse(q.inserts[q.slots[0].insert].Target, at, ErrPrepare)
		default:
			p.inserts = append(p.inserts, q.inserts...)
		}
	}
}
