package tree

import (
	"fmt"
	"slices"
	"strings"
)

// Rule says which keys a fill has to add.
type Rule struct {
	Column  string // the name of the key column, in lower case
	Literal bool   // whether keys are literals instead of placeholders
}

// Filling describes a fill that was compared with the original text.
type Filling struct {
	Inserts  int        // the number of INSERTs with a key
	Unfilled []Found    // the INSERTs that got no key
	Queries  []Numbered // the INSERTs among them whose rows come from a query
	Keys     []*Node    // the keys in the order of the text; none for queries
	Listed   bool       // whether an INSERT with a key names the key column itself, so that other rows may bring their own keys
}

// Numbered is an INSERT whose rows come from a query, before and after the fill. A judge
// that knows SQL checks the numbers of its rows.
type Numbered struct {
	In, Out *Insert
	At      int // the index of the key among the columns of Out
}

// Compare returns an error unless out equals in plus exactly one key column for each INSERT
// that differs, and one key for each of its rows, at the column's place. The error names
// the first other difference, or what is wrong with a key.
func Compare(in, out *Text, r Rule) (Filling, error) {
	c := comparison{rule: r, known: map[string]bool{}}
	if len(in.Statements) != len(out.Statements) {
		return c.filling, fmt.Errorf("%d statements became %d", len(in.Statements), len(out.Statements))
	}
	if !slices.Equal(in.Comments, out.Comments) {
		return c.filling, fmt.Errorf("comments differ")
	}
	for _, s := range in.Statements {
		s.Walk(func(n *Node) {
			if n.Leaf == Placeholder {
				c.known[n.Label] = true
			}
		})
	}
	for i := range in.Statements {
		c.statement = i
		if err := c.node(in.Statements[i], out.Statements[i], in.Statements[i].Wrap, true); err != nil {
			return c.filling, fmt.Errorf("statement %d: %w", i+1, err)
		}
		if err := c.unused(); err != nil {
			return c.filling, fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	return c.filling, c.distinct()
}

type comparison struct {
	rule    Rule
	known   map[string]bool // the placeholders of the original text
	filling Filling

	carriers []carrier // the columns that carry keys in the present statement

	statement int      // its index
	first     int      // the number of keys before the present INSERT
	explained bool     // whether the INSERT is only explained and does not run, so that its keys may be equal
	labels    []string // the texts of the keys, which must all be different
}

// node compares two nodes whose INSERTs may have got keys.
func (c *comparison) node(a, b *Node, wrap Wrap, top bool) error {
	if a == nil || b == nil {
		if a != b {
			return fmt.Errorf("a part came or went")
		}
		return nil
	}
	if a.Label != b.Label {
		return fmt.Errorf("%s became %s", short(a.Label), short(b.Label))
	}
	if a.Wrap != "" && (wrap == "" || a.Wrap == Body) {
		wrap = a.Wrap
	}
	if (a.Insert == nil) != (b.Insert == nil) {
		return fmt.Errorf("an INSERT came or went")
	}
	kids := a.Kids
	if becameQuery(a.Insert, b.Insert) {
		kids = withoutValues(kids)
	}
	if err := c.nodes(kids, b.Kids, wrap); err != nil {
		return err
	}
	if err := c.table(a.Table, b.Table, wrap); err != nil {
		return err
	}
	if a.Insert == nil {
		return nil
	}
	if wrap == "" && !top {
		wrap = Nested
	}
	return c.insert(a.Insert, b.Insert, wrap)
}

func (c *comparison) nodes(a, b []*Node, wrap Wrap) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d parts became %d%s", len(a), len(b), firstDifference(a, b))
	}
	for i := range a {
		if err := c.node(a[i], b[i], wrap, false); err != nil {
			return err
		}
	}
	return nil
}

