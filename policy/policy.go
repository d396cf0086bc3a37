package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/glob"
)

// ParseName splits the name of one table, written as in the file, and folds it as
// [Policy.Match] needs it. schema is empty if the name has none. The error is an
// [*Error], also for a glob, which does not name a single table.
func (p *Policy) ParseName(name string) (schema, table string, err error) {
	parts, msg := p.names.parse(name)
	if msg != "" {
		return "", "", &Error{Table: name, Msg: msg}
	}
	for _, part := range parts {
		if part.Wild {
			return "", "", &Error{Table: name, Msg: "is a glob: name one table"}
		}
	}
	n := len(parts)
	if n > 1 {
		schema = parts[n-2].Text
	}
	return schema, parts[n-1].Text, nil
}

// Policy is a configuration that was checked against a dialect. It never
// changes and is safe for concurrent use.
type Policy struct {
	names         namer
	defaultSchema string // folded
	exact         map[tableName]*entry
	inOrder       []*entry // the entries of exact, in the order of the file
	globs         []*entry // the entries with wildcards; those with more literal characters first
	states        map[string]*stateUse
	sources       []Source

	cased bool // see Cased

	settings dialect.Settings // see Settings
	certain  bool
}

// entry is one entry of tables: in a configuration.
type entry struct {
	name          string // as written
	schema, table glob.Pattern
	literals      int // how many characters of the name are not wildcards

	// keys are the key columns to fill; the names of their states (counters) are set later.
	// line and lines are where the entry and its keys are in the file.
	keys     []stateKey
	line     int
	lines    []KeyLines
	identity []IdentityKey

	// rule is the rule of the table that the entry names. For a glob, Table and the
	// fields that depend on the table's name are still to be set.
	rule Rule
}

// Rule is how the INSERTs into one table are filled. It and its slices are shared and
// must not be changed.
type Rule struct {
	Entry        string      // the name of the entry that matched, as the file spells it
	Table        string      // "table", or "schema.table" as the query names it, folded
	Schema, Name string      // the two parts of Table, folded; Schema is empty if the query names none
	Keys         []RuleKey   // the keys to fill, at least one unless Identity is set
	Columns      []string    // all columns of the table in order, folded; nil if they are not known
	Mode         Mode        // the more cautious of the file's mode and the table's mode
	Unsupported  Unsupported // [Refuse] or [Unfilled]
	Identity     bool        // the engine makes every key, so statements are sent untouched

	// Loose reports whether a state (counter) is named after the table's schema, and the
	// rule does not know whether that is the real schema; see [Policy.MatchFound].
	Loose bool
}

// RuleKey is a key column to fill. A column whose source is identity has no RuleKey.
type RuleKey struct {
	Column string         // folded
	Source Source         // the source to open for the state, with its defaults set; two RuleKeys with equal State have equal Source
	Layout dialect.Layout // empty for integers that are sent as integers, and only for these
	Fill   Fill           // never empty
	Prefix string         // of the keys in the column; empty if the policy names a layout, since the column then holds UUIDs

	Integer bool // whether the source makes integers

	// Contiguous reports whether the source gives consecutive integers, as many as an
	// INSERT … SELECT has rows.
	Contiguous bool

	// Joined reports whether the source makes the keys on the statement's own connection, in
	// its transaction, so that they are rolled back with the rows.
	Joined bool

	// Scope are the columns for each of whose values rows are numbered separately,
	// folded; nil if all rows are numbered together.
	Scope []ScopeColumn

	// From are the columns that the keys of a uuidv5 are made from, folded; nil for other
	// kinds.
	From []ScopeColumn

	// PeriodColumn is the column whose date says to which period a row belongs, folded;
	// empty if the server's clock says it, or if there are no periods.
	PeriodColumn string

	MaxBits      int          // the greatest number of bits of a key, 31, 53 or 63: the least of all keys that share State; 0 unless Integer
	LastInsertID LastInsertID // never empty; [LastInsertIDOff] unless Integer

	// SaysLastInsertID reports whether LastInsertID comes from the file, and is not the
	// default.
	SaysLastInsertID bool

	// State is the name of the source's state (counter): keys with the same State share a
	// source. It may hold {value:x}, see [RuleKey.StateFor].
	State string

	// Own reports whether State is named after the column alone, since its source is
	// written in the table's entry and has no name. Other entries, and the entries of
	// other files, can share a state of any other name.
	Own bool

	// Values are the names x of all {value:x} in State, each once.
	Values []string

	// Shared reports whether State may serve other columns too: several keys of the file
	// have it, or several tables of a glob.
	Shared bool

	// Columns are all columns that State serves, as far as they are known: the columns
	// of exact entries, in the order of the file, and this column. It is this column
	// alone unless Shared. The column of an entry without a schema has no schema here
	// either, however the query names the table, unless State has it.
	Columns []ColumnRef

	state template // State
	fault string   // the message with which StateFor fails; empty if it does not fail
}

// Sent returns the source that makes the keys as the column holds them: without a prefix
// if the column holds the UUIDs alone.
func (k *RuleKey) Sent() Source {
	s := k.Source
	s.Prefix = k.Prefix
	return s
}

