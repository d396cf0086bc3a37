package rewrite

import (
	"encoding/json"
	"slices"
)

// copy reads PostgreSQL's COPY t (a, b) FROM: the rows are kept when the column
// list names the keys.
func (p *parser) copy() {
	at := p.tok.start
	p.advance()
	p.accept("binary")
	if n, ok := p.tableName(); ok {
		columns := p.names()
		if t := p.lookup(n.schema, n.table); t != nil && p.isWord("from") {
			p.loaded(t, at, columns, ErrBulk)
		}
	}
	p.skip(p.beside())
}

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
		if t := p.lookup(n.schema, n.table); t != nil {
			q := *p
			p.loaded(t, at, q.loadedColumns(), ErrBulk)
		}
	}
	p.skip(p.beside())
}

// loadedColumns reads the column list of LOAD DATA from behind the table's
// name: the only brackets before SET but for those of PARTITION.
func (p *parser) loadedColumns() []string {
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

// names reads a list of names in brackets; what is no name is left out.
func (p *parser) names() []string {
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
	p.loaded(t, at, columns, ErrBulk)
}
