package tree

import (
	"slices"
	"strings"
)

// A SELECT without FROM is a row: a fill writes the key as one more item of its list. Under
// UNION ALL each SELECT gets a key.

// selected returns the keys that b has in its select lists and a does not have. It returns
// false if anything else differs except guards (see unguarded), or if a SELECT with a key
// may give several rows.
func selected(a, b *Node) (keys []*Node, ok bool) {
	switch {
	case Same(a, b), Same(a, unguarded(a, b)):
		return nil, true
	case a == nil || b == nil || a.Label != b.Label || a.Leaf != b.Leaf:
		return nil, false
	case slices.ContainsFunc(b.Kids, func(n *Node) bool { return isWord(n, "SELECT") }):
		return selectedWords(a.Kids, b.Kids)
	case len(b.Kids) == len(a.Kids)+1:
		// The list is in the tree of a judge that knows SQL, where the key is the last
		// item.
		keys = append(keys, b.Kids[len(a.Kids)])
	case len(b.Kids) != len(a.Kids):
		return nil, false
	}
	for i, n := range a.Kids {
		more, ok := selected(n, b.Kids[i])
		if !ok {
			return nil, false
		}
		keys = append(keys, more...)
	}
	return keys, true
}

// isTail reports whether an item is a key that MySQL counts up for each row of a query.
func isTail(item []*Node) bool {
	is := false
	for _, n := range item {
		n.Walk(func(n *Node) { is = is || strings.EqualFold(n.Label, "UUID_SHORT") })
	}
	return is
}

// selection is a part of a query from the checker, which knows only words and brackets: the
// nodes before a select list, and the items of the list.
type selection struct {
	front []*Node
	items [][]*Node
}

// selectedWords does what selected does, for nodes of the checker, which are words and
// brackets.
func selectedWords(a, b []*Node) (keys []*Node, ok bool) {
	before, after := selections(a), selections(b)
	if len(before) != len(after) {
		return nil, false
	}
	for i, s := range after {
		if len(s.front) != len(before[i].front) {
			return nil, false
		}
		for j, n := range s.front {
			more, ok := selected(before[i].front[j], n)
			if !ok {
				return nil, false
			}
			keys = append(keys, more...)
		}
		n := len(before[i].items)
		if len(s.items) == n {
			if n > 0 {
				return nil, false // a SELECT lacks the key that another SELECT of the query has
			}
			continue
		}
		if len(s.items) != n+1 || i+1 == len(after) || !isRow(s, after[i+1].front) && !isTail(s.items[n]) {
			return nil, false
		}
		for j, item := range before[i].items {
			wanted, got := &Node{Kids: item}, &Node{Kids: s.items[j]}
			if !Same(wanted, got) && !Same(wanted, withoutGuard(got)) {
				return nil, false
			}
		}
		keys = append(keys, &Node{Kids: s.items[n]})
	}
	return keys, true
}

// selections cuts a query at its select lists. The last part has no list.
func selections(nodes []*Node) (all []selection) {
	s := selection{}
	inside := false
	for _, n := range nodes {
		switch {
		case !inside:
			s.front = append(s.front, n)
			if inside = isWord(n, "SELECT"); inside {
				s.items = [][]*Node{nil}
			}
		case slices.ContainsFunc(listEnds, func(w string) bool { return isWord(n, w) }):
			all, inside = append(all, s), false
			s = selection{front: []*Node{n}}
		case n.Label == ",":
			s.items = append(s.items, nil)
		default:
			last := &s.items[len(s.items)-1]
			*last = append(*last, n)
		}
	}
	if all = append(all, s); inside {
		all = append(all, selection{})
	}
	return all
}

// listEnds are words that end a select list.
var listEnds = []string{"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "INTO", "UNION", "EXCEPT", "INTERSECT", "MINUS"}

// isRow reports whether a SELECT gives one row at most, by its list and the nodes after
// it: no FROM but FROM DUAL, and nothing that compares or makes rows.
func isRow(s selection, behind []*Node) bool {
	if first := s.items[0]; len(first) > 0 && slices.ContainsFunc([]string{"DISTINCT", "DISTINCTROW", "UNIQUE", "TOP"}, func(w string) bool { return isWord(first[0], w) }) {
		return false
	}
	for i, n := range behind {
		next := &Node{}
		if i+1 < len(behind) {
			next = behind[i+1]
		}
		switch {
		case isWord(n, "FROM") && !isWord(next, "DUAL"), isWord(n, "UNION") && !isWord(next, "ALL"):
			return false
		case slices.ContainsFunc([]string{"GROUP", "HAVING", "WINDOW", "FOR", "INTO", "EXCEPT", "INTERSECT", "MINUS", "CONNECT"}, func(w string) bool { return isWord(n, w) }):
			return false
		}
	}
	return true
}

// withoutGuard returns an item without the COALESCE around its value.
func withoutGuard(item *Node) *Node {
	if len(item.Kids) < 2 || !isWord(item.Kids[0], "COALESCE") {
		return item
	}
	return &Node{Kids: append(slices.Clone(item.Kids[1].Kids), item.Kids[2:]...)}
}

func isWord(n *Node, word string) bool { return n != nil && strings.EqualFold(n.Label, word) }
