package compile

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// source reads the source of a MERGE from after USING to ON, and adds the keys that each
// row needs. It returns a reason if the text does not show how many rows the source has.
func source(p *plans.Draft, m *merging) rewrite.Reason {
	if !p.AcceptPunct('(') {
		return rewrite.ErrMerge
	}
	switch {
	case p.Accept("values"):
		if reason := sourceRows(p, m); reason != "" {
			return reason
		}
	case !p.IsWord("select") || !oneRow(p):
		return rewrite.ErrMerge
	default:
		m.rows = 1
	}
	if !p.AcceptPunct(')') {
		return rewrite.ErrMerge
	}
	if p.Accept("as") || !p.IsWord("on") {
		at := p.Token.Start
		name, _, ok := p.Ident()
		if !ok {
			return rewrite.ErrMerge
		}
		m.alias, m.folded = p.Text[at:p.PrevEnd], name
	}
	return sourceColumns(p, m)
}

// sourceRows reads the rows of a VALUES that is the source of a MERGE.
func sourceRows(p *plans.Draft, m *merging) rewrite.Reason {
	width := 0
	for m.rows = 0; ; m.rows++ {
		if m.rows > 0 && !p.AcceptPunct(',') {
			break
		}
		if !p.AcceptPunct('(') {
			return rewrite.ErrMerge
		}
		n, reason := sourceRow(p, m)
		if reason != "" {
			return reason
		}
		if m.rows > 0 && n != width {
			return rewrite.ErrMerge // the engine refuses rows of different lengths
		}
		width = n
	}
	m.columns = width
	return ""
}

// sourceRow reads a row from after its bracket, appends the keys and returns how many
// values it had.
func sourceRow(p *plans.Draft, m *merging) (n int, reason rewrite.Reason) {
	for n = 1; ; n++ {
		v, reason := inserts.Value(p, nil)
		if reason != "" || v.Star {
			return 0, rewrite.ErrMerge
		}
		if !p.AcceptPunct(',') {
			break
		}
	}
	if !p.IsPunct(')') {
		return 0, rewrite.ErrMerge
	}
	for _, k := range m.fed {
		p.Slot(p.PrevEnd, p.PrevEnd, ", ", plans.Slot{Key: int32(k), Row: int32(m.rows)})
		if p.Dialect.Grammar.TypedRows {
			// In a source, the engine cannot infer the key's type from the column that gets
			// the key.
			kind := m.head.Target.Keys[k].Type
			if kind == "" {
				return 0, rewrite.ErrMerge
			}
			p.Edit(p.PrevEnd, p.PrevEnd, "::"+kind)
		}
	}
	p.Advance()
	return n, ""
}

// sourceColumns reads the column list after the alias of the source. Several rows can have
// keys only if the list names all their columns: otherwise the name for the key would be
// given to the next unnamed column.
func sourceColumns(p *plans.Draft, m *merging) rewrite.Reason {
	width := m.columns // the number of columns in the rows of VALUES
	m.columns = -1
	if !p.AcceptPunct('(') {
		return ""
	}
	n := 0
	m.names = m.names[:0]
	for {
		name, _, ok := p.Ident()
		if !ok {
			return rewrite.ErrMerge
		}
		m.names = append(m.names, name)
		n++
		if !p.AcceptPunct(',') {
			break
		}
	}
	if !p.IsPunct(')') {
		return rewrite.ErrMerge
	}
	for _, k := range m.fed {
		p.Edit(p.PrevEnd, p.PrevEnd, ", "+p.Dialect.QuoteIdent(feeds(p, m, k)))
	}
	p.Advance()
	if n == width {
		m.columns = n
	}
	return ""
}

