package rewrite

import "slices"

// load reads MySQL's LOAD DATA … INTO TABLE t … (a, b).
func (p *parser) load() {
	at := p.tok.start
	for !p.atEnd() && !p.isWord("into") {
		p.advance()
	}
	p.advance()
	if !p.accept("table") {
		p.skip(p.beside())
		return
	}
	if p.tok.kind == tokExec {
		if t := p.mentioned(p.q[at:]); t != nil {
			p.refuse(t, at, ErrExecutableComment)
		}
	}
	if n, ok := p.tableName(); ok {
		if t, _ := p.target(n); t != nil {
			q := p.reader
			p.loaded(t, at, q.loadedColumns(), ErrBulk)
		}
	}
	p.skip(p.beside())
}

// loadedColumns reads the column list of LOAD DATA from behind the table's
// name. Besides PARTITION nothing else has brackets before SET.
func (p *reader) loadedColumns() []string {
	for !p.atEnd() && !p.isWord("set") {
		switch {
		case p.accept("partition"):
			p.brackets()
		case p.isPunct('('):
			return p.names()
		default:
			p.advance()
		}
	}
	return nil
}

// names reads a list in brackets and returns the names in it, without user
// variables.
func (p *reader) names() []string {
	if !p.acceptPunct('(') {
		return nil
	}
	var names []string
	for !p.atEnd() && !p.isPunct(')') {
		name, _, ok := p.ident()
		if !ok {
			p.advance()
			continue
		}
		names = append(names, name)
	}
	p.acceptPunct(')')
	return names
}

// loaded keeps rows from elsewhere that name the keys and refuses others.
func (p *parser) loaded(t *Target, at int, columns []string, reason Reason) {
	for _, k := range t.Keys {
		if k.Fill&FillMissing != 0 && !slices.Contains(columns, k.Column) {
			p.refuse(t, at, reason)
			return
		}
	}
	in := insertState{Insert: Insert{Target: t, Offset: at, Rows: -1}}
	for key := range t.Keys {
		in.open(key) // the engine numbers a row whose key is NULL
	}
	p.inserts = append(p.inserts, in.Insert)
}
