package rewrite

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// A temporary table or view hides a table of the same name, and is not the one
// that is configured: MySQL 8.4, section 15.1.20.2; PostgreSQL 18, "CREATE TABLE",
// TEMPORARY; https://www.sqlite.org/lang_naming.html. Those of SQL Server have
// names of their own, and Oracle's are part of the schema.

// temporaries are the words that a temporary table is made with, and the
// schemas that hold it.
var temporaries = []string{"temp", "temporary", "pg_temp"}

// Temporary returns the folded names, without a schema, of the tables that a text
// may make temporary ones, by CREATE, SELECT INTO or RENAME. It serves texts with
// [ConcernsTemporary], and texts with RENAME on a connection that has temporary
// tables. Some of the names may belong to other things than tables.
func Temporary(d *dialect.Dialect, query string) []string {
	var names []string
	p := newReader(d, opened(d, query))
	for p.tok.kind != tokEnd {
		switch {
		case p.accept("rename"):
			names = append(names, p.renamed()...)
			continue
		case p.isAny(temporaries...):
			p.advance()
		case p.isTemporarySchema():
			if p.advance(); !p.isPunct('.') {
				continue
			}
		default:
			p.advance()
			continue
		}
		if n, ok := p.madeTable(); ok {
			names = append(names, n.table)
		}
	}
	return names
}

// isTemporarySchema reports whether the current token is the quoted name of what
// may be the schema of temporary tables.
func (p *reader) isTemporarySchema() bool {
	quoted := p.tok.kind == tokQuoted || p.tok.kind == tokString && p.d.Grammar.StringNames
	return quoted && slices.Contains(temporaries, p.folded(p.tok))
}

// renamed reads the rest of a statement from behind RENAME and returns the names
// that something gets in it.
func (p *reader) renamed() (names []string) {
	name := func() {
		if n, ok := p.tableName(); ok {
			names = append(names, n.table)
		}
	}
	// The word TO may be left out: MySQL 8.4, section 15.1.9.
	if !p.isAny("to", "as", "table", "tables", "column", "index", "key", "constraint") {
		name()
	}
	for !p.atEnd() {
		if to := p.accept("to") || p.accept("as"); to {
			name()
		} else {
			p.advance()
		}
	}
	return names
}

// opened returns a text with what its executable comments hold as if it stood
// outside of them.
func opened(d *dialect.Dialect, query string) string {
	if !strings.Contains(query, "!") {
		return query
	}
	var b strings.Builder
	s := scanner{d: d, q: query}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		text := query[t.start:t.end]
		if t.kind == tokExec {
			text = strings.TrimSuffix(text[strings.IndexByte(text, '!')+1:], "*/")
			text = " " + opened(d, strings.TrimLeft(text, "0123456789")) + " "
		}
		b.WriteString(text)
	}
	return b.String()
}

// madeTable reads the name of a table or view that is made from behind TEMPORARY,
// or behind the schema of temporary ones.
func (p *reader) madeTable() (name, bool) {
	if !p.acceptPunct('.') && !p.accept("table") {
		p.accept("recursive")
		p.accept("view")
	}
	if p.accept("if") {
		p.accept("not")
		p.accept("exists")
	}
	return p.tableName()
}

// keepsTables notes which temporary tables the statement before this one makes,
// if there is one, and whether it may have dropped others.
func (p *parser) keepsTables() {
	if !p.d.Grammar.TempTables {
		return
	}
	if p.statements == 2 {
		p.temporary = p.standing != nil || search(p.q, 0, temporarySet) != 0
		p.searches = p.temporary && strings.Contains(strings.ToLower(p.q), "search_path")
	}
	if p.temporary && p.statements > 1 {
		p.behind(p.q[p.began:p.tok.start])
	}
	p.began = p.tok.start
}

// behind notes what a statement before the current one does to temporary
// tables.
func (p *parser) behind(statement string) {
	for _, name := range Temporary(p.d, statement) {
		if p.maybe == nil {
			p.maybe = map[string]bool{}
		}
		p.maybe[name] = true
	}
	q := newReader(p.d, statement)
	n, ok := q.createsTemporary()
	switch {
	case !ok:
		if !LeavesTables(p.d, statement) {
			p.made, p.moved = nil, true
		}
	case !p.searches:
		n.start += p.began
		n.end += p.began
		if p.isMade(n) {
			return
		}
		if p.made == nil {
			p.made = map[string][]name{}
		}
		p.made[n.table] = append(p.made[n.table], n)
	}
}