// spreads reports whether the rest of a MERGE may use all columns of its source, which has
// more than the text shows: by the alias alone, which means the whole row; by a star after
// the alias, or a name there that is no column, which PostgreSQL reads as a function of the
// row; or by a star in RETURNING.
func spreads(p *reader.Reader, alias string, columns []string) bool {
	gives, point := false, false
	for depth := 0; !p.AtEnd(); p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case p.Token.Kind != scan.Punct:
			if p.IsWord("uescape") {
				return true // UESCAPE gives names an escape character, so any name may be the alias
			}
			gives = gives || depth == 0 && p.IsAny("returning", "output")
			if name := p.Token.Kind == scan.Word || p.Token.Kind == scan.Quoted; !name || point || !p.Folds(p.Token, alias) {
				break
			}
			q := *p
			if q.Advance(); !q.AcceptPunct('.') {
				return true
			}
			if column, _, ok := q.Ident(); !ok || !slices.Contains(columns, column) {
				return true
			}
		case p.IsPunct('*') && gives && !point:
			return true
		}
		point = p.IsPunct('.')
	}
	return false
}

// queryWords are words that begin a clause of a query, or another query.
var queryWords = []string{
	"from", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "into",
	"union", "except", "intersect", "minus", "connect", "start", "model", "with", "select", "values", "table",
}

// oneRow moves past a SELECT to the closing bracket or the end, and reports whether it
// gives one row whatever its values are: it has only a select list, or is FROM dual,
// Oracle's table of one row (SQL Language Reference 23, "Selecting from the DUAL Table").
func oneRow(p *plans.Draft) bool {
	p.Advance()
	if p.Dialect.Grammar.RowFunctions {
		return plainList(&p.Reader)
	}
	for depth := 0; !p.AtEnd(); p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			if depth == 0 {
				return true
			}
			depth--
		case p.Token.Kind == scan.Executable, p.Token.Kind == scan.Broken:
			return false
		case depth > 0:
			inserts.JudgeInner(p, rewrite.ErrCTE)
		case p.IsWord("from") && p.Dialect.Grammar.Dual:
			p.Advance()
			return p.Accept("dual") && (p.AtEnd() || p.IsPunct(')'))
		case p.IsAny(queryWords...):
			return false
		}
	}
	return p.Dialect.Grammar.Dual
}

// plainList moves past a select list, and reports whether it only has literals,
// placeholders and casts, with their aliases. A function or an operator may give several
// rows: PostgreSQL 18, section 36.5.9.
func plainList(p *reader.Reader) bool {
	for casts := 0; !p.AtEnd(); {
		switch {
		case p.IsAny(queryWords...):
			return false
		case p.Accept("cast"):
			if !p.AcceptPunct('(') {
				return false
			}
			casts++
		case casts > 0 && p.Accept("as"):
			if !plainType(p) || !p.AcceptPunct(')') {
				return false
			}
			casts--
		case p.AcceptPunct(':'):
			if !p.AcceptPunct(':') || !plainType(p) {
				return false
			}
		case p.AcceptPunct('-'):
			if p.Token.Kind != scan.Number {
				return false
			}
		case p.IsPunct(')'):
			return casts == 0
		case casts == 0 && p.AcceptPunct(','):
		case p.Token.Kind == scan.Punct, p.Token.Kind == scan.Executable, p.Token.Kind == scan.Broken, p.Token.Kind == scan.Variable:
			return false
		default:
			p.Advance()
		}
	}
	return false
}

// typeWords are words that may follow the first word of a type's name.
var typeWords = []string{"varying", "precision", "with", "without", "time", "zone"}

// plainType moves past the name of a type, and reports whether there is one.
func plainType(p *reader.Reader) bool {
	for {
		if p.IsAny(queryWords...) || p.Token.Kind != scan.Word && p.Token.Kind != scan.Quoted {
			return false
		}
		if p.Advance(); !p.AcceptPunct('.') {
			break
		}
	}
	for {
		switch {
		case p.IsAny(typeWords...):
			p.Advance()
		case p.IsPunct('('), p.IsPunct('['):
			if !p.Balanced('(', ')') && !p.Balanced('[', ']') {
				return false
			}
		default:
			return true
		}
	}
}
