package policy

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"
)

var scopeField = of("scope", "The columns within whose values rows are numbered, each a name or {column, type}. Left out, there is one numbering for the table.",
	scopeShape(), func(s *Source) **Scope { return &s.Scope }).as([]string{"order_id"}).ruled(fieldRules{
	check: checkScope, suit: namer.suitScope,
	upstream: "each parent has a numbering of its own, and the integers of upstream belong to this column alone",
	owns:     "the rows of one table's parents",
})

var scopeTypes = []string{ScopeInteger, ScopeText}

// scopeWhat is what messages call the type of a column of the row.
const scopeWhat = "type of a column"

// checkScope checks the field scope of the sequence at p: the columns for each of whose
// values the sequence numbers rows separately.
func checkScope(m *mistakes, p place, s Source) {
	if s.Scope == nil {
		return
	}
	at := p.in("scope")
	if len(*s.Scope) == 0 {
		m.wrong(at, "scope names no column; name one, or leave scope out to number the whole table")
	}
	checkColumns(m, at, *s.Scope)
	if s.Transaction == TransactionAutonomous {
		m.wrong(p.in("transaction"), "a scoped sequence numbers the rows of a parent in the INSERT's own transaction; write transaction: joined, or leave transaction out")
	}
	if s.FollowExplicit {
		m.wrong(p.in("follow_explicit"), "a scoped sequence begins above the parent's greatest key and ignores greater keys that an INSERT brings later; leave this field out")
	}
	if s.Table != nil {
		m.wrong(p.in("table"), "a scoped sequence has a row for each parent in keyfill's own table; leave this field out")
	}
}

// checkColumns checks a list of columns of the row, which is at p.
func checkColumns(m *mistakes, p place, columns Scope) {
	var seen []string
	for i, c := range columns {
		switch element := p.element(i); {
		case c.Column == "":
			m.wrong(element, "column is missing")
		case slices.Contains(seen, c.Column):
			m.wrong(element, "%s twice; leave one of the two", show(c.Column))
		case c.Type != "" && !slices.Contains(scopeTypes, c.Type):
			m.wrong(element, "%s", unknownWord(scopeWhat, c.Type, scopeTypes))
		}
		seen = append(seen, c.Column)
	}
}

// completeColumns sets the types that a list of columns leaves out. The list may be nil.
func completeColumns(columns *Scope) {
	for i := range columns.columns() { // a copy already: see kind.complete
		c := &(*columns)[i]
		c.Type = cmp.Or(c.Type, ScopeInteger)
	}
}

// suitScope checks the names of the scope's columns, of the sequence at p, in a dialect.
func (n namer) suitScope(m *mistakes, p place, s Source) { n.suitColumns(m, p.in("scope"), s.scope()) }

// suitColumns checks the names of columns, whose list is at p, in a dialect.
func (n namer) suitColumns(m *mistakes, at place, columns []ScopeColumn) {
	seen := make(map[string]bool)
	for i, c := range columns {
		folded := n.suitColumn(m, at.element(i), c.Column)
		if seen[folded] && folded != "" {
			m.wrong(at.element(i), "%s twice; leave one of the two", show(c.Column))
		}
		seen[folded] = true
	}
}

// scopeShape is the shape (type of a value in the file) of a list of columns, each a name
// or a mapping.
func scopeShape() shape[*Scope] {
	columns := list(orMapping(shape[ScopeColumn]{
		read:   func(r *reader, p place, n *yaml.Node) ScopeColumn { return ScopeColumn{Column: text.read(r, p, n)} },
		schema: text.schema,
	}, object(scopeFields)))
	return shape[*Scope]{
		read: func(r *reader, p place, n *yaml.Node) *Scope {
			scope := Scope(columns.read(r, p, n))
			return &scope
		},
		schema: columns.schema,
	}
}

var scopeFields = []field[ScopeColumn]{
	must("column: order_id", bind("column", "The column, written as in SQL.", text, func(c *ScopeColumn) *string { return &c.Column })).as("order_id"),
	bind("type", "The column's type. integer: any integer; text: a text that compares byte for byte.",
		word[string](scopeWhat, scopeTypes), func(c *ScopeColumn) *string { return &c.Type }).byDefault("integer").as("text"),
}
