package policy

import "cmp"

// CheckStart is the word of check: that compares the policy with the database when
// the first connection is opened.
const CheckStart = "start"

var checkWords = []string{CheckStart}

// KeyLines are the lines on which a key stands in the file, from 1; 0 where the
// configuration was built in Go.
type KeyLines struct {
	Column int // of its column
	Source int // of its source, else of its column
	Layout int // of its layout, else of its source
}

// Entry is one entry under tables: of the file.
type Entry struct {
	Name   string // as written
	Line   int    // from 1; 0 where the configuration was built in Go
	IsGlob bool
	Schema string // folded; empty if the name has none, or has * or ? in it

	// Rule is the rule of the table that the entry names. Of a glob the fields are not
	// set that depend on the name of a table. It must not be changed.
	Rule *Rule

	// Keys are the lines of the keys of Rule, in their order.
	Keys []KeyLines

	// Identity are the columns whose keys the engine makes, of which Rule has none.
	Identity []IdentityKey
}

// IdentityKey is a column with source identity.
type IdentityKey struct {
	Column string // folded
	Line   int    // of its source, else of its column; 0 where it is not known
}

// Entries returns the entries of the file: first those that name one table, in the
// order of the file, then the globs, the more specific ones first.
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

// EntryOf returns the entry that matches a table, which [Policy.Match] would use. The
// names are folded; schema is empty for a bare name.
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
	if !e.schema.wild {
		shown.Schema = e.schema.text
	}
	return shown
}

// Line returns the line of the file on which a field stands, such as "dialect", or
// with a name an entry of "tables", "sources" or "stores"; 0 where it is not there, or
// the configuration was built in Go.
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

// linesOf returns the lines of the key at p.
func (o *origin) linesOf(p place) KeyLines {
	if o == nil {
		return KeyLines{}
	}
	lines := KeyLines{Column: o.find(p.in("column")).line}
	lines.Source = cmp.Or(o.at[p.in("source")].line, lines.Column)
	lines.Layout = cmp.Or(o.at[p.in("layout")].line, lines.Source)
	return lines
}
