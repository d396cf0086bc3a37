package effects

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// A temporary table or view hides a table of the same name, and keyfill does not fill it:
// MySQL 8.4, section 15.1.20.2; PostgreSQL 18, "CREATE TABLE", TEMPORARY;
// https://www.sqlite.org/lang_naming.html. SQL Server's temporary tables have names of
// their own, and Oracle's are part of the schema.

// Temporaries are the words that make a table temporary, and the names of the schemas that
// hold temporary tables.
var Temporaries = []string{"temp", "temporary", "pg_temp"}

// Temporary returns the folded names, without a schema, of the temporary tables that a text
// may make by CREATE, SELECT INTO or RENAME. Callers ask about texts with
// words.ConcernsTemporary, and about texts with RENAME on a connection that has temporary
// tables. Some of the names may not be tables.
func Temporary(d *dialect.Dialect, query string) []string {
	var names []string
	p := reader.New(d, opened(d, query))
	for p.Token.Kind != scan.End {
		switch {
		case p.Accept("rename"):
			names = append(names, renamed(&p)...)
			continue
		case p.IsAny(Temporaries...):
			p.Advance()
		case isTemporarySchema(&p):
			if p.Advance(); !p.IsPunct('.') {
				continue
			}
		default:
			p.Advance()
			continue
		}
		if n, ok := madeTable(&p); ok {
			names = append(names, n.Table)
		}
	}
	return names
}

// isTemporarySchema reports whether the current token is a quoted name that may be the
// schema of temporary tables.
func isTemporarySchema(p *reader.Reader) bool {
	quoted := p.Token.Kind == scan.Quoted || p.Token.Kind == scan.String && p.Dialect.Grammar.StringNames
	return quoted && slices.Contains(Temporaries, p.Folded(p.Token))
}

// renamed reads the rest of a statement after RENAME and returns the new names in it.
func renamed(p *reader.Reader) (names []string) {
	name := func() {
		if n, ok := p.TableName(); ok {
			names = append(names, n.Table)
		}
	}
	// The word TO may be left out: MySQL 8.4, section 15.1.9.
	if !p.IsAny("to", "as", "table", "tables", "column", "index", "key", "constraint") {
		name()
	}
	for !p.AtEnd() {
		if to := p.Accept("to") || p.Accept("as"); to {
			name()
		} else {
			p.Advance()
		}
	}
	return names
}

// opened returns a text in which each executable comment is replaced by its content.
func opened(d *dialect.Dialect, query string) string {
	if !strings.Contains(query, "!") {
		return query
	}
	var b strings.Builder
	s := scan.Scanner{Dialect: d, Text: query}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		text := query[t.Start:t.End]
		if t.Kind == scan.Executable {
			text = strings.TrimSuffix(text[strings.IndexByte(text, '!')+1:], "*/")
			text = " " + opened(d, strings.TrimLeft(text, "0123456789")) + " "
		}
		b.WriteString(text)
	}
	return b.String()
}

// madeTable reads the name of a table or view after TEMPORARY, or after the schema of
// temporary tables.
func madeTable(p *reader.Reader) (reader.Name, bool) {
	if !p.AcceptPunct('.') && !p.Accept("table") {
		p.Accept("recursive")
		p.Accept("view")
	}
	if p.Accept("if") {
		p.Accept("not")
		p.Accept("exists")
	}
	return p.TableName()
}

// CreatesTemporary reads CREATE TEMPORARY TABLE up to and including the table's name, and
// returns the name.
func CreatesTemporary(p *reader.Reader) (reader.Name, bool) {
	if !p.Accept("create") {
		return reader.Name{}, false
	}
	if p.Accept("or") {
		p.Accept("replace")
	}
	_ = p.Accept("global") || p.Accept("local")
	if !p.Accept("temp") && !p.Accept("temporary") || !p.IsWord("table") {
		return reader.Name{}, false
	}
	return madeTable(p)
}

// Made returns the folded names, without a schema, of the tables that a text makes
// by CREATE TABLE.
func Made(d *dialect.Dialect, query string) (names []string) {
	p := reader.New(d, query)
	for p.Token.Kind != scan.End {
		if !p.Accept("create") {
			p.Advance()
			continue
		}
		p.Accept("unlogged")
		if !p.Accept("table") {
			continue
		}
		if p.Accept("if") {
			p.Accept("not")
			p.Accept("exists")
		}
		if n, ok := p.TableName(); ok {
			names = append(names, n.Table)
		}
	}
	return names
}