// insert compares two INSERTs outside of their Kids.
func (c *comparison) insert(a, b *Insert, wrap Wrap) error {
	if sameInsert(a, b) {
		c.filling.Unfilled = append(c.filling.Unfilled, Found{a, wrap})
		return nil
	}
	if a.NoTable || b.NoTable {
		return fmt.Errorf("a key for what is no table")
	}
	b = withoutGuards(a, b, c.rule.Column)
	at := slices.Index(b.Names, c.rule.Column)
	if at < 0 {
		return fmt.Errorf("the INSERT changed, and column %s is not in it", c.rule.Column)
	}
	c.filling.Inserts++
	c.first = len(c.filling.Keys)
	c.explained = wrap == Explain
	if slices.Contains(a.Names, c.rule.Column) {
		c.filling.Listed = true
		return c.replaced(a, b, at)
	}
	if slices.Contains(b.Names[at+1:], c.rule.Column) {
		return fmt.Errorf("column %s was added twice", c.rule.Column)
	}
	if !b.Listed && b.Form != Set {
		return fmt.Errorf("there is no column list")
	}
	if !sameNodes(a.Columns, without(b.Columns, at)) {
		return fmt.Errorf("other columns than %s changed", c.rule.Column)
	}
	if err := alias(a, b, at); err != nil {
		return err
	}
	if becameQuery(a, b) {
		return c.set(a, b, at)
	}
	if a.Form != Query {
		return c.rows(a, b, at, wrap)
	}
	if keys, ok := selected(a.Source, b.Source); ok && len(keys) > 0 && at == len(b.Columns)-1 && sameNodes(a.With, b.With) {
		for _, k := range keys {
			if err := c.key(k); err != nil {
				return err
			}
		}
		return nil
	}
	return c.query(a, b, at)
}

// rows removes the keys from the rows of b and compares the remaining values with the rows
// of a.
func (c *comparison) rows(a, b *Insert, at int, wrap Wrap) error {
	if b.Form != a.Form && !(a.Form == Default && b.Form == Values) {
		return fmt.Errorf("the form of the INSERT changed")
	}
	rows := a.Rows
	if a.Form == Default {
		rows = [][]*Node{nil}
		if len(b.Rows) == 1 && len(b.Rows[0]) == len(b.Columns) && areDefaults(without(b.Rows[0], at)) {
			// For DEFAULT VALUES the fill has written a row of DEFAULTs for the other
			// columns.
			rows = [][]*Node{without(b.Rows[0], at)}
		}
	}
	if len(b.Rows) != len(rows) {
		return fmt.Errorf("%d rows became %d", len(rows), len(b.Rows))
	}
	for i, row := range b.Rows {
		if len(row) != len(rows[i])+1 {
			return fmt.Errorf("row %d: %d values became %d", i+1, len(rows[i]), len(row))
		}
		at := at
		if len(row) != len(b.Columns) {
			// The engine refuses such a row with or without the key. The key must not
			// replace a missing value.
			if at != len(b.Columns)-1 {
				return fmt.Errorf("row %d: %d values for %d columns", i+1, len(row), len(b.Columns))
			}
			at = len(row) - 1
		}
		if err := c.key(row[at]); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		for j, v := range without(row, at) {
			if err := c.node(rows[i][j], v, wrap, false); err != nil {
				return fmt.Errorf("row %d, value %d: %w", i+1, j+1, err)
			}
		}
	}
	return nil
}

