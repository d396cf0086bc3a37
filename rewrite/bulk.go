package rewrite

import (
	"encoding/json"
	"slices"
)

// merge reads MERGE: it is refused when it may insert into a configured table.
func (p *parser) merge() {
	at := p.tok.start
	p.advance()
	if p.d.Grammar.Top && p.accept("top") {
		p.brackets()
		p.accept("percent")
	}
	p.accept("into")
	p.accept("only")
	n, ok := p.tableName()
	var t *Target
	if ok {
		t = p.lookup(n.schema, n.table)
	}
	for !p.atEnd() {
		switch {
		case p.isWord("insert") && t != nil:
			p.refuse(t, at, ErrMerge)
		default:
			p.nested(ErrCTE)
		}
		p.advance()
	}
}

// copy reads PostgreSQL's COPY t (a, b) FROM: the rows are kept when the column
// list names the keys.
func (p *parser) copy() {
	at := p.tok.start
	p.advance()
	n, ok := p.tableName()
	if !ok {
		p.skip(ErrCTE)
		return
	}
	t := p.lookup(n.schema, n.table)
	if t == nil {
		p.skip(ErrCTE)
		return
	}
	columns := p.names()
	if p.isWord("from") {
		p.loaded(t, at, columns)
	}
	p.skip(ErrCTE)
}

// load reads MySQL's LOAD DATA … INTO TABLE t … (a, b).
func (p *parser) load() {
	at := p.tok.start
	for !p.atEnd() && !p.isWord("into") {
		p.advance()
	}
	p.advance()
	if !p.accept("table") {
		p.skip(ErrCTE)
		return
	}
	n, ok := p.tableName()
	if !ok {
		p.skip(ErrCTE)
		return
	}
	t := p.lookup(n.schema, n.table)
	var columns []string
	for !p.atEnd() {
		if p.accept("partition") {
			p.brackets()
			continue
		}
		if p.isPunct('(') {
			columns = append(columns, p.names()...)
			continue
		}
		p.advance()
	}
	if t != nil {
		p.loaded(t, at, columns)
	}
}

// names reads a list of names in brackets; what is no name is left out.
func (p *parser) names() []string {
	if !p.acceptPunct('(') {
		return nil
	}
	var names []string
	for !p.atEnd() && !p.isPunct(')') {
		if p.tok.kind == tokWord || p.tok.kind == tokQuoted {
			names = append(names, p.d.Fold(p.unquote(p.text(p.tok), p.tok.kind)))
		}
		p.advance()
	}
	p.acceptPunct(')')
	return names
}

// loaded keeps a bulk load that names the keys and refuses one that does not.
func (p *parser) loaded(t *Target, at int, columns []string) {
	for _, k := range t.Keys {
		if !slices.Contains(columns, k.Column) {
			p.refuse(t, at, ErrBulk)
			return
		}
	}
	p.inserts = append(p.inserts, Insert{Target: t, Offset: at, Rows: -1})
}

// insertBulk reads the text that go-mssqldb's CopyIn makes for Prepare:
// "INSERTBULK " and a JSON object.
func (p *parser) insertBulk() {
	at := p.tok.start
	var bulk struct {
		TableName   string
		ColumnsName []string
	}
	body := p.q[p.tok.end:]
	for p.tok.kind != tokEnd {
		p.advance()
	}
	if json.Unmarshal([]byte(body), &bulk) != nil {
		return
	}
	q := &parser{scanner: scanner{d: p.d, q: bulk.TableName}}
	q.read()
	n, ok := q.tableName()
	if !ok {
		return
	}
	t := p.lookup(n.schema, n.table)
	if t == nil {
		return
	}
	var columns []string
	for _, c := range bulk.ColumnsName {
		columns = append(columns, p.d.Fold(c, true))
	}
	p.loaded(t, at, columns)
}
