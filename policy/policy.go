package policy

import (
	"github.com/keyfill/keyfill/dialect"
)

// Policy is a configuration that was checked against a dialect. It never
// changes and is safe for concurrent use.
type Policy struct {
	names         namer
	defaultSchema string // folded
	exact         map[tableName]*entry
	globs         []*entry // the more specific first
}

// tableName is a folded name; schema is "" for a bare one.
type tableName struct{ schema, table string }

// entry is one entry of the tables of a configuration.
type entry struct {
	name          string // as written
	schema, table pattern
	literals      int // characters that are no wildcards

	// rule is that of the table of the entry's own name. For a glob, Table
	// and the states of sources of its own are still to be set.
	rule Rule
}

// Rule is what is done with the INSERTs into one table. It and its slices are
// shared and must not be changed.
type Rule struct {
	Table       string      // "table", or "schema.table" as the query names it, folded
	Keys        []RuleKey   // the keys to fill, at least one unless Identity
	Columns     []string    // all columns of the table in order, folded; nil when not known
	Mode        Mode        // the more cautious of the file's and the table's
	Unsupported Unsupported // [Refuse] or [Unfilled]
	Identity    bool        // the engine makes every key: the table is passed untouched
}

// RuleKey is a key column to fill. Columns whose source is identity are none.
type RuleKey struct {
	Column string         // folded
	State  string         // names the source's state: keys with the same one share a source
	Source Source         // what to open for it, with its defaults; the same for the same State
	Layout dialect.Layout // never ""
	Fill   Fill           // never empty

	own bool // State is of this table and column alone
}

// Match returns the rule for a table, or nil when it is not configured. The
// names are folded, as [dialect.Dialect.Fold] does it; schema is "" when the
// query has none.
//
// State does not depend on how the query names the table: it is that of a bare
// entry for any schema, and of a qualified one for the default schema too.
//
// An exact entry costs one or two map lookups, a glob a comparison for each
// more specific one. Rules of globs, and of bare entries for a qualified name,
// are made anew for each call and not kept.
func (p *Policy) Match(schema, table string) *Rule {
	full := tableName{schema, table}
	if schema == "" {
		full.schema = p.defaultSchema
	}
	if e := p.exact[full]; e != nil {
		return p.rule(e, schema, full)
	}
	if e := p.exact[tableName{"", table}]; e != nil {
		return p.rule(e, schema, full)
	}
	for _, e := range p.globs {
		if e.match(full) {
			return p.rule(e, schema, full)
		}
	}
	return nil
}

// match reports whether the entry is for the table.
func (e *entry) match(t tableName) bool {
	return e.table.match(t.table) && (e.isBare() || t.schema != "" && e.schema.match(t.schema))
}

func (e *entry) isBare() bool { return e.schema == pattern{} }

func (e *entry) isGlob() bool { return e.schema.wild || e.table.wild }

// meets reports whether some table is matched by both entries.
func (e *entry) meets(f *entry) bool {
	return e.table.meets(f.table) && (e.isBare() || f.isBare() || e.schema.meets(f.schema))
}

// rule returns the rule of e for the table that the query names with schema,
// and which is full.
func (p *Policy) rule(e *entry, schema string, full tableName) *Rule {
	if !e.isGlob() && schema == e.schema.text {
		return &e.rule
	}
	r := e.rule
	r.Table = p.names.join(schema, full.table)
	if !e.isGlob() {
		return &r
	}
	if e.isBare() {
		full.schema = ""
	}
	r.Keys = p.names.keysFor(r.Keys, full)
	return &r
}

// keysFor returns a copy of keys with the states that belong to the table.
func (n namer) keysFor(keys []RuleKey, t tableName) []RuleKey {
	copied := make([]RuleKey, len(keys))
	for i, k := range keys {
		if k.own {
			k.State = n.join(t.schema, t.table, k.Column)
		}
		copied[i] = k
	}
	return copied
}