// Match returns the rule for a table, or nil when it is not configured. The names are
// folded, as [dialect.Dialect.Fold] does it; schema is empty if the query has none.
//
// The state does not depend on how the query names the table: an entry without a schema
// has one state for all schemas, and an entry with a schema has its state also if the
// query names no schema and means the default schema. Only a name with {schema}
// separates the schemas of an entry without one; if neither the query nor
// default_schema names one, [RuleKey.StateFor] fails.
//
// No glob matches a table that belongs to a session, #t or @t on SQL Server.
//
// An exact entry costs one or two map lookups, a glob a comparison for each more
// specific one. The rules of globs, and of entries without a schema for a name with
// one, are made anew for each call and not kept.
func (p *Policy) Match(schema, table string) *Rule {
	full := tableName{schema, table}
	if schema == "" {
		full.schema = p.defaultSchema
	}
	if e := p.entryOf(full); e != nil {
		return p.rule(e, schema, full)
	}
	return nil
}

// entryOf returns the entry that matches a table, or nil if none does.
func (p *Policy) entryOf(full tableName) *entry {
	if e := p.exact[full]; e != nil {
		return e
	}
	if e := p.exact[tableName{"", full.table}]; e != nil {
		return e
	}
	if p.names.isSessions(full.table) {
		return nil
	}
	for _, e := range p.globs {
		if e.match(full) {
			return e
		}
	}
	return nil
}

// match reports whether the entry matches the table t.
func (e *entry) match(t tableName) bool {
	return e.table.Match(t.table) && (e.isBare() || t.schema != "" && e.schema.Match(t.schema))
}

func (e *entry) isBare() bool { return e.schema == glob.Pattern{} }

func (e *entry) isGlob() bool { return e.schema.Wild || e.table.Wild }

// meets reports whether some table is matched by both entries.
func (e *entry) meets(f *entry) bool {
	return e.table.Meets(f.table) && (e.isBare() || f.isBare() || e.schema.Meets(f.schema))
}

// rule returns the rule of e for a table. schema is the schema that the query names,
// and full is the table's full name.
func (p *Policy) rule(e *entry, schema string, full tableName) *Rule {
	if !e.isGlob() && schema == e.schema.Text {
		return &e.rule
	}
	r := e.rule
	r.Table, r.Schema, r.Name = p.names.join(schema, full.table), schema, full.table
	r.Loose = e.isLoose(schema)
	if e.isGlob() || e.namesSchema() {
		r.Keys = p.keysFor(e, full)
	}
	return &r
}

// isLoose reports whether a state (counter) of e is named after the real schema of the
// table, which may differ from schema, the one in the query or empty.
func (e *entry) isLoose(schema string) bool {
	return e.isBare() && slices.ContainsFunc(e.keys, func(k stateKey) bool {
		return Stateful(k.Source) && (k.name == nil && schema != "" || k.name.has(wordSchema))
	})
}

// Sources returns the stateful sources of all tables and globs, each once and with its
// defaults: in the order of the tables in the file, or by the names of the tables if
// the configuration was built in Go.
func (p *Policy) Sources() []Source { return slices.Clone(p.sources) }

// Found is where the engine finds a table that a query names.
type Found struct {
	Schema string // folded
	Bare   bool   // whether the query names the table without a schema

	// Home reports whether the name of the table without a schema means this table when
	// the database is opened.
	Home bool
}

// MatchFound is [Policy.Match] for a table that the engine has found. A source that is
// written in a table's entry, without a name, has a separate state (counter) for each real
// table. If that entry has no schema, the name of the state contains the schema, unless Home
// is set. A name without a schema matches an entry with one only if there is a
// default_schema, or if an entry without a schema matches too.
func (p *Policy) MatchFound(f Found, table string) *Rule {
	full := tableName{f.Schema, table}
	e := p.entryOf(full)
	if e == nil || f.Bare && !e.isBare() && p.defaultSchema == "" && p.entryOf(tableName{"", table}) == nil {
		return nil
	}
	r := e.rule
	r.Schema, r.Name, r.Loose = f.Schema, table, false
	r.Table = p.names.join(table)
	if !f.Bare {
		r.Table = p.names.join(f.Schema, table)
	}
	r.Keys = nil
	for _, k := range e.keys {
		if k.name == nil && e.isBare() && !f.Home {
			k.name = literally(p.names.join(f.Schema, table, k.Column))
			k.apart = true
		}
		r.Keys = append(r.Keys, p.keyFor(e, k, full))
	}
	return &r
}

// Schemas reports whether the schema of a table decides which entry matches it.
func (p *Policy) Schemas() bool {
	if p.defaultSchema != "" {
		return true
	}
	for _, e := range p.inOrder {
		if !e.isBare() {
			return true
		}
	}
	return slices.ContainsFunc(p.globs, func(e *entry) bool { return !e.isBare() })
}

// Cased reports whether the names of tables in the file, as they are written, may have
// letters that are not lower case.
func (p *Policy) Cased() bool { return p.cased }

// HasDefaultSchema reports whether a name without a schema can match an entry with one.
func (p *Policy) HasDefaultSchema() bool { return p.defaultSchema != "" }

// Anywhere reports whether an entry matches a table of this name in some schema.
func (p *Policy) Anywhere(table string) bool {
	for _, e := range p.inOrder {
		if e.table.Match(table) {
			return true
		}
	}
	return !p.names.isSessions(table) && slices.ContainsFunc(p.globs, func(e *entry) bool { return e.table.Match(table) })
}