// createsTemporary reads CREATE TEMPORARY TABLE up to the table's name.
func (p *reader) createsTemporary() (name, bool) {
	if !p.accept("create") {
		return name{}, false
	}
	if p.accept("or") {
		p.accept("replace")
	}
	_ = p.accept("global") || p.accept("local")
	if !p.accept("temp") && !p.accept("temporary") || !p.isWord("table") {
		return name{}, false
	}
	return p.madeTable()
}

// isMade reports whether n names a temporary table that the text has made
// before.
func (p *parser) isMade(n name) bool {
	return slices.ContainsFunc(p.made[n.table], func(m name) bool {
		return (n.schema == m.schema || slices.Contains(temporaries, n.schema)) &&
			(!p.d.Grammar.TableCase || p.bare(m) == p.bare(n))
	})
}

// bare returns the last part of the name as the text has it, without the quotes
// around it. A part with a point in it equals only itself.
func (p *reader) bare(n name) string {
	text := p.q[n.start:n.end]
	return strings.Trim(text[strings.LastIndexByte(text, '.')+1:], "` ")
}

// mayBeMade reports whether a table may be a temporary one that the text has made
// before.
func (p *parser) mayBeMade(n name) bool {
	if !p.maybe[n.table] {
		return false
	}
	// The session's own schema has another name too: PostgreSQL 18, "CREATE
	// SCHEMA", pg_temp_3.
	return n.schema == "" || !p.d.Grammar.TempSchema || slices.Contains(temporaries, n.schema) ||
		strings.HasPrefix(n.schema, "pg_temp")
}

// target returns the configured table that a name means here, nil for none. With
// a reason it is not certain which table that is, and no key can be filled.
func (p *parser) target(n name) (*Target, Reason) {
	t := p.lookup(n.schema, n.table)
	if t == nil {
		return nil, ""
	}
	made := p.isMade(n)
	if !made && p.mayBeMade(n) {
		return t, ErrSeveral
	}
	if p.standing == nil {
		if made {
			t = nil
		}
		return t, ""
	}
	s := p.standing(TableName{n.schema, n.table, p.q[n.start:n.end]})
	switch {
	case made && s == ByPath && n.schema == "", !made && p.moved && s != IsConfigured && s != Unasked:
		return t, ErrSeveral
	case made, s == IsTemporary:
		return nil, ""
	case s == Unasked:
		return t, ErrReadsCount
	}
	return t, ""
}

// Standing says which table the name of a configured table means on a connection
// before a text is sent.
type Standing uint8

const (
	// IsConfigured says that it means the configured table.
	IsConfigured Standing = iota
	// WasTemporary says the same of a name that has been a temporary table's, and
	// may become one's again.
	WasTemporary
	// ByPath says the same where the search path may have the schema of temporary
	// tables behind the other table's schema.
	ByPath
	// IsTemporary says that it means a temporary table.
	IsTemporary
	// Unasked says that it may mean a temporary table, and that the question would
	// change what the text reads: see [ReadsCount].
	Unasked
)

// TableName is a table's name as a text has it.
type TableName struct {
	Schema, Table string // folded; Schema "" where the text names none
	Text          string // as it stands there, quotes included
}

// CompileBeside is [Compile] for a connection on which names may mean temporary
// tables: it asks standing about each configured table.
func CompileBeside(d *dialect.Dialect, lookup Lookup, query string, standing func(TableName) Standing) *Plan {
	query = strings.Clone(query)
	p := &parser{reader: readerAt(d, query, 0), lookup: lookup, standing: standing}
	p.statementsOf()
	return p.plan()
}

// Made returns the folded names, without a schema, of the tables that a text makes
// by CREATE TABLE.
func Made(d *dialect.Dialect, query string) (names []string) {
	p := newReader(d, query)
	for p.tok.kind != tokEnd {
		if !p.accept("create") {
			p.advance()
			continue
		}
		p.accept("unlogged")
		if !p.accept("table") {
			continue
		}
		if p.accept("if") {
			p.accept("not")
			p.accept("exists")
		}
		if n, ok := p.tableName(); ok {
			names = append(names, n.table)
		}
	}
	return names
}
