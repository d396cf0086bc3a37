package rewrite

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// A temporary table hides a table of the same name, and is not the one that is
// configured: MySQL 8.4, section 15.1.20.2; PostgreSQL 18, "CREATE TABLE",
// TEMPORARY; https://www.sqlite.org/lang_naming.html. Those of SQL Server have
// names of their own, and Oracle's are part of the schema.

// temporaries are the words that a temporary table is made with, and the
// schemas that hold it.
var temporaries = []string{"temp", "temporary", "pg_temp"}

// Temporary returns the folded names, without a schema, of the tables that a
// text may make temporary ones. It is for texts with [ConcernsTemporary]; some of
// the names may be those of other things.
func Temporary(d *dialect.Dialect, query string) []string {
	var names []string
	p := &parser{scanner: scanner{d: d, q: query}}
	for p.read(); p.tok.kind != tokEnd; {
		if !p.isAny(temporaries...) {
			p.advance()
			continue
		}
		p.advance()
		if n, ok := p.madeTable(); ok {
			names = append(names, n.table)
		}
	}
	return names
}

// madeTable reads the name of a table that is made from behind TEMPORARY, or
// behind the schema of temporary ones.
func (p *parser) madeTable() (name, bool) {
	if !p.acceptPunct('.') {
		p.accept("table")
	}
	if p.accept("if") {
		p.accept("not")
		p.accept("exists")
	}
	return p.tableName()
}

// keepsTables takes in what a statement that others follow does to the temporary
// tables of the text.
func (p *parser) keepsTables() {
	switch {
	case !p.d.Grammar.TempTables:
	case p.isWord("create"):
		q := *p
		q.advance()
		if q.accept("or") {
			q.accept("replace")
		}
		_ = q.accept("global") || q.accept("local")
		if !q.accept("temp") && !q.accept("temporary") || !q.isWord("table") {
			return
		}
		if n, ok := q.madeTable(); ok {
			p.made = append(p.made, n)
		}
	case p.isAny("insert", "replace", "select", "update", "delete", "with", "values", "explain", "analyze",
		"begin", "start", "savepoint", "release"):
	default:
		p.made = nil
	}
}

// isMade reports whether a table is a temporary one that the text has made
// before.
func (p *parser) isMade(n name) bool {
	return slices.ContainsFunc(p.made, func(m name) bool {
		return m.table == n.table && (n.schema == m.schema || slices.Contains(temporaries, n.schema)) &&
			(!p.d.Grammar.TableCase || p.bare(m) == p.bare(n))
	})
}

// bare returns the last part of the name as the text has it, without the quotes
// around it. A part with a point in it equals none but itself.
func (p *parser) bare(n name) string {
	text := p.q[n.start:n.end]
	return strings.Trim(text[strings.LastIndexByte(text, '.')+1:], "` ")
}

// TableName is a table's name as a text has it.
type TableName struct {
	Schema, Table string // folded; Schema "" where the text names none
	Text          string // as it stands there, quotes included
}

// CompileBeside is [Compile] for a connection on which names may be those of
// temporary tables: hidden is asked about the configured ones.
func CompileBeside(d *dialect.Dialect, lookup Lookup, query string, hidden func(TableName) bool) *Plan {
	query = strings.Clone(query)
	p := &parser{scanner: scanner{d: d, q: query}}
	p.lookup = func(schema, table string) *Target {
		t := lookup(schema, table)
		n := p.named
		if t != nil && n.schema == schema && n.table == table && hidden(TableName{schema, table, query[n.start:n.end]}) {
			return nil
		}
		return t
	}
	p.statementsOf()
	return p.plan()
}
