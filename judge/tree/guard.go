package tree

import (
	"fmt"
	"slices"
)

// If a value in VALUES is a set, PostgreSQL stores several rows for the one row. So a fill
// writes COALESCE around such a value, in which the engine accepts no set, or SELECT
// instead of VALUES.

// guarded is the label of COALESCE.
const guarded = "CoalesceExpr"

// unguarded returns b without the COALESCEs of one value that a does not have.
func unguarded(a, b *Node) *Node {
	if a == nil || b == nil {
		return b
	}
	if b.Label == guarded && a.Label != guarded {
		inner := b
		for inner.Label == guarded || inner.Label == "Args" || inner.Label == "list" {
			if len(inner.Kids) != 1 {
				return b
			}
			inner = inner.Kids[0]
		}
		return unguarded(a, inner)
	}
	if spelled(b) && !spelled(a) {
		// b is a node of the checker, which knows only words and brackets, so the guarded
		// value is in the brackets, the second child of b.
		n := *b
		n.Kids = b.Kids[1].Kids
		return unguarded(a, &n)
	}
	if a.Label != b.Label || len(a.Kids) != len(b.Kids) {
		return b
	}
	n := *b
	n.Kids = slices.Clone(b.Kids)
	for i := range n.Kids {
		n.Kids[i] = unguarded(a.Kids[i], n.Kids[i])
	}
	return &n
}

// spelled reports whether a node is the word COALESCE and brackets.
func spelled(n *Node) bool {
	return len(n.Kids) == 2 && n.Kids[0] != nil && n.Kids[1] != nil && n.Kids[0].Label == "COALESCE" && len(n.Kids[1].Kids) > 0
}

// withoutGuards returns b without the guards (COALESCE) around the values of its only row,
// which a has without them.
func withoutGuards(a, b *Insert, column string) *Insert {
	if a.Form != Values || b.Form != Values || len(a.Rows) != 1 || len(b.Rows) != 1 {
		return b
	}
	at := -1
	if !slices.Contains(a.Names, column) {
		at = slices.Index(b.Names, column)
	}
	row := slices.Clone(b.Rows[0])
	if at >= 0 && len(row) != len(b.Columns) {
		at = len(row) - 1
	}
	i := 0
	for j := range row {
		if j == at {
			continue
		}
		if i < len(a.Rows[0]) {
			row[j] = unguarded(a.Rows[0][i], row[j])
		}
		i++
	}
	n := *b
	n.Rows = [][]*Node{row}
	return &n
}

// withoutBranch returns the key of a value that guards records besides: the result of a CASE
// with one branch, whose condition is TRUE OR COALESCE(record) IS NULL. It returns any other
// value as it is.
func withoutBranch(value *Node) *Node {
	branch := value.first("CaseExpr", "Args", "list", "CaseWhen")
	condition := branch.first("CaseWhen", "Expr", "BoolExpr", "Args", "list")
	if condition == nil || len(value.Kids) != 1 || condition.Kids[0].first("A_Const", "Val", "A_Const_Boolval") == nil {
		return value
	}
	for _, or := range condition.Kids[1:] {
		if or.first("NullTest", "Arg", guarded) == nil {
			return value
		}
	}
	for _, k := range branch.Kids {
		if k.Label == "Result" && len(k.Kids) == 1 {
			return k.Kids[0]
		}
	}
	return value
}

// first returns the node at the end of a path of labels, each one of a child of the node
// before; the first label is the node's own. It is nil if there is no such node.
func (n *Node) first(labels ...string) *Node {
	if n == nil || n.Label != labels[0] {
		return nil
	}
	for _, label := range labels[1:] {
		i := slices.IndexFunc(n.Kids, func(k *Node) bool { return k != nil && k.Label == label })
		if i < 0 {
			return nil
		}
		n = n.Kids[i]
	}
	return n
}

// withoutCollation returns the expression to which value applies a collation, or value
// itself if it applies none.
func withoutCollation(value *Node) *Node {
	for value.Label == "CollateClause" && len(value.Kids) > 0 && value.Kids[0].Label == "Arg" && len(value.Kids[0].Kids) == 1 {
		value = value.Kids[0].Kids[0]
	}
	return value
}

// set compares a row of VALUES with the query that replaces it: each of its values has to
// be in the query. In the tree of a judge that knows SQL, the row became a query that
// selects its values.
func (c *comparison) set(a, b *Insert, at int) error {
	whole := &Node{Kids: append(slices.Clone(b.With), b.Source)}
	selected := &Node{Label: "(", Kids: []*Node{{Label: "SELECT"}}}
	for i, v := range a.Rows[0] {
		if whole.count(v) == 0 && whole.count(withoutCollation(v)) == 0 && !whole.any(func(n *Node) bool { return v.Label == spelledValue && n.holds(v.Kids) }) {
			return fmt.Errorf("value %d is not in the query", i+1)
		}
		if i > 0 {
			selected.Kids = append(selected.Kids, &Node{Label: ","})
		}
		selected.Kids = append(selected.Kids, v.Kids...)
	}
	in := &Insert{Form: Query, Listed: a.Listed, Columns: a.Columns, Names: a.Names, Source: selected}
	c.filling.Queries = append(c.filling.Queries, Numbered{in, b, at})
	return nil
}

// spelledValue is the label of a value from the checker, which knows only words and
// brackets.
const spelledValue = "value"

// holds reports whether the children of n contain part, one node after the other.
func (n *Node) holds(part []*Node) bool {
	for i := 0; i+len(part) <= len(n.Kids); i++ {
		if sameNodes(n.Kids[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// becameQuery reports whether a row of VALUES became a query.
func becameQuery(a, b *Insert) bool {
	return a != nil && b != nil && a.Form == Values && len(a.Rows) == 1 && b.Form == Query
}

// withoutValues returns nodes without the word VALUES, which a query does not have; it
// stands among them or below INSERT.
func withoutValues(nodes []*Node) []*Node {
	nodes = slices.Clone(nodes)
	for i, n := range nodes {
		switch {
		case n == nil:
		case n.Label == "VALUES" && len(n.Kids) == 0:
			return without(nodes, i)
		case n.Label == "INSERT" && len(n.Kids) > 0 && n.Insert == nil:
			insert := *n
			insert.Kids = withoutValues(n.Kids)
			nodes[i] = &insert
			return nodes
		}
	}
	return nodes
}
