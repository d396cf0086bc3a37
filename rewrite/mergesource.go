package rewrite

import "slices"

// source reads the source of a MERGE from behind USING to ON, if the text says
// how many rows it has, and gives each of them the keys that it has to carry.
func (p *parser) source(m *merging) Reason {
	if !p.acceptPunct('(') {
		return ErrMerge
	}
	switch {
	case p.accept("values"):
		if reason := p.sourceRows(m); reason != "" {
			return reason
		}
	case !p.isWord("select") || !p.oneRow():
		return ErrMerge
	default:
		m.rows = 1
	}
	if !p.acceptPunct(')') {
		return ErrMerge
	}
	if p.accept("as") || !p.isWord("on") {
		at := p.tok.start
		name, _, ok := p.ident()
		if !ok {
			return ErrMerge
		}
		m.alias, m.folded = p.q[at:p.prev], name
	}
	return p.sourceColumns(m)
}

// sourceRows reads the rows of VALUES in the place of a table.
func (p *parser) sourceRows(m *merging) Reason {
	width := 0
	for m.rows = 0; ; m.rows++ {
		if m.rows > 0 && !p.acceptPunct(',') {
			break
		}
		if !p.acceptPunct('(') {
			return ErrMerge
		}
		n, reason := p.sourceRow(m)
		if reason != "" {
			return reason
		}
		if m.rows > 0 && n != width {
			return ErrMerge // an error to the engine, if not for a key
		}
		width = n
	}
	m.columns = width
	return ""
}

// sourceRow reads a row from behind its bracket, appends the keys and returns how
// many values it had.
func (p *parser) sourceRow(m *merging) (n int, reason Reason) {
	for n = 1; ; n++ {
		v, reason := p.value(nil)
		if reason != "" || v.star {
			return 0, ErrMerge
		}
		if !p.acceptPunct(',') {
			break
		}
	}
	if !p.isPunct(')') {
		return 0, ErrMerge
	}
	for _, k := range m.fed {
		p.slot(p.prev, p.prev, ", ", slot{key: int32(k), row: int32(m.rows)})
		if p.d.Grammar.TypedRows {
			// The column that the key goes to does not say its type here.
			kind := m.head.target.Keys[k].Type
			if kind == "" {
				return 0, ErrMerge
			}
			p.edit(p.prev, p.prev, "::"+kind)
		}
	}
	p.advance()
	return n, ""
}

// sourceColumns reads the column list behind the alias of the source. Several
// rows can carry keys only where it names all their columns: one more would name
// the next of them.
func (p *parser) sourceColumns(m *merging) Reason {
	width := m.columns // of the rows of VALUES
	m.columns = -1
	if !p.acceptPunct('(') {
		return ""
	}
	n := 0
	m.names = m.names[:0]
	for {
		name, _, ok := p.ident()
		if !ok {
			return ErrMerge
		}
		m.names = append(m.names, name)
		n++
		if !p.acceptPunct(',') {
			break
		}
	}
	if !p.isPunct(')') {
		return ErrMerge
	}
	for _, k := range m.fed {
		p.edit(p.prev, p.prev, ", "+p.d.QuoteIdent(p.feeds(m, k)))
	}
	p.advance()
	if n == width {
		m.columns = n
	}
	return ""
}

// spreads reports whether the rest of a MERGE may show all columns of its source,
// of which there is one more than the text says: by its alias alone, which is the
// row, by a star behind the alias or by a name there that is no column's, which
// PostgreSQL takes for a function of the row, or by a star in RETURNING.
func (p *reader) spreads(alias string, columns []string) bool {
	gives, point := false, false
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case p.tok.kind != tokPunct:
			if p.isWord("uescape") {
				return true // names are not what they seem
			}
			gives = gives || depth == 0 && p.isAny("returning", "output")
			if name := p.tok.kind == tokWord || p.tok.kind == tokQuoted; !name || point || !p.folds(p.tok, alias) {
				break
			}
			q := *p
			if q.advance(); !q.acceptPunct('.') {
				return true
			}
			if column, _, ok := q.ident(); !ok || !slices.Contains(columns, column) {
				return true
			}
		case p.isPunct('*') && gives && !point:
			return true
		}
		point = p.isPunct('.')
	}
	return false
}

// queryWords are words that begin a clause of a query, or another query.
var queryWords = []string{
	"from", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "into",
	"union", "except", "intersect", "minus", "connect", "start", "model", "with", "select", "values", "table",
}

// oneRow moves past a SELECT to the bracket or the end behind it, and reports
// whether it gives one row whatever its values are: it has a select list alone, or
// is FROM dual, which is a table of one row to Oracle (SQL Language Reference 23,
// "Selecting from the DUAL Table").
func (p *parser) oneRow() bool {
	p.advance()
	if p.d.Grammar.RowFunctions {
		return p.plainList()
	}
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			if depth == 0 {
				return true
			}
			depth--
		case p.tok.kind == tokExec, p.tok.kind == tokError:
			return false
		case depth > 0:
			p.nested(ErrCTE)
		case p.isWord("from") && p.d.Grammar.Dual:
			p.advance()
			return p.accept("dual") && (p.atEnd() || p.isPunct(')'))
		case p.isAny(queryWords...):
			return false
		}
	}
	return p.d.Grammar.Dual
}

// plainList moves past a select list of literals, placeholders and casts with
// their aliases, and reports whether it is one. A function or an operator may give
// several rows: PostgreSQL 18, section 36.5.9.
func (p *reader) plainList() bool {
	for casts := 0; !p.atEnd(); {
		switch {
		case p.isAny(queryWords...):
			return false
		case p.accept("cast"):
			if !p.acceptPunct('(') {
				return false
			}
			casts++
		case casts > 0 && p.accept("as"):
			if !p.plainType() || !p.acceptPunct(')') {
				return false
			}
			casts--
		case p.acceptPunct(':'):
			if !p.acceptPunct(':') || !p.plainType() {
				return false
			}
		case p.acceptPunct('-'):
			if p.tok.kind != tokNumber {
				return false
			}
		case p.isPunct(')'):
			return casts == 0
		case casts == 0 && p.acceptPunct(','):
		case p.tok.kind == tokPunct, p.tok.kind == tokExec, p.tok.kind == tokError, p.tok.kind == tokVar:
			return false
		default:
			p.advance()
		}
	}
	return false
}

// typeWords are words of a type's name behind the first.
var typeWords = []string{"varying", "precision", "with", "without", "time", "zone"}

// plainType moves past the name of a type, and reports whether there is one.
func (p *reader) plainType() bool {
	for {
		if p.isAny(queryWords...) || p.tok.kind != tokWord && p.tok.kind != tokQuoted {
			return false
		}
		if p.advance(); !p.acceptPunct('.') {
			break
		}
	}
	for {
		switch {
		case p.isAny(typeWords...):
			p.advance()
		case p.isPunct('('), p.isPunct('['):
			if !p.balanced('(', ')') && !p.balanced('[', ']') {
				return false
			}
		default:
			return true
		}
	}
}
