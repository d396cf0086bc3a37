package policy

import "cmp"

// CheckStart is the word of the field check: the policy is compared with the database
// when the first connection is opened.
const CheckStart = "start"

// EngineNone is the value of [Config.Engine] that names the dialect's own engine.
const EngineNone = "none"

var checkWords = []string{CheckStart}

// KeyLines are the lines of the file on which a key is defined, counted from 1. They
// are 0 if the configuration was built in Go.
type KeyLines struct {
	Column int // the line with the key's column
	Source int // the line of the key's source, or the line of its column if no source is written
	Layout int // the line of the key's layout, or the value of Source if no layout is written
}

// Entry is one entry under tables: of the file.
type Entry struct {
	Name   string // as written
	Line   int    // the line of the entry in the file, from 1; 0 if the configuration was built in Go
	IsGlob bool
	Schema string // the schema in the entry's name, folded; empty if the name has no schema, or a schema with * or ?

	// Rule is the rule of the table that the entry names. For a glob, the fields that
	// depend on the name of a table are not set. It must not be changed.
	Rule *Rule

	// Keys are the lines of the keys of Rule, in their order.
	Keys []KeyLines

	// Identity are the columns whose keys the engine makes. Rule does not contain them.
	Identity []IdentityKey
}

// IdentityKey is a column with source: identity, whose keys the engine makes.
type IdentityKey struct {
	Column string // folded
	Line   int    // the line of the column's source, or of the column if no source is written; 0 if it is not known
}

// Entries returns the entries of the file: first the entries that name one table, in the
// order of the file, then the globs, of which the more specific ones come first.
func (p *Policy) Entries() []Entry {
	var all []Entry
	for _, e := range p.inOrder {
		all = append(all, e.shown())
	}
	for _, e := range p.globs {
		all = append(all, e.shown())
	}
	return all
}

// EntryOf returns the entry that [Policy.Match] would use for a table. The names are folded
// as the engine compares names; schema is empty if the table is named without one.
func (p *Policy) EntryOf(schema, table string) (Entry, bool) {
	full := tableName{schema, table}
	if schema == "" {
		full.schema = p.defaultSchema
	}
	e := p.entryOf(full)
	if e == nil {
		return Entry{}, false
	}
	return e.shown(), true
}

func (e *entry) shown() Entry {
	shown := Entry{Name: e.name, Line: e.line, IsGlob: e.isGlob(), Rule: &e.rule, Keys: e.lines, Identity: e.identity}
	if !e.schema.Wild {
		shown.Schema = e.schema.Text
	}
	return shown
}

// Line returns the line of the file on which a field is, such as "dialect", or with a
// name, the line of that entry of "tables", "sources" or "stores". It returns 0 if the
// file does not have it, or if the configuration was built in Go.
func (c *Config) Line(field, name string) int {
	if c == nil || c.origin == nil {
		return 0
	}
	p := place{}.in(field)
	if name != "" {
		p = p.entry(name)
	}
	return c.origin.at[p].line
}

// linesOf returns the lines on which the key at p is defined.
func (o *origin) linesOf(p place) KeyLines {
	if o == nil {
		return KeyLines{}
	}
	lines := KeyLines{Column: o.find(p.in("column")).line}
	lines.Source = cmp.Or(o.at[p.in("source")].line, lines.Column)
	lines.Layout = cmp.Or(o.at[p.in("layout")].line, lines.Source)
	return lines
}
