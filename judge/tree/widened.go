package tree

// MySQL and MariaDB throw the ORDER BY of a common table expression away. A fill also
// writes the expressions of a query's ORDER BY into its select list, after the caller's
// columns.

// Widened reports whether b equals a except for further elements in one of its lists.
func Widened(a, b *Node) bool {
	if a == nil || b == nil || a.Label != b.Label || a.Leaf != b.Leaf {
		return false
	}
	front := 0
	for front < min(len(a.Kids), len(b.Kids)) && Same(a.Kids[front], b.Kids[front]) {
		front++
	}
	back := 0
	for back < min(len(a.Kids), len(b.Kids))-front && Same(a.Kids[len(a.Kids)-1-back], b.Kids[len(b.Kids)-1-back]) {
		back++
	}
	switch {
	case front+back == len(a.Kids):
		return len(b.Kids) > len(a.Kids)
	case len(a.Kids) == len(b.Kids) && front+back == len(a.Kids)-1:
		return Widened(a.Kids[front], b.Kids[front])
	}
	return false
}

// any reports whether is returns true for one of the nodes.
func (n *Node) any(is func(*Node) bool) (found bool) {
	n.Walk(func(n *Node) { found = found || is(n) })
	return found
}