// replaced compares the rows of an INSERT that names the key column: only values that are
// not keys, such as NULL, may be replaced.
func (c *comparison) replaced(a, b *Insert, at int) error {
	if !sameNodes(a.Columns, b.Columns) || a.Form != b.Form || len(a.Rows) != len(b.Rows) {
		return fmt.Errorf("more than a key changed")
	}
	for i, row := range b.Rows {
		if len(row) != len(a.Rows[i]) || at >= len(row) {
			return fmt.Errorf("row %d: %d values became %d", i+1, len(a.Rows[i]), len(row))
		}
		for j, v := range row {
			if Same(a.Rows[i][j], v) {
				continue
			}
			if j != at {
				return fmt.Errorf("row %d, value %d changed", i+1, j+1)
			}
			if leaf := swapped(a.Rows[i][j], v); leaf != nil {
				v = leaf
			}
			if err := c.key(v); err != nil {
				return fmt.Errorf("row %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// swapped returns the placeholder in b that replaces a placeholder of a, in a cast to a
// type with numbers. It returns nil if anything else differs.
func swapped(a, b *Node) *Node {
	if a == nil || b == nil || len(a.Kids) != len(b.Kids) || a.Leaf != b.Leaf {
		return nil
	}
	if a.Label != b.Label {
		if a.Leaf == Placeholder && len(a.Kids) == 0 {
			return b
		}
		return nil
	}
	var found *Node
	for i := range a.Kids {
		if Same(a.Kids[i], b.Kids[i]) {
			continue
		}
		if found != nil {
			return nil
		}
		if found = swapped(a.Kids[i], b.Kids[i]); found == nil {
			return nil
		}
	}
	return found
}

// query compares the queries that the rows come from. The caller's query has to be in the
// new one, complete and once, in a WITH clause before the INSERT or after it.
func (c *comparison) query(a, b *Insert, at int) error {
	if b.Form != Query {
		return fmt.Errorf("the query went")
	}
	if len(b.With) < len(a.With) || !sameNodes(a.With, b.With[:len(a.With)]) {
		return fmt.Errorf("WITH changed")
	}
	whole := &Node{Kids: append(slices.Clone(b.With[len(a.With):]), b.Source)}
	n := whole.count(a.Source)
	if n == 0 && whole.any(func(n *Node) bool { return Widened(a.Source, n) }) {
		n = 1
	}
	if n != 1 {
		return fmt.Errorf("the caller's query stands %d times in the new one", n)
	}
	if Same(a.Source, b.Source) {
		return fmt.Errorf("the column list has a column more than the query")
	}
	c.filling.Queries = append(c.filling.Queries, Numbered{a, b, at})
	return nil
}

// alias compares the column lists of row aliases.
func alias(a, b *Insert, at int) error {
	if a.Alias == nil && b.Alias == nil {
		return nil
	}
	if len(b.Alias) != len(a.Alias)+1 || at >= len(b.Alias) ||
		!slices.Equal(slices.Delete(slices.Clone(b.Alias), at, at+1), a.Alias) {
		return fmt.Errorf("the row alias does not have one name more, at the key's place")
	}
	if slices.Contains(a.Alias, b.Alias[at]) {
		return fmt.Errorf("the row alias has a name twice")
	}
	return nil
}

// areDefaults reports whether all values are the word DEFAULT.
func areDefaults(values []*Node) bool {
	for _, v := range values {
		is := false
		v.Walk(func(n *Node) {
			is = is || strings.EqualFold(n.Label, "DEFAULT") || n.Label == "DefaultLiteral" || n.Label == "SetToDefault"
		})
		if !is {
			return false
		}
	}
	return true
}

// tailed reports whether a value is a key that the engine counts up: a new prefix, a new
// number, and MySQL's UUID_SHORT.
func (c *comparison) tailed(value *Node, leaves []*Node) bool {
	counts := false
	value.Walk(func(n *Node) { counts = counts || strings.EqualFold(n.Label, "UUID_SHORT") })
	if !counts || len(leaves) < 2 {
		return false
	}
	for _, leaf := range leaves[:2] {
		if c.rule.Literal && leaf.Leaf != Literal || !c.rule.Literal && (leaf.Leaf != Placeholder || leaf.Label != "?" && c.known[leaf.Label]) {
			return false
		}
	}
	return true
}

// reported reports whether a value is a key in IF(LAST_INSERT_ID(first), key, key), where
// first is the key of the INSERT's first row. MySQL and MariaDB then return first from
// LAST_INSERT_ID(), as after an INSERT whose keys the engine makes.
func (c *comparison) reported(value *Node, leaves []*Node) bool {
	sets, chooses := false, false
	value.Walk(func(n *Node) {
		sets = sets || strings.EqualFold(n.Label, "LAST_INSERT_ID")
		chooses = chooses || strings.EqualFold(n.Label, "IF")
	})
	return sets && chooses && c.rule.Literal && len(leaves) == 3 && len(c.filling.Keys) > c.first &&
		leaves[0].Label == c.filling.Keys[c.first].Label && leaves[1].Label == leaves[2].Label
}

// key notes a value as a key. It returns an error unless the value is one new placeholder
// or one literal, which may be in a cast or set LAST_INSERT_ID, or a column that carries keys.
func (c *comparison) key(value *Node) error {
	if is, err := c.carried(value); is || err != nil {
		return err
	}
	value = withoutBranch(value)
	var leaves []*Node
	value.Walk(func(n *Node) {
		if n.Leaf != Plain {
			leaves = append(leaves, n)
		}
	})
	if c.tailed(value, leaves) {
		c.filling.Keys = append(c.filling.Keys, leaves[0])
		if !c.rule.Literal {
			c.filling.Keys = append(c.filling.Keys, leaves[1]) // the number is an argument too, besides the prefix
		}
		return nil
	}
	if c.reported(value, leaves) {
		leaves = leaves[1:2]
	}
	if len(leaves) != 1 {
		return fmt.Errorf("what stands in the key's place is no key")
	}
	leaf := leaves[0]
	switch {
	case c.rule.Literal && leaf.Leaf != Literal:
		return fmt.Errorf("the key is no literal")
	case c.rule.Literal && !keyLike(leaf.Label):
		return fmt.Errorf("the literal is no key")
	case !c.rule.Literal && leaf.Leaf != Placeholder:
		return fmt.Errorf("the key is no placeholder")
	case !c.rule.Literal && leaf.Label != "?" && c.known[leaf.Label]:
		return fmt.Errorf("the key's placeholder is one of the caller's")
	}
	c.filling.Keys = append(c.filling.Keys, leaf)
	switch {
	case c.explained || leaf.Label == "?":
	case strings.Trim(leaf.Label, "0123456789") == "":
		// Add the INSERT to the label, since the integers of two tables may be equal.
		c.labels = append(c.labels, fmt.Sprintf("%s in INSERT %d of statement %d", leaf.Label, c.filling.Inserts, c.statement))
	default:
		c.labels = append(c.labels, leaf.Label)
	}
	return nil
}

// distinct returns an error unless the keys are all different.
func (c *comparison) distinct() error {
	seen := map[string]bool{}
	for _, label := range c.labels {
		if seen[label] {
			return fmt.Errorf("two rows have one key")
		}
		seen[label] = true
	}
	return nil
}

// keyLike reports whether text may be a key: a UUID with or without hyphens,
// or an integer.
func keyLike(text string) bool {
	digits := strings.ReplaceAll(text, "-", "")
	hex := func(r rune) bool { return strings.ContainsRune("0123456789abcdefABCDEF", r) }
	if len(digits) == 32 && (len(text) == 32 || len(text) == 36) {
		return strings.IndexFunc(digits, func(r rune) bool { return !hex(r) }) < 0
	}
	return text != "" && len(text) < 20 && strings.Trim(text, "0123456789") == ""
}

// without returns the nodes but the one at i.
func without(nodes []*Node, i int) []*Node {
	if i >= len(nodes) {
		return nodes
	}
	return slices.Delete(slices.Clone(nodes), i, i+1)
}

// firstDifference returns a text about the first difference between two lists of nodes.
func firstDifference(a, b []*Node) string {
	for i := range min(len(a), len(b)) {
		if !Same(a[i], b[i]) {
			return fmt.Sprintf(": %s became %s", short(a[i].Label), short(b[i].Label))
		}
	}
	return ""
}

// short shortens a label for a message.
func short(label string) string {
	if len(label) > 40 {
		label = label[:40] + "…"
	}
	return fmt.Sprintf("%q", label)
}
