// Package tree has the trees that judges compare: statements in which every INSERT has the
// same form, whichever parser read it.
//
// [Compare] checks whether one tree is another one plus exactly one key column, and one key
// for each row. It knows no SQL and nothing of the rewriter.
package tree

import "strings"

// Text is a query as a judge read it.
type Text struct {
	Statements []*Node
	// Comments are the comments in the order of the text, with their marks; nil
	// from judges that throw them away.
	Comments []string
	// Load is the way in which the text stores rows without an INSERT; empty if it stores
	// no rows in such a way, or if the judge does not recognize these ways.
	Load Load
}

// Load is a way to store rows in a table without an INSERT.
type Load string

// The ways to store rows in a table without an INSERT.
const (
	Bulk        Load = "bulk load"    // COPY, LOAD DATA, BULK INSERT, INSERT BULK
	OutputInto  Load = "output into"  // OUTPUT INTO of an UPDATE, a DELETE or a MERGE
	PrepareText Load = "prepare text" // PREPARE of an INSERT in a string
)

// Node is a part of a statement without its place in the text. Two nodes are the
// same when their labels and their kids are.
type Node struct {
	Label string
	Kids  []*Node
	// Insert is set for an INSERT. Kids then holds the parts that are neither columns nor
	// values: target, modifiers, upsert clause and the like.
	Insert *Insert
	// Table is set for VALUES used as a table; Kids then holds the other parts.
	Table *Table
	// Wrap is the effect of the node on the INSERTs below it; empty for no effect.
	Wrap Wrap
	// Leaf is the kind of a node without kids; a key can only be a placeholder or a
	// literal.
	Leaf Leaf
	// Ordinal is the place of a placeholder among those in the text, from 1; 0
	// where the judge does not count them.
	Ordinal int
}

// Leaf is the kind of a leaf: a placeholder, a literal, or neither.
type Leaf uint8

// The kinds of leaves.
const (
	Plain       Leaf = iota
	Placeholder      // a placeholder, whose label is its spelling
	Literal          // a literal, whose label is its value
)

// Wrap is a kind of statement that contains other statements.
type Wrap string

// The kinds of statements that contain others.
const (
	Body    Wrap = "body" // a body of a routine, a trigger or a rule
	Block   Wrap = "block"
	Explain Wrap = "explain"
	Prepare Wrap = "prepare"
	Merge   Wrap = "merge"
	Multi   Wrap = "multi-table"
	Nested  Wrap = "nested" // an INSERT within WITH, FROM, COPY and the like
)

// Form is how an INSERT gives its rows.
type Form uint8

// The forms of an INSERT.
const (
	Values  Form = iota // VALUES with rows, also VALUES () and () VALUES ()
	Set                 // one row
	Default             // DEFAULT VALUES: one row without columns
	Query               // SELECT, TABLE, WITH, EXEC: rows that the text does not hold
)

// Insert is an INSERT in the one form that all judges give it.
type Insert struct {
	Form Form
	// Listed is set if the text has a column list, even an empty one.
	Listed  bool
	Columns []*Node
	Names   []string  // the columns' names in lower case, without qualifier
	Rows    [][]*Node // the values of each row; nil if the form is Query
	Source  *Node     // for Query
	// With holds the names in a WITH before the INSERT, if the form is Query: a fill may
	// add to it. For other forms, WITH is among the Kids.
	With []*Node
	// Alias is the column list of MySQL's row alias; nil if there is no row alias with
	// columns.
	Alias []string
	// NoTable is set if the target is no table (a variable, a function, a subquery), or if
	// its name shows that it is a temporary table.
	NoTable bool
	// Exec is set if the rows come from a procedure.
	Exec bool
}

// Same reports whether two nodes are the same, INSERTs in them included.
func Same(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Label == b.Label && sameNodes(a.Kids, b.Kids) && sameInsert(a.Insert, b.Insert) && sameTable(a.Table, b.Table)
}

func sameNodes(a, b []*Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Same(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameInsert(a, b *Insert) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Form != b.Form || a.Listed != b.Listed || len(a.Rows) != len(b.Rows) ||
		!sameNodes(a.Columns, b.Columns) || !Same(a.Source, b.Source) || !sameNodes(a.With, b.With) ||
		strings.Join(a.Alias, ",") != strings.Join(b.Alias, ",") {
		return false
	}
	for i := range a.Rows {
		if !sameNodes(a.Rows[i], b.Rows[i]) {
			return false
		}
	}
	return true
}

// Walk calls visit for n and all nodes below it, also inside INSERTs, the outer ones first.
func (n *Node) Walk(visit func(*Node)) {
	if n == nil {
		return
	}
	visit(n)
	for _, k := range n.Kids {
		k.Walk(visit)
	}
	n.Table.walk(visit)
	in := n.Insert
	if in == nil {
		return
	}
	for _, c := range in.Columns {
		c.Walk(visit)
	}
	for _, row := range in.Rows {
		for _, v := range row {
			v.Walk(visit)
		}
	}
	in.Source.Walk(visit)
	for _, w := range in.With {
		w.Walk(visit)
	}
}

// count returns how often part occurs in n.
func (n *Node) count(part *Node) int {
	found := 0
	n.Walk(func(m *Node) {
		if m.Label == part.Label && Same(m, part) {
			found++
		}
	})
	return found
}
